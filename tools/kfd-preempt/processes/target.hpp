// SPDX-License-Identifier: MIT
// A process that a verb acts on, and how messages name it and its queues.
#pragma once

#include "output/context.hpp"
#include "output/report.hpp"
#include "processes/task.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace cli {

// A process as it is named in messages: "pid 12 (demo)".
struct Target {
    pid_t pid = 0;
    std::optional<Task> task; // none when /proc hides it

    [[nodiscard]] std::string name() const;
    [[nodiscard]] std::string comm() const; // printable, empty when unknown
    [[nodiscard]] Json comm_json() const;
};

Target target_of(const Context& context, pid_t pid);

// "queue 3 of pid 12 (demo)"
std::string queue_name(std::uint32_t queue_id, const Target& target);

} // namespace cli
