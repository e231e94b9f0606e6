#include "agent/http/message.hpp"

#include "agent/http/text.hpp"

namespace vgpu::http {

std::string header_value(const HeaderFields& fields, std::string_view name) {
    std::string value;
    for (const auto& [key, part] : fields) {
        if (equal_ignoring_case(key, name)) {
            value.append(value.empty() ? "" : ", ").append(part);
        }
    }
    return value;
}

} // namespace vgpu::http
