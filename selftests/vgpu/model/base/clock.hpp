// SPDX-License-Identifier: MIT
// The GPU's own time: it advances only with work done, so that a run can be repeated.
#pragma once

#include <cstdint>

namespace vgpu {

class Clock {
public:
    std::uint64_t ticks() const { return ticks_; }
    void advance(std::uint64_t ticks) { ticks_ += ticks; }

private:
    std::uint64_t ticks_ = 0;
};

} // namespace vgpu
