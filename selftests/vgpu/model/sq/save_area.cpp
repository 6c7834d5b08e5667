// SPDX-License-Identifier: MIT
// First-fit allocation in the CWSR area.
#include "model/sq/save_area.hpp"

namespace vgpu::sq {

std::optional<std::uint32_t> SaveArea::allocate(std::uint32_t bytes) {
    std::uint64_t at = begin_;
    for (const auto& [offset, size] : regions_) {
        if (at + bytes <= offset) {
            break;
        }
        at = std::uint64_t{offset} + size;
    }
    if (at + bytes > end_) {
        return std::nullopt;
    }
    regions_[static_cast<std::uint32_t>(at)] = bytes;
    return static_cast<std::uint32_t>(at);
}

bool SaveArea::reserve(std::uint32_t offset, std::uint32_t bytes) {
    const std::uint64_t end = std::uint64_t{offset} + bytes;
    if (offset % alignment != 0 || offset < begin_ || end > end_ || bytes == 0) {
        return false;
    }
    const auto next = regions_.lower_bound(offset);
    if (next != regions_.end() && next->first < end) {
        return false;
    }
    if (next != regions_.begin()) {
        const auto previous = std::prev(next);
        if (std::uint64_t{previous->first} + previous->second > offset) {
            return false;
        }
    }
    regions_[offset] = bytes;
    return true;
}

std::uint32_t SaveArea::high_water() const {
    return regions_.empty() ? begin_ : regions_.rbegin()->first + regions_.rbegin()->second;
}

} // namespace vgpu::sq
