#include "tests/simulator/faults.hpp"

#include <algorithm>

namespace vgpu::simulator {

namespace {

bool ends_with_parts(std::string_view path, std::string_view parts) {
    return path.ends_with(parts) &&
           (path.size() == parts.size() || path[path.size() - parts.size() - 1] == '/');
}

bool names(const Fault& fault, const Node& node, std::string_view path) {
    if (!fault.device.empty()) {
        if (!node.device || (fault.device != "*" && fault.device != node.device->name)) {
            return false;
        }
    }
    return fault.file == node.called() || ends_with_parts(path, fault.file);
}

bool concerns(const Fault& fault, std::string_view data) {
    if (fault.data == Fault::Data::any) {
        return true;
    }
    while (!data.empty() && (data.back() == '\n' || data.back() == ' ')) {
        data.remove_suffix(1);
    }
    return (data == "0") == (fault.data == Fault::Data::zero);
}

} // namespace

void Faults::set(Fault fault) {
    std::erase_if(faults_, [&](const Fault& other) {
        return other.device == fault.device && other.file == fault.file &&
               other.operation == fault.operation && other.data == fault.data;
    });
    if (fault.left > 0) {
        faults_.push_back(std::move(fault));
    }
}

std::optional<Faults::Hit> Faults::take(Operation operation, const Node& node,
                                        std::string_view path, std::string_view data) {
    const auto found = std::ranges::find_if(faults_, [&](const Fault& fault) {
        return fault.operation == operation && names(fault, node, path) && concerns(fault, data);
    });
    if (found == faults_.end()) {
        return std::nullopt;
    }
    const Hit hit{found->error, found->after};
    if (found->left != Fault::always && --found->left == 0) {
        faults_.erase(found);
    }
    return hit;
}

std::string_view to_string(Operation operation) {
    switch (operation) {
    case Operation::stat:
        return "stat";
    case Operation::open:
        return "open";
    case Operation::read:
        return "read";
    case Operation::write:
        return "write";
    case Operation::readdir:
        return "readdir";
    case Operation::readlink:
        return "readlink";
    }
    return "";
}

} // namespace vgpu::simulator
