// SPDX-License-Identifier: MIT
// The queues of a process, as KFD's sysfs tree tells them.
#pragma once

#include "base/error.hpp"

#include <cstdint>
#include <filesystem>
#include <sys/types.h>
#include <vector>

namespace xpreempt::kfd {

struct SysfsQueue {
    std::uint32_t kfd_queue_id;
    std::uint32_t gpu_id;
    std::uint32_t type; // the attribute's numbers: 0 compute, 1 SDMA, 4 SDMA over XGMI
    std::uint64_t ring_bytes;
};

// Ascending ids. ESRCH: that process has no KFD directory. The tree names processes by their pid in
// the initial pid namespace. A queue that goes away while it is read is left out.
Result<std::vector<SysfsQueue>> process_queues(const std::filesystem::path& kfd_class, pid_t pid);

} // namespace xpreempt::kfd
