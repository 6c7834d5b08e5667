// SPDX-License-Identifier: MIT
// Findings of doctor about parameters of the driver, its packages and the firmware.
#pragma once

#include "kfd/module.hpp"
#include "output/context.hpp"
#include "output/report.hpp"
#include "verbs/doctor/finding.hpp"

#include <initializer_list>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace cli {

// Without those that this distribution has no command for.
std::vector<std::string> commands_of(std::initializer_list<std::string> commands);

// For a parameter that the site has set on the kernel's command line or in a file of modprobe, of
// which the initramfs has a copy.
Fix fix_of_parameter(const Context& context, const char* parameter, const std::string& change);

// "6.14.14-2212064.el8, driver 30.10.1 of ROCm 7.0: ...": what is known of ROCm's driver that is
// loaded, or else of the newest that is installed. Empty: there is none.
std::string known_of_rocm(const Context& context, const kfd::LoadedModule& module);

// Entries without a source, which keep DKMS from building anything.
Finding check_dkms(const Context& context);
// The running kernel and the newest one, which boots next: whether they have our driver. None
// without preemption now, or where the machine's kernels are not seen.
std::vector<Finding> check_next_boot(const Context& context, const kfd::LoadedModule& module);
// Parameters that take preemption away, or queues out of sight.
std::vector<Finding> check_parameters(const Context& context, const kfd::LoadedModule& module);
// Settings of a process that hide its queues, or the work in them, from the driver.
std::vector<Finding> check_settings_of(const Context& context, pid_t pid);

// Adds the versions of the firmware that stops queues.
void add_firmware(const Context& context, Report& report);

} // namespace cli
