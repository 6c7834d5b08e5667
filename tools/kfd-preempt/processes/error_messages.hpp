// SPDX-License-Identifier: MIT
// Error messages for an errno: the thing, what is wrong, what to do.
#pragma once

#include "output/context.hpp"
#include "output/report.hpp"
#include "processes/target.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace cli {

enum class Verb : std::uint8_t { suspend, resume, status, freeze, thaw };

const char* verb_name(Verb verb);

// A result that the driver gave for one queue, or for the whole call (no queue_id).
std::string driver_sentence(const Context& context, Verb verb, int errno_value,
                            const Target& target, std::optional<std::uint32_t> queue_id);
Failure driver_failure(const Context& context, Verb verb, const Error& error, const Target& target);

// Starts a container with all that doctor may find missing in one, so that one start is enough.
inline constexpr const char* container_command =
    "docker run --pid=host --cap-add SYS_PTRACE --device /dev/kfd \\\n"
    "    --device /dev/dri IMAGE kfd-preempt doctor";

// /dev/kfd can't be opened, or QUERY failed. Error and fix are separate, because doctor shows them
// separately and can't recommend itself as a fix.
struct Diagnosis {
    Exit exit;
    std::string text;
    std::string fix;
    std::vector<std::string> commands = {}; // that do it, or find out more
};
Diagnosis diagnose_device(const Context& context, const Error& error);
Failure device_failure(const Context& context, const Error& error);
Failure no_kfd(const Context& context);

Exit exit_of(int errno_value);

} // namespace cli
