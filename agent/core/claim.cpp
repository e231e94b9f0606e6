#include "agent/core/claim.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <array>
#include <chrono>
#include <limits>
#include <utility>

namespace vgpu {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::array state_names{
    std::pair{ClaimState::claimed, std::string_view("claimed")},
    std::pair{ClaimState::configuring, std::string_view("configuring")},
    std::pair{ClaimState::configured, std::string_view("configured")},
    std::pair{ClaimState::draining, std::string_view("draining")},
};

Error corrupt(std::string_view what) {
    return Error(ErrorCode::corrupt, fmt::format("not a valid claim: {}", what));
}

/// The fields of one JSON object, each read with its type checked.
class Fields {
public:
    explicit Fields(const Json& object) : object_(object) {}

    [[nodiscard]] const Json* find(const char* key) const {
        const auto it = object_.find(key);
        return it == object_.end() || it->is_null() ? nullptr : &*it;
    }

    [[nodiscard]] Result<std::string> text(const char* key) const {
        const Json* value = find(key);
        if (value == nullptr || !value->is_string()) {
            return fail(corrupt(fmt::format("`{}` is missing or no string", key)));
        }
        return value->get<std::string>();
    }

    [[nodiscard]] Result<std::optional<std::string>> optional_text(const char* key) const {
        if (find(key) == nullptr) {
            return std::optional<std::string>();
        }
        VGPU_TRY_ASSIGN(std::string value, text(key));
        return std::optional<std::string>(std::move(value));
    }

    [[nodiscard]] Result<std::optional<std::uint64_t>> number(const char* key,
                                                              std::uint64_t max) const {
        const Json* value = find(key);
        if (value == nullptr) {
            return std::optional<std::uint64_t>();
        }
        if (!value->is_number_unsigned() || value->get<std::uint64_t>() > max) {
            return fail(corrupt(fmt::format("`{}` is no number from 0 to {}", key, max)));
        }
        return std::optional<std::uint64_t>(value->get<std::uint64_t>());
    }

    /// An optional text field, parsed by T::parse.
    template <typename T>
    [[nodiscard]] Result<std::optional<T>> parsed(const char* key) const {
        VGPU_TRY_ASSIGN(auto value, optional_text(key));
        if (!value) {
            return std::optional<T>();
        }
        auto result = T::parse(*value);
        if (!result) {
            return fail(corrupt(fmt::format("`{}`: {}", key, result.error().text())));
        }
        return std::optional<T>(*result);
    }

    template <typename T>
    [[nodiscard]] Result<T> required(const char* key) const {
        VGPU_TRY_ASSIGN(auto value, parsed<T>(key));
        if (!value) {
            return fail(corrupt(fmt::format("`{}` is missing", key)));
        }
        return *value;
    }

private:
    const Json& object_;
};

Result<void> read_domain(const Fields& fields, Claim& claim) {
    const Json* domain = fields.find("domain");
    if (domain == nullptr || !domain->is_object()) {
        return fail(corrupt("`domain` is missing or no object"));
    }
    const Fields inner(*domain);
    VGPU_TRY_ASSIGN(claim.domain_uuid, inner.required<Uuid>("uuid"));
    VGPU_TRY_ASSIGN(claim.domain_name, inner.text("name"));
    return {};
}

Result<void> read_vmm(const Fields& fields, Claim& claim) {
    const Json* vmm = fields.find("vmm");
    if (vmm == nullptr) {
        return {};
    }
    if (!vmm->is_object()) {
        return fail(corrupt("`vmm` is no object"));
    }
    const Fields inner(*vmm);
    VGPU_TRY_ASSIGN(const auto pid, inner.number("pid", std::numeric_limits<int>::max()));
    VGPU_TRY_ASSIGN(const auto start,
                    inner.number("start_time", std::numeric_limits<std::uint64_t>::max()));
    if (!pid || !start) {
        return fail(corrupt("`vmm` lacks pid or start_time"));
    }
    claim.vmm = Vmm{static_cast<std::int64_t>(*pid), *start};
    return {};
}

Result<void> read_state(const Fields& fields, Claim& claim) {
    VGPU_TRY_ASSIGN(const std::string state, fields.text("state"));
    for (const auto& [value, name] : state_names) {
        if (name == state) {
            claim.state = value;
            return {};
        }
    }
    return fail(corrupt(fmt::format("unknown state \"{}\"", printable(state, 40))));
}

Result<void> read_framework(const Fields& fields, Claim& claim) {
    VGPU_TRY_ASSIGN(const std::string framework, fields.text("framework"));
    if (framework == to_string(FrameworkKind::vendor_vfio)) {
        claim.framework = FrameworkKind::vendor_vfio;
    } else if (framework == to_string(FrameworkKind::mdev)) {
        claim.framework = FrameworkKind::mdev;
    } else {
        return fail(corrupt(fmt::format("unknown framework \"{}\"", printable(framework, 40))));
    }
    return {};
}

Result<void> read_device(const Fields& fields, Claim& claim) {
    VGPU_TRY(read_framework(fields, claim));
    VGPU_TRY_ASSIGN(claim.device_path, fields.text("device_path"));
    VGPU_TRY_ASSIGN(claim.mdev_uuid, fields.parsed<Uuid>("mdev_uuid"));
    VGPU_TRY_ASSIGN(claim.gpu, fields.parsed<PciAddress>("gpu"));
    VGPU_TRY_ASSIGN(claim.parent, fields.parsed<PciAddress>("parent"));
    VGPU_TRY_ASSIGN(claim.profile, fields.text("profile"));
    VGPU_TRY_ASSIGN(const auto type,
                    fields.number("type_id", std::numeric_limits<std::uint32_t>::max()));
    if (type) {
        claim.type_id = static_cast<std::uint32_t>(*type);
    }
    if (claim.framework == FrameworkKind::mdev && !claim.mdev_uuid) {
        return fail(corrupt("`mdev_uuid` is missing"));
    }
    return {};
}

Result<Claim> parse_version_2(const Fields& fields) {
    Claim claim;
    VGPU_TRY(read_device(fields, claim));
    VGPU_TRY(read_domain(fields, claim));
    VGPU_TRY_ASSIGN(claim.device, fields.text("device"));
    VGPU_TRY(read_state(fields, claim));
    const Json* managed = fields.find("managed");
    if (managed == nullptr || !managed->is_boolean()) {
        return fail(corrupt("`managed` is missing or no boolean"));
    }
    claim.managed = managed->get<bool>();
    VGPU_TRY_ASSIGN(claim.incarnation, fields.required<Uuid>("incarnation"));
    VGPU_TRY_ASSIGN(claim.boot_id, fields.text("boot_id"));
    VGPU_TRY_ASSIGN(claim.claimed_at, fields.text("claimed_at"));
    VGPU_TRY(read_vmm(fields, claim));
    return claim;
}

Result<Claim> parse_version_1(const Fields& fields, std::string_view sysfs_root) {
    Claim claim;
    claim.framework = FrameworkKind::mdev;
    VGPU_TRY_ASSIGN(claim.mdev_uuid, fields.parsed<Uuid>("mdev_uuid"));
    if (!claim.mdev_uuid) {
        return fail(corrupt("`mdev_uuid` is missing"));
    }
    claim.device_path =
        fmt::format("{}/bus/mdev/devices/{}", sysfs_root, claim.mdev_uuid->to_string());
    VGPU_TRY(read_domain(fields, claim));
    VGPU_TRY_ASSIGN(claim.gpu, fields.parsed<PciAddress>("gpu"));
    VGPU_TRY_ASSIGN(auto profile, fields.optional_text("profile"));
    claim.profile = profile.value_or("");
    VGPU_TRY_ASSIGN(auto device, fields.optional_text("device"));
    claim.device = device.value_or("");
    VGPU_TRY_ASSIGN(auto claimed_at, fields.optional_text("claimed_at"));
    claim.claimed_at = claimed_at.value_or("");
    claim.state = ClaimState::configured;
    return claim;
}

Json optional_address(const std::optional<PciAddress>& address) {
    return address ? Json(address->to_string()) : Json(nullptr);
}

} // namespace

std::string_view to_string(FrameworkKind kind) {
    return kind == FrameworkKind::mdev ? "mdev" : "vendor-vfio";
}

std::string_view to_string(ClaimState state) {
    for (const auto& [value, name] : state_names) {
        if (value == state) {
            return name;
        }
    }
    return "unknown";
}

std::string Claim::owner() const {
    return fmt::format("{} ({})", printable(domain_name), domain_uuid.to_string());
}

std::string to_json(const Claim& claim) {
    Json json;
    json["version"] = 2;
    json["framework"] = to_string(claim.framework);
    json["device_path"] = claim.device_path;
    json["mdev_uuid"] = claim.mdev_uuid ? Json(claim.mdev_uuid->to_string()) : Json(nullptr);
    json["gpu"] = optional_address(claim.gpu);
    json["parent"] = optional_address(claim.parent);
    json["profile"] = claim.profile;
    json["type_id"] = claim.type_id ? Json(*claim.type_id) : Json(nullptr);
    json["domain"] = {{"uuid", claim.domain_uuid.to_string()}, {"name", claim.domain_name}};
    json["device"] = claim.device;
    json["state"] = to_string(claim.state);
    json["managed"] = claim.managed;
    json["incarnation"] = claim.incarnation.to_string();
    json["boot_id"] = claim.boot_id;
    json["claimed_at"] = claim.claimed_at;
    json["vmm"] = claim.vmm ? Json{{"pid", claim.vmm->pid}, {"start_time", claim.vmm->start_time}}
                            : Json(nullptr);
    // A domain's name can hold bytes that are no UTF-8; they are replaced, never thrown on.
    return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<Claim> parse_claim(std::string_view json, std::string_view sysfs_root) {
    if (json.empty()) {
        return fail(corrupt("the file is empty"));
    }
    const Json document = Json::parse(json, nullptr, false);
    if (document.is_discarded() || !document.is_object()) {
        return fail(corrupt("not a JSON object"));
    }
    const Fields fields(document);
    VGPU_TRY_ASSIGN(const auto version,
                    fields.number("version", std::numeric_limits<std::uint32_t>::max()));
    if (version == 2U) {
        return parse_version_2(fields);
    }
    if (version == 1U) {
        return parse_version_1(fields, sysfs_root);
    }
    return fail(corrupt(version ? fmt::format("version {} is not known to this release", *version)
                                : std::string("`version` is missing")));
}

std::string utc_now() {
    // Not gmtime(3), which reads the time zone's file first.
    const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
    const auto midnight = std::chrono::floor<std::chrono::days>(now);
    const std::chrono::year_month_day date(midnight);
    const std::chrono::hh_mm_ss time(now - midnight);
    return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", static_cast<int>(date.year()),
                       static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                       time.hours().count(), time.minutes().count(), time.seconds().count());
}

} // namespace vgpu
