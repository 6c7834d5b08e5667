// SPDX-License-Identifier: MIT
// The compute units of an XCC on which the waves of a queue may run.
#pragma once

#include <array>
#include <cstdint>

namespace vgpu::sq {

// COMPUTE_STATIC_THREAD_MGMT_SEn: a bit for each compute unit of an engine. KFD counts the enabled
// ones (mqd_symmetrically_map_cu_mask() of kfd_mqd_manager.c).
struct CuMask {
    std::array<std::uint32_t, 4> engines{~0U, ~0U, ~0U, ~0U};

    // With `count` engines unit i is in engine i % count.
    bool allows(unsigned unit, unsigned count) const {
        return (engines.at(unit % count) >> unit / count & 1) != 0;
    }
};

} // namespace vgpu::sq
