// SPDX-License-Identifier: MIT
// Allocates regions of a queue's CWSR area to waves.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

namespace vgpu::sq {

// Offsets are from the start of the CWSR area; wave data lives in [begin, end). The driver makes it
// just large enough for a full array, so what a save puts there must leave no gaps, and must not
// overwrite what others haven't read yet. A save waits for waves that are restoring. If saved
// workgroups wait for room after that, each wave on the hardware was saved together with them and
// has its region still: it serves again. Else no wave needs the area, and it is filled anew from
// its beginning.
class SaveArea {
public:
    static constexpr std::uint32_t alignment = 64;

    SaveArea() = default;
    SaveArea(std::uint32_t begin, std::uint32_t end) : begin_(begin), end_(end) {}

    // The smallest gap that is large enough, or nothing.
    std::optional<std::uint32_t> allocate(std::uint32_t bytes);
    // A region known from a control stack. False when it is outside, misaligned or overlaps.
    bool reserve(std::uint32_t offset, std::uint32_t bytes);
    void release(std::uint32_t offset) { regions_.erase(offset); }
    // End of the highest region in use.
    std::uint32_t high_water() const;
    std::uint32_t begin() const { return begin_; }

private:
    std::uint32_t begin_ = 0;
    std::uint32_t end_ = 0;
    std::map<std::uint32_t, std::uint32_t> regions_; // offset -> bytes
};

} // namespace vgpu::sq
