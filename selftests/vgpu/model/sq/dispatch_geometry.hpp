// SPDX-License-Identifier: MIT
// How the grid of an AQL kernel dispatch packet falls into workgroups, waves and lanes.
#pragma once

#include <array>
#include <cstdint>

namespace vgpu::sq {

using Coordinates = std::array<std::uint32_t, 3>;

// The workgroups of a dispatch that are launched on one XCC: chunks of consecutive ones go to the
// XCCs in turn (COMPUTE_TG_CHUNK_SIZE, COMPUTE_CURRENT_LOGIC_XCC_ID). Within its share an XCC
// numbers them from 0 on.
struct WorkgroupShare {
    std::uint32_t chunk = 1;
    std::uint32_t index = 0; // logical XCC
    std::uint32_t count = 1; // XCCs

    std::uint32_t size(std::uint32_t workgroups) const;
    // Its number in the whole dispatch.
    std::uint32_t linear(std::uint32_t ordinal) const {
        return (ordinal / chunk * count + index) * chunk + ordinal % chunk;
    }
};

struct DispatchGeometry {
    Coordinates workgroup{}; // work-items of a full workgroup
    Coordinates grid{};      // work-items

    static DispatchGeometry from_packet(const std::array<std::uint32_t, 16>& packet);

    // Null when waves can be made of it, else what is wrong.
    const char* problem() const;
    std::uint32_t workgroup_count() const;
    Coordinates coordinates(std::uint32_t linear) const;
    // Work-items per dimension: fewer in the last workgroup of a dimension (partial workgroup).
    Coordinates size_at(const Coordinates& at) const;
    unsigned waves_at(const Coordinates& at) const;
};

// Largest workgroup: 16 waves (AQL limit of 1024 work-items on gfx9).
inline constexpr unsigned max_workgroup_items = 1024;
inline constexpr unsigned max_workgroup_waves = 16;

// Number of lanes of wave `index` that have a work-item.
std::uint64_t lanes_of(const Coordinates& size, unsigned index);
// The work-item of lane `lane` in wave `index`, x first.
Coordinates work_item(const Coordinates& size, unsigned index, unsigned lane);

} // namespace vgpu::sq
