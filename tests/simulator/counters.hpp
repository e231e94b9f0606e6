#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace vgpu::simulator {

/// Named totals.
class Counters {
public:
    void add(std::string_view name, std::uint64_t count = 1) {
        const auto found = totals_.find(name);
        if (found == totals_.end()) {
            totals_.emplace(name, count);
        } else {
            found->second += count;
        }
    }
    void clear() { totals_.clear(); }
    [[nodiscard]] const std::map<std::string, std::uint64_t, std::less<>>& all() const {
        return totals_;
    }

private:
    std::map<std::string, std::uint64_t, std::less<>> totals_;
};

} // namespace vgpu::simulator
