// SPDX-License-Identifier: MIT
// Calls of SWITCH, by the loop's thread and by the mover's.
#pragma once

#include "driver/provider.hpp"
#include "kfd/device.hpp"

#include <cstdint>
#include <span>

namespace xpreemptd {

class KfdSwitch {
public:
    // max_batch: entries that the driver takes in a call.
    KfdSwitch(xpreempt::kfd::Device device, std::uint32_t max_batch)
        : device_(std::move(device)), max_batch_(max_batch) {}

    [[nodiscard]] const xpreempt::kfd::Device& device() const { return device_; }
    [[nodiscard]] std::uint32_t max_batch() const { return max_batch_; }

    // Each switch has its own result, also when a call failed as a whole.
    Result<void> change(std::span<Switch> switches, std::uint32_t flags) const;
    // The stops are first, and take the memory of their processes out of VRAM.
    void move(std::span<Switch> switches) const;

private:
    Result<void> change_batch(std::span<Switch> switches, std::uint32_t flags) const;

    xpreempt::kfd::Device device_;
    std::uint32_t max_batch_;
};

} // namespace xpreemptd
