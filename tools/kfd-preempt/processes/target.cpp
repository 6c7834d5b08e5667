// SPDX-License-Identifier: MIT
// A process that a verb acts on, and how messages name it and its queues.
#include "processes/target.hpp"

#include "output/names.hpp"

#include <fmt/format.h>

namespace cli {

std::string Target::comm() const {
    return task ? printable(task->comm) : std::string{};
}

Json Target::comm_json() const {
    return task ? Json(comm()) : Json(nullptr);
}

std::string Target::name() const {
    return task ? fmt::format("pid {} ({})", pid, comm()) : fmt::format("pid {}", pid);
}

Target target_of(const Context& context, pid_t pid) {
    const Result<Task> task = task_of(context.roots, pid);
    return {pid, task ? std::optional<Task>(*task) : std::nullopt};
}

std::string queue_name(std::uint32_t queue_id, const Target& target) {
    return fmt::format("queue {} of {}", queue_id, target.name());
}

} // namespace cli
