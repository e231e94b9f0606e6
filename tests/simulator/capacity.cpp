#include "tests/simulator/capacity.hpp"

#include <algorithm>

namespace vgpu::simulator {

namespace {

/// Marks the lowest free place of a list that grows as needed.
std::uint32_t take_lowest(std::vector<bool>& places) {
    const auto found = std::ranges::find(places, false);
    const auto index = static_cast<std::size_t>(found - places.begin());
    if (index == places.size()) {
        places.push_back(true);
    } else {
        places[index] = true;
    }
    return static_cast<std::uint32_t>(index);
}

} // namespace

std::optional<std::uint32_t> MixedSlots::length(std::uint32_t size_mib) const {
    if (size_mib == 0 || size_mib > framebuffer_mib_) {
        return std::nullopt;
    }
    std::uint32_t parts = smallest_parts;
    while (framebuffer_mib_ / parts < size_mib) {
        parts /= 2;
    }
    return smallest_parts / parts;
}

bool MixedSlots::is_free(std::uint32_t start, std::uint32_t size) const {
    const auto first = taken_.begin() + start;
    return std::find(first, first + size, true) == first + size;
}

std::uint32_t MixedSlots::available(std::uint32_t size_mib) const {
    const auto size = length(size_mib);
    std::uint32_t found = 0;
    for (std::uint32_t start = 0; size && start < smallest_parts; start += *size) {
        found += is_free(start, *size) ? 1U : 0U;
    }
    return found;
}

std::optional<std::uint32_t> MixedSlots::take(std::uint32_t size_mib) {
    const auto size = length(size_mib);
    for (std::uint32_t start = 0; size && start < smallest_parts; start += *size) {
        if (is_free(start, *size)) {
            std::fill_n(taken_.begin() + start, *size, true);
            return start;
        }
    }
    return std::nullopt;
}

void MixedSlots::give_back(std::uint32_t size_mib, std::uint32_t start) {
    if (const auto size = length(size_mib)) {
        std::fill_n(taken_.begin() + start, *size, false);
    }
}

std::uint32_t Capacity::room(const Instance& instance, const VgpuType& type) const {
    const auto used = static_cast<std::uint32_t>(std::ranges::count(instance.taken, true));
    if (instance.slices != type.slices || (used > 0 && instance.size_mib != type.framebuffer_mib)) {
        return 0;
    }
    return instance.framebuffer_mib / type.framebuffer_mib - used;
}

std::uint32_t Capacity::available(const VgpuType& type) const {
    if (mig_ != (type.slices != 0) || count_ >= max_vgpus_) {
        return 0;
    }
    std::uint32_t found = 0;
    if (mig_) {
        for (const auto& instance : instances_) {
            found += room(instance, type);
        }
    } else if (mixed_) {
        found = slots_.available(type.framebuffer_mib);
    } else if (sizes_.empty() || (sizes_.size() == 1 && sizes_.contains(type.framebuffer_mib))) {
        found = used_mib_ >= framebuffer_mib_
                    ? 0
                    : (framebuffer_mib_ - used_mib_) / type.framebuffer_mib;
    }
    return std::min(found, max_vgpus_ - count_);
}

void Capacity::book(const VgpuType& type) {
    used_mib_ += type.framebuffer_mib;
    ++count_;
    ++sizes_[type.framebuffer_mib];
}

Placement Capacity::take_in_instance(const VgpuType& type) {
    const auto found =
        std::ranges::find_if(instances_, [&](const Instance& i) { return room(i, type) > 0; });
    found->size_mib = type.framebuffer_mib;
    return {.id = take_lowest(found->taken), .instance = found->id};
}

std::optional<Placement> Capacity::take(const VgpuType& type) {
    if (available(type) == 0) {
        return std::nullopt;
    }
    book(type);
    if (mig_) {
        return take_in_instance(type);
    }
    if (mixed_) {
        return Placement{.id = slots_.take(type.framebuffer_mib).value_or(0), .instance = {}};
    }
    return Placement{.id = take_lowest(equal_slots_), .instance = {}};
}

Placement Capacity::force(const VgpuType& type) {
    if (const auto placement = take(type)) {
        return *placement;
    }
    book(type);
    return {.id = 0, .instance = {}, .forced = true};
}

void Capacity::give_back(const VgpuType& type, const Placement& placement) {
    used_mib_ -= type.framebuffer_mib;
    --count_;
    if (--sizes_[type.framebuffer_mib] == 0) {
        sizes_.erase(type.framebuffer_mib);
    }
    if (placement.forced) {
        return;
    }
    if (placement.instance) {
        const auto found = std::ranges::find(instances_, *placement.instance, &Instance::id);
        if (found != instances_.end()) {
            found->taken[placement.id] = false;
        }
    } else if (mixed_) {
        slots_.give_back(type.framebuffer_mib, placement.id);
    } else {
        equal_slots_[placement.id] = false;
    }
}

bool Capacity::set_mixed(bool on) {
    if (in_use() && on != mixed_) {
        return false;
    }
    mixed_ = on;
    return true;
}

bool Capacity::set_mig(bool on) {
    if (on == mig_) {
        return true;
    }
    if (in_use() || (on && board_->slices == 0)) {
        return false;
    }
    mig_ = on;
    instances_.clear();
    return true;
}

bool Capacity::add_instances(std::uint32_t slices, std::uint32_t count) {
    std::uint32_t framebuffer = 0;
    for (const auto& type : board_->types) {
        framebuffer =
            type.slices == slices ? std::max(framebuffer, type.framebuffer_mib) : framebuffer;
    }
    std::uint32_t used = 0;
    for (const auto& instance : instances_) {
        used += instance.slices;
    }
    if (!mig_ || slices == 0 || framebuffer == 0 || count > (board_->slices - used) / slices) {
        return false;
    }
    for (std::uint32_t i = 0; i < count; ++i) {
        instances_.push_back({.id = static_cast<std::uint32_t>(instances_.size()) + 1,
                              .slices = slices,
                              .framebuffer_mib = framebuffer,
                              .size_mib = 0,
                              .taken = {}});
    }
    return true;
}

} // namespace vgpu::simulator
