// SPDX-License-Identifier: MIT
// KFD's processes by the pids of this pid namespace.
//
// KFD names its sysfs directories by pids of the initial pid namespace, while the driver takes the
// caller's. In a container the two differ, and only the PASID connects them: KFD writes it into the
// directory of a process, and amdgpu into the fdinfo of the render node that the process gave to
// KFD. Linux up to 6.12 at least and ROCm's driver 6.12 do both; newer kernels write none into the
// directory.
#pragma once

#include "base/unique_fd.hpp"
#include "kfd/sysfs.hpp"
#include "output/context.hpp"
#include "output/outcome.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace cli {

// Returns an error if KFD's processes have no pids here: a pid namespace of its own on a kernel
// whose KFD shows no PASIDs, or a /proc of another namespace.
Outcome<void> require_kfd_pids(const Context& context);

// Ascending. ENOENT if this kernel has no KFD. In a pid namespace of its own, those that /proc
// shows here and whose descriptors this user may read.
Result<std::vector<pid_t>> kfd_pids(const Context& context);

// ESRCH if that process doesn't use KFD. EACCES in a pid namespace of its own, if this user may
// not read its descriptors.
Result<kfd::Process> kfd_process(const Context& context, pid_t pid);

// Ids of its compute queues, which HIP may use and suspend can stop; empty if there is no such
// process.
std::vector<std::uint32_t> compute_queues(const Context& context, pid_t pid);

// A file of /dev/kfd that the process has open. None: it has none, or the kernel does not let this
// user trace the process (ptrace_may_access()).
std::optional<xpreempt::UniqueFd> kfd_file_of(const Context& context, pid_t pid);

} // namespace cli
