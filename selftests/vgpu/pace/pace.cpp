// SPDX-License-Identifier: MIT
// Ties the GPU's progress to the guest's: so many wave instructions in a millisecond of its time.
#include "pace/pace.hpp"

#include <algorithm>
#include <utility>

namespace vgpu::pace {

Pace::Pace(Device& device, std::uint64_t slice, Look look)
    : device_(device), slice_(slice), look_(std::move(look)) {}

void Pace::set_rate(std::uint64_t per_ms) {
    per_ms_ = per_ms;
    ran_ = 0;
    time_.reset();
    if (per_ms != 0)
        time_.emplace(look_(false));
    device_.set_paced(on());
}

Device::Activity Pace::run(bool asked) {
    if (!time_)
        return device_.run(slice_);
    time_->advance(look_(!asked), asked);
    const auto due = static_cast<std::uint64_t>(static_cast<unsigned __int128>(time_->ns()) *
                                                per_ms_ / 1'000'000);
    Device::Activity activity = device_.run(0);
    while (ran_ < due) {
        const std::uint64_t now = std::min(slice_, due - ran_);
        activity = device_.run(now);
        ran_ += now;
    }
    return activity;
}

void Pace::answered() {
    if (time_)
        time_->skip(look_(false));
}

} // namespace vgpu::pace
