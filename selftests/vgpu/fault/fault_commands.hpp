// SPDX-License-Identifier: MIT
// The commands of the mailbox: "arm SPEC", "disarm NUMBER", "disarm all", "list", "counter NAME",
// "scribble-mqds PASID", "pace RATE".
#pragma once

#include "fault/fault_injector.hpp"
#include "model/base/result.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace vgpu::fault {

// Access to the GPU for the commands that aren't about faults.
struct Surroundings {
    // Returns a counter of the summary.
    std::function<std::uint64_t(std::string_view)> counter;
    // Corrupts the saved MQDs of a process' queues; returns how many there were.
    std::function<unsigned(std::uint16_t)> scribble_mqds;
    // Wave instructions for each millisecond of the guest's time; 0: as many as the host can.
    std::function<Result<Nothing>(std::uint64_t)> set_pace;
};

// Returns the output of the command: for arm, the number of the fault.
Result<std::string> run_command(FaultInjector& faults, const Surroundings& gpu,
                                std::string_view command);

} // namespace vgpu::fault
