// SPDX-License-Identifier: MIT
// Best-fit allocation in the CWSR area.
#include "model/sq/save_area.hpp"

namespace vgpu::sq {

std::optional<std::uint32_t> SaveArea::allocate(std::uint32_t bytes) {
    std::optional<std::uint32_t> best;
    std::uint64_t best_gap = ~0ULL;
    std::uint64_t gap_begin = begin_;
    const auto consider = [&](std::uint64_t gap_end) {
        const std::uint64_t gap = gap_end > gap_begin ? gap_end - gap_begin : 0;
        if (gap >= bytes && gap < best_gap) {
            best = static_cast<std::uint32_t>(gap_begin);
            best_gap = gap;
        }
    };
    for (const auto& [offset, size] : regions_) {
        consider(offset);
        gap_begin = std::uint64_t{offset} + size;
    }
    consider(end_);
    if (best) {
        regions_[*best] = bytes;
    }
    return best;
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
