// SPDX-License-Identifier: MIT
// From a pid on the command line to the queues that are meant, and to a driver that can act.
#pragma once

#include "context.hpp"
#include "kfd/sysfs.hpp"
#include "report.hpp"
#include "task.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

namespace cli {

template <typename T> using Outcome = tl::expected<T, Failure>;

// A process as it is named in sentences: "pid 12 (demo)".
struct Target {
    pid_t pid;
    std::optional<Task> task; // none when /proc hides it

    [[nodiscard]] std::string name() const;
    [[nodiscard]] std::string comm() const; // printable, empty when unknown
    [[nodiscard]] Json comm_json() const;
};

Target target_of(const Context& context, pid_t pid);

struct TargetQueues {
    Target target;
    std::vector<kfd::Queue> queues;
};

// All queues of a process that uses KFD.
Outcome<TargetQueues> queues_of(const Context& context, pid_t pid);

// Those of queue_ids in the order given, or all when none is given.
Outcome<TargetQueues> queues_of(const Context& context, pid_t pid,
                                const std::vector<std::uint32_t>& queue_ids);

struct Driver {
    kfd::Device device;
    kfd_ioctl_preempt_query_args query;
};

// Open, QUERY, and what an operator needs of the answer.
Outcome<Driver> connect(const Context& context);

} // namespace cli
