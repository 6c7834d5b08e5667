// SPDX-License-Identifier: MIT
// The GPU's own time, in ticks of its 100 MHz reference clock.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

namespace vgpu {

// Unless told to follow a clock of the outside, time advances only with work done, so that a run
// can be repeated. A driver that compares GPU and system time wants a real one.
class Clock {
public:
    using Source = std::function<std::uint64_t()>;

    std::uint64_t ticks() const { return source_ ? source_() : ticks_; }
    bool goes_by_itself() const { return static_cast<bool>(source_); }
    void advance(std::uint64_t ticks) { ticks_ += ticks; }
    void follow(Source source) { source_ = std::move(source); }

private:
    std::uint64_t ticks_ = 0;
    Source source_;
};

} // namespace vgpu
