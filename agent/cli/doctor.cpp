#include "agent/cli/doctor.hpp"

#include "agent/cli/table.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

namespace vgpu::cli {

namespace {

struct Sign {
    std::string_view text;
    Tone tone = Tone::plain;
};

Sign sign_of(Level level) {
    switch (level) {
    case Level::ok:
        return {" ok ", Tone::good};
    case Level::warning:
        return {"warn", Tone::warning};
    case Level::failure:
        return {"FAIL", Tone::bad};
    case Level::skipped:
        break;
    }
    return {"skip", Tone::plain};
}

std::optional<xml::DomainView> view_of(const std::string& text, std::string& error) {
    if (text.empty()) {
        return std::nullopt;
    }
    auto view = xml::read_domain(text);
    if (!view) {
        error = view.error().text();
        return std::nullopt;
    }
    return std::move(*view);
}

} // namespace

std::string_view to_string(Level level) {
    switch (level) {
    case Level::ok:
        return "ok";
    case Level::warning:
        return "warning";
    case Level::failure:
        return "failure";
    case Level::skipped:
        break;
    }
    return "skipped";
}

int Findings::count(Level level) const {
    return static_cast<int>(
        std::count_if(all_.begin(), all_.end(),
                      [level](const Finding& finding) { return finding.level == level; }));
}

std::vector<ExaminedDomain> read_domains(const std::vector<DomainInfo>& domains) {
    std::vector<ExaminedDomain> examined;
    for (const DomainInfo& domain : domains) {
        ExaminedDomain one{domain.name, domain.uuid, domain.active, {}, {}, domain.error};
        one.defined = view_of(domain.xml, one.error);
        one.running = view_of(domain.live_xml, one.error);
        examined.push_back(std::move(one));
    }
    return examined;
}

Findings examine(const Examination& examination) {
    Findings findings;
    for (const auto check :
         {check_iommu, check_gpus, check_libvirt, check_hook, check_security, check_storage,
          check_claims, check_devices, check_domains, check_mdevctl}) {
        check(examination, findings);
    }
    return findings;
}

std::string findings_text(const Findings& findings, bool colour) {
    std::size_t width = 0;
    for (const Finding& finding : findings.all()) {
        width = std::max(width, width_of(finding.check));
    }
    std::string text;
    for (const Finding& finding : findings.all()) {
        const Sign sign = sign_of(finding.level);
        text += fmt::format("[{}] {:<{}}  {}\n", toned(sign.text, sign.tone, colour), finding.check,
                            width, cell_text(finding.text));
        if (!finding.advice.empty()) {
            text += fmt::format("       {:<{}}  -> {}\n", "", width, cell_text(finding.advice));
        }
    }
    const int failures = findings.count(Level::failure);
    const int warnings = findings.count(Level::warning);
    return text + fmt::format("\n{} failure{}, {} warning{}\n", failures, failures == 1 ? "" : "s",
                              warnings, warnings == 1 ? "" : "s");
}

std::string findings_json(const Findings& findings) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const Finding& finding : findings.all()) {
        nlohmann::ordered_json json;
        json["check"] = finding.check;
        json["status"] = to_string(finding.level);
        json["message"] = finding.text;
        json["advice"] = nullptr;
        if (!finding.advice.empty()) {
            json["advice"] = finding.advice;
        }
        list.push_back(std::move(json));
    }
    return list.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

} // namespace vgpu::cli
