// SPDX-License-Identifier: MIT
// Facts about a process from /proc, and whether our pids are those of KFD in sysfs.
#pragma once

#include "output/context.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <sys/types.h>

namespace cli {

struct Task {
    std::string comm; // as the kernel has it: any bytes but NUL, up to 15
    pid_t tgid;       // differs from the pid when that names a thread
    uid_t uid;        // effective
    pid_t ns_pid;     // as the process itself is numbered, in its innermost pid namespace
};

// ESRCH when there is no such task, or /proc hides it from this user.
Result<Task> task_of(const kfd::Roots& roots, pid_t pid);

// Whether this process lives in the kernel's first pid namespace. KFD names its sysfs directories
// by the pids of that one, and a /proc mounted in another can't translate back.
Result<bool> in_initial_pid_namespace(const kfd::Roots& roots);

// CapEff of this process has CAP_SYS_PTRACE; false if /proc doesn't show it.
bool has_cap_sys_ptrace(const kfd::Roots& roots);

// The effective uid of this process is 0, in its user namespace; false if /proc doesn't show it.
// Root of a container may lack what sudo gives elsewhere.
bool is_root(const kfd::Roots& roots);

} // namespace cli
