// SPDX-License-Identifier: MIT
// Grid arithmetic. HSA platform system architecture, "Kernel dispatch packet".
#include "model/sq/dispatch_geometry.hpp"

#include "model/isa/wave_state.hpp"

#include <algorithm>

namespace vgpu::sq {

namespace {

std::uint32_t groups_along(std::uint32_t grid, std::uint32_t workgroup) {
    return grid / workgroup + (grid % workgroup != 0 ? 1 : 0);
}

std::uint32_t items(const Coordinates& size) {
    return size[0] * size[1] * size[2];
}

} // namespace

std::uint32_t WorkgroupShare::size(std::uint32_t workgroups) const {
    const std::uint64_t round = std::uint64_t{chunk} * count;
    const std::uint64_t before = std::uint64_t{index} * chunk;
    const std::uint64_t rest = workgroups % round;
    const std::uint64_t last = rest > before ? std::min<std::uint64_t>(rest - before, chunk) : 0;
    return static_cast<std::uint32_t>(workgroups / round * chunk + last);
}

DispatchGeometry DispatchGeometry::from_packet(const std::array<std::uint32_t, 16>& packet) {
    return {
        {packet[1] & 0xffff, packet[1] >> 16, packet[2] & 0xffff},
        {packet[3], packet[4], packet[5]},
    };
}

const char* DispatchGeometry::problem() const {
    std::uint64_t groups = 1;
    std::uint64_t group_items = 1;
    for (unsigned i = 0; i < 3; ++i) {
        if (workgroup.at(i) == 0 || grid.at(i) == 0) {
            return "dispatch packet with a size of 0";
        }
        group_items *= workgroup.at(i);
        groups *= groups_along(grid.at(i), workgroup.at(i));
        if (group_items > max_workgroup_items) {
            return "dispatch packet with more than 1024 work-items in a workgroup";
        }
        if (groups > 0xffff'ffff) {
            return "dispatch of 2^32 workgroups or more not modelled";
        }
    }
    return nullptr;
}

std::uint32_t DispatchGeometry::workgroup_count() const {
    std::uint32_t count = 1;
    for (unsigned i = 0; i < 3; ++i) {
        count *= groups_along(grid.at(i), workgroup.at(i));
    }
    return count;
}

Coordinates DispatchGeometry::coordinates(std::uint32_t linear) const {
    const std::uint32_t along_x = groups_along(grid[0], workgroup[0]);
    const std::uint32_t along_y = groups_along(grid[1], workgroup[1]);
    return {linear % along_x, linear / along_x % along_y, linear / along_x / along_y};
}

Coordinates DispatchGeometry::size_at(const Coordinates& at) const {
    Coordinates size{};
    for (unsigned i = 0; i < 3; ++i) {
        size.at(i) = std::min(workgroup.at(i), grid.at(i) - at.at(i) * workgroup.at(i));
    }
    return size;
}

unsigned DispatchGeometry::waves_at(const Coordinates& at) const {
    return (items(size_at(at)) + isa::lane_count - 1) / isa::lane_count;
}

std::uint64_t lanes_of(const Coordinates& size, unsigned index) {
    const std::uint32_t left = items(size) - index * isa::lane_count;
    return left >= isa::lane_count ? ~0ULL : (1ULL << left) - 1;
}

// A partial workgroup is packed by its own size, as COMPUTE_NUM_THREAD_*.NUM_THREAD_PARTIAL does.
Coordinates work_item(const Coordinates& size, unsigned index, unsigned lane) {
    const std::uint32_t flat = index * isa::lane_count + lane;
    return {flat % size[0], flat / size[0] % size[1], flat / size[0] / size[1]};
}

} // namespace vgpu::sq
