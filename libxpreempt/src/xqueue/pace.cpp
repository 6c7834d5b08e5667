// SPDX-License-Identifier: MIT
// Threshold and batch from the measured time of a command.
#include "xqueue/pace.hpp"

#include <algorithm>

namespace xpreempt::xqueue {

namespace {

// Weight of a new measurement is one in so many.
constexpr std::int64_t smoothing = 8;

// So many refills that found the hardware busy, and fewer in flight are tried again.
constexpr std::uint32_t refills_before_less = 256;

} // namespace

bool Pace::fits(std::uint64_t commands) const {
    return command_ns_ != 0 &&
           commands * command_ns_ <= config_.latency_budget_ns + command_ns_ / 8;
}

std::uint32_t Pace::threshold() const {
    if (!adapts())
        return config_.threshold;
    std::uint64_t wanted = at_least_;
    if (command_ns_ != 0)
        wanted = std::max(wanted, (config_.latency_budget_ns + command_ns_ / 8) / command_ns_);
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(wanted, config_.threshold));
}

// Half of the threshold, so that the other half runs while more is launched.
std::uint32_t Pace::batch() const {
    return adapts() ? std::max(threshold() / 2, std::uint32_t{1}) : config_.batch;
}

void Pace::completed(std::uint64_t now_ns, std::uint32_t count) {
    if (last_ns_ != 0 && count != 0) {
        const std::uint64_t sample = (now_ns - last_ns_) / count;
        const auto difference =
            static_cast<std::int64_t>(sample) - static_cast<std::int64_t>(command_ns_);
        command_ns_ = command_ns_ == 0
                          ? sample
                          : command_ns_ + static_cast<std::uint64_t>(difference / smoothing);
        command_ns_ = std::max(command_ns_, std::uint64_t{1});
    }
    last_ns_ = now_ns;
}

void Pace::refilled(bool was_dry) {
    if (was_dry) {
        at_least_ = std::min(at_least_ + 1, std::max(config_.threshold, std::uint32_t{2}));
        wet_refills_ = 0;
        gap();
    } else if (++wet_refills_ == refills_before_less) {
        at_least_ = std::max(at_least_ - 1, std::uint32_t{2});
        wet_refills_ = 0;
    }
}

} // namespace xpreempt::xqueue
