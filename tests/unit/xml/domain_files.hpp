#pragma once

#include "xml/domain.hpp"

#include <ostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace vgpu::xml {

/// A file of tests/data/domains.
std::string domain_file(const std::string& name);
/// The names of all of them that are domains without a fault.
const std::vector<std::string>& good_domain_files();

/// A small domain with `metadata` inside <metadata> and `devices` inside <devices>.
std::string domain_with(std::string_view metadata, std::string_view devices);
/// Our metadata element with `devices` inside, for the domain of domain_with().
std::string request_metadata(std::string_view devices);

/// `text` with the one occurrence of `from` replaced.
std::string replaced(std::string text, std::string_view from, std::string_view to);

PciAddress pci(std::string_view text);
Uuid uuid(std::string_view text);

/// Request `name` for a profile, pointed at the VF 0000:41:00.5.
Assignment pci_assignment(std::string name);
/// The same, pointed at an mdev.
Assignment mdev_assignment(std::string name);

/// The value, or a test failure that says why there is none.
template <typename T>
T value_of(Result<T> result) {
    if (!result) {
        throw std::runtime_error(result.error().text());
    }
    return *std::move(result);
}

void PrintTo(const Hostdev& hostdev, std::ostream* out);
void PrintTo(const VgpuRequest& request, std::ostream* out);

} // namespace vgpu::xml
