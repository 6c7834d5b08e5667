// SPDX-License-Identifier: MIT
// The commands of the mailbox: "arm SPEC", "disarm NUMBER", "disarm all", "list".
#pragma once

#include "fault/fault_injector.hpp"
#include "model/base/result.hpp"

#include <string>
#include <string_view>

namespace vgpu::fault {

// What the command prints; the number of the fault for arm.
Result<std::string> run_command(FaultInjector& faults, std::string_view command);

} // namespace vgpu::fault
