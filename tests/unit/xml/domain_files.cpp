#include "tests/unit/xml/domain_files.hpp"

#include <fstream>
#include <iterator>
#include <stdexcept>

namespace vgpu::xml {

std::string domain_file(const std::string& name) {
    std::ifstream file(std::string(VGPU_TEST_DOMAINS) + "/" + name, std::ios::binary);
    std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    if (text.empty()) {
        throw std::runtime_error("no test data in " + name);
    }
    return text;
}

const std::vector<std::string>& good_domain_files() {
    static const std::vector<std::string> files{
        "clone.xml",    "handmade.xml", "mdev.xml",   "mixed-hostdevs.xml",
        "pci-live.xml", "plain.xml",    "status.xml", "two-metadata.xml"};
    return files;
}

std::string domain_with(std::string_view metadata, std::string_view devices) {
    std::string text = "<domain type='kvm'>\n"
                       "  <name>vm1</name>\n"
                       "  <uuid>11112222-3333-4444-8555-666677778888</uuid>\n"
                       "  <metadata>";
    text.append(metadata).append("</metadata>\n  <devices>\n    ").append(devices);
    return text.append("\n  </devices>\n</domain>\n");
}

std::string request_metadata(std::string_view devices) {
    std::string text = "<vgpu:devices xmlns:vgpu=\"urn:virt-vgpu:domain:1\" "
                       "domain=\"11112222-3333-4444-8555-666677778888\">";
    return text.append(devices).append("</vgpu:devices>");
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
    const auto at = text.find(from);
    if (at == text.npos || text.find(from, at + 1) != text.npos) {
        throw std::runtime_error("not exactly once in the text: " + std::string(from));
    }
    return text.replace(at, from.size(), to);
}

PciAddress pci(std::string_view text) {
    return value_of(PciAddress::parse(text));
}

Uuid uuid(std::string_view text) {
    return value_of(Uuid::parse(text));
}

Assignment pci_assignment(std::string name) {
    return {{std::move(name), "NVIDIA L40S-4Q", std::nullopt, ""}, DeviceKey(pci("0000:41:00.5"))};
}

Assignment mdev_assignment(std::string name) {
    return {{std::move(name), "GRID T4-2Q", std::nullopt, ""},
            DeviceKey(uuid("d0c0b0a0-1111-4222-8333-444455556666"))};
}

void PrintTo(const Hostdev& hostdev, std::ostream* out) {
    *out << "hostdev " << (hostdev.address ? hostdev.address->to_string() : "")
         << (hostdev.uuid ? hostdev.uuid->to_string() : "") << hostdev.other_type << " alias '"
         << hostdev.alias << "' managed " << hostdev.managed;
}

void PrintTo(const VgpuRequest& request, std::ostream* out) {
    *out << "request " << request.name << " '" << request.profile << "' gpu "
         << (request.gpu ? request.gpu->to_string() : "-") << " params '" << request.params << "'";
}

} // namespace vgpu::xml
