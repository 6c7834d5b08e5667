// SPDX-License-Identifier: MIT
// The commands of the mailbox: "arm SPEC", "disarm NUMBER", "disarm all", "list", "counter NAME",
// "scribble-mqds PASID".
#pragma once

#include "fault/fault_injector.hpp"
#include "model/base/result.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace vgpu::fault {

// What commands need besides the faults.
struct Surroundings {
    // A counter of the summary.
    std::function<std::uint64_t(std::string_view)> counter;
    // Spoils what the queues of a process saved in their MQDs; how many there were.
    std::function<unsigned(std::uint16_t)> scribble_mqds;
};

// What the command prints; the number of the fault for arm.
Result<std::string> run_command(FaultInjector& faults, const Surroundings& gpu,
                                std::string_view command);

} // namespace vgpu::fault
