// SPDX-License-Identifier: MIT
// Which parts of a queue's CWSR area hold a wave that still has to be restored.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

namespace vgpu::sq {

// Offsets are from the start of the CWSR area; wave data lives in [begin, end). A wave owns its
// region from its first save until it ends. A save that begins while other waves are still
// restoring must not overwrite what they have not read yet, and the driver makes the area just
// large enough for a full array: the same waves must fit again, whoever comes first.
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
