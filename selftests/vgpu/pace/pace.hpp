// SPDX-License-Identifier: MIT
// Ties the GPU's progress to the guest's: so many wave instructions in a millisecond of its time.
#pragma once

#include "model/device/device.hpp"
#include "pace/guest_time.hpp"

#include <cstdint>
#include <functional>
#include <optional>

namespace vgpu::pace {

// Without a rate the device runs as fast as the host lets it, a slice at a time.
class Pace {
public:
    // At QEMU's process; see ObservedProcess::state().
    using Look = std::function<ProcessState(bool with_threads)>;

    Pace(Device& device, std::uint64_t slice, Look look);

    // Wave instructions for each millisecond of guest time from now on, of all XCCs together; 0
    // ends that.
    void set_rate(std::uint64_t per_ms);
    bool on() const { return time_.has_value(); }

    // Runs a slice, or if there is a rate all that is due. `asked`: the guest waits for us.
    Device::Activity run(bool asked);
    // The guest has its answer.
    void answered();

private:
    Device& device_;
    std::uint64_t slice_;
    Look look_;
    std::uint64_t per_ms_ = 0;
    std::uint64_t ran_ = 0; // since the rate was set
    std::optional<GuestTime> time_;
};

} // namespace vgpu::pace
