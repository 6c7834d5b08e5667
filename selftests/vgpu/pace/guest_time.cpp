// SPDX-License-Identifier: MIT
// How long the guest has run, whatever else the host had to do meanwhile.
#include "pace/guest_time.hpp"

#include <algorithm>

namespace vgpu::pace {

void GuestTime::advance(const ProcessState& now, bool asked) {
    const std::uint64_t wall = now.wall_ns - last_.wall_ns;
    // Two threads of QEMU may have worked at a time.
    const std::uint64_t worked = std::min(now.cpu_ns - last_.cpu_ns, wall);
    const bool slept = !asked && !now.runnable;
    ns_ += slept ? std::max(worked, std::min(wall, longest_sleep_ns)) : worked;
    last_ = now;
}

} // namespace vgpu::pace
