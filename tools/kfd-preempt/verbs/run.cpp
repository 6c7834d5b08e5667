// SPDX-License-Identifier: MIT
// run: becomes a job of xpreemptd with the attributes given, then the command.
#include "daemon/daemon.hpp"
#include "daemon/scheduling.hpp"
#include "output/names.hpp"
#include "output/output.hpp"
#include "xpreemptd/protocol/run_mark.hpp"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

namespace cli {

namespace {

// As flock(1) leaves its file open. Without a mark the daemon still knows the descendants of the
// command while the command lives.
xpreempt::UniqueFd leave_mark() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0)
        return {};
    const xpreempt::UniqueFd reads(ends[0]), writes(ends[1]);
    xpreempt::UniqueFd mark(::fcntl(reads.get(), F_DUPFD, xpreemptd::first_run_mark));
    const bool is_known = mark.get() < xpreemptd::first_run_mark + xpreemptd::most_run_marks;
    return is_known ? std::move(mark) : xpreempt::UniqueFd();
}

std::string without_mark() {
    constexpr int first = xpreemptd::first_run_mark, behind = first + xpreemptd::most_run_marks;
    return fmt::format("no descriptor from {} to {} is free (close one, or set `ulimit -n {}` or "
                       "more): a process that outlives the command may leave the job",
                       first, behind - 1, behind);
}

Outcome<void> adopt(const Context& context, const AttributeChange& change) {
    // Closed before exec: the daemon knows the process, not the connection.
    const Outcome<Daemon> daemon = Daemon::connect(context);
    if (!daemon)
        return tl::make_unexpected(daemon.error());
    const Outcome<void> adopted = daemon->adopt(change);
    if (const auto status = daemon->status(); adopted && status)
        if (const std::string ignored = ignored_by(status->policy, change); !ignored.empty())
            print_message(ignored);
    return adopted;
}

} // namespace

Report run_command_as_job(const Context& context, const AttributeChange& change, bool if_possible,
                          const std::vector<std::string>& command) {
    xpreempt::UniqueFd mark = leave_mark();
    const Outcome<void> adopted = adopt(context, change);
    if (!adopted && !if_possible)
        return report_of(
            Failure{Exit::not_started, adopted.error().errno_value, adopted.error().message});
    if (!adopted)
        print_message(adopted.error().message + "; runs without it");
    if (adopted && !mark.valid())
        print_message(without_mark());
    if (!adopted)
        mark = xpreempt::UniqueFd();
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
