// SPDX-License-Identifier: MIT
// The KFD sysfs tree: which processes have which queues, which GPUs there are.
#pragma once

#include "base/error.hpp"
#include "kfd/roots.hpp"

#include <cstdint>
#include <string>
#include <sys/types.h>
#include <vector>

namespace xpreempt::kfd {

// Values of the attribute `type` (enum kfd_queue_type of amdkfd, not the ioctl's queue_type).
// NOLINTNEXTLINE(performance-enum-size): any number that the kernel writes must fit
enum class QueueType : std::uint32_t {
    compute = 0,
    sdma = 1,
    hiq = 2,
    diq = 3,
    sdma_xgmi = 4,
    sdma_by_engine = 5,
};

struct Queue {
    std::uint32_t queue_id;
    std::uint32_t gpu_id;
    QueueType type;
    std::uint64_t ring_bytes;
};

struct Process {
    pid_t pid;
    std::vector<Queue> queues; // ascending queue_id

    [[nodiscard]] std::vector<std::uint32_t> compute_queue_ids() const;
};

struct Node {
    std::uint32_t node_id;
    std::uint32_t gpu_id;
    std::string name;
    std::string pci_address; // empty if the tree doesn't have it
};

std::string name_of(QueueType type);

// ENOENT when this kernel has no KFD at all.
Result<std::vector<pid_t>> kfd_pids(const Roots& roots);

// ESRCH when that process doesn't use KFD. A queue that goes away while it is read, or whose
// attributes make no sense, is left out.
Result<Process> process_queues(const Roots& roots, pid_t pid);
// The ids alone, ascending: one directory is read, however many queues there are.
Result<std::vector<std::uint32_t>> queue_ids(const Roots& roots, pid_t pid);
// ENOENT when the process has no such queue, or its attributes make no sense.
Result<Queue> queue_of(const Roots& roots, pid_t pid, std::uint32_t queue_id);

// GPUs only. A node that this user may not see is left out.
Result<std::vector<Node>> gpu_nodes(const Roots& roots);

} // namespace xpreempt::kfd
