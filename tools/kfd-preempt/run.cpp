// SPDX-License-Identifier: MIT
// run: becomes a job of xpreemptd with the attributes given, then the command.
#include "daemon.hpp"
#include "names.hpp"
#include "scheduling.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fmt/format.h>
#include <unistd.h>

namespace cli {

namespace {

Outcome<void> adopt(const Context& context, const AttributeChange& change) {
    // Closed before exec: the daemon knows the process, not the connection.
    const Outcome<Daemon> daemon = Daemon::connect(context);
    if (!daemon)
        return tl::make_unexpected(daemon.error());
    const Outcome<void> adopted = daemon->adopt(change);
    if (const auto status = daemon->status(); adopted && status)
        if (const std::string ignored = ignored_by(status->policy, change); !ignored.empty())
            fmt::print(stderr, "kfd-preempt: {}\n", ignored);
    return adopted;
}

} // namespace

Report run_command_as_job(const Context& context, const AttributeChange& change, bool if_possible,
                          const std::vector<std::string>& command) {
    const Outcome<void> adopted = adopt(context, change);
    if (!adopted && !if_possible)
        return report_of(
            Failure{Exit::not_started, adopted.error().errno_value, adopted.error().message});
    if (!adopted)
        fmt::print(stderr, "kfd-preempt: {}; runs without it\n", adopted.error().message);
    std::vector<char*> arguments;
    for (const std::string& word : command)
        arguments.push_back(const_cast<char*>(word.c_str())); // execvp() leaves it as it is
    arguments.push_back(nullptr);
    ::execvp(arguments[0], arguments.data());
    const int reason = errno;
    return report_of(Failure{
        reason == ENOENT ? Exit::no_command : Exit::cannot_execute, reason,
        fmt::format("cannot execute {}: {}", printable(command[0]), std::strerror(reason))});
}

} // namespace cli
