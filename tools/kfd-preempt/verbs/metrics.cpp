// SPDX-License-Identifier: MIT
// metrics: figures of xpreemptd for Prometheus, on standard output or in a file.
#include "daemon/daemon.hpp"
#include "daemon/scheduling.hpp"
#include "output/names.hpp"
#include "output/open_metrics.hpp"
#include "processes/error_messages.hpp"
#include "xpreemptd/system/replace_file.hpp"

#include <cerrno>
#include <cstring>
#include <fmt/format.h>

namespace cli {

namespace {

// Two requests: the text is made here, for the daemon has better things to do, and a list of jobs
// may be longer than a message.
Outcome<DaemonFigures> ask(const Context& context) {
    const Outcome<Daemon> daemon = Daemon::connect(context);
    if (!daemon)
        return tl::make_unexpected(daemon.error());
    auto status = daemon->status();
    if (!status)
        return tl::make_unexpected(status.error());
    auto jobs = daemon->jobs();
    if (!jobs)
        return tl::make_unexpected(jobs.error());
    return DaemonFigures{std::move(*status), std::move(*jobs)};
}

bool does_not_run(const Failure& failure) {
    return failure.errno_value == ENOENT || failure.errno_value == ECONNREFUSED;
}

} // namespace

Report metrics(const Context& context, const std::string& output) {
    const Outcome<DaemonFigures> figures = ask(context);
    const bool to_file = !output.empty();
    // Write a file also if the daemon doesn't run: an older file would report that it does.
    if (!figures && !(to_file && does_not_run(figures.error())))
        return report_of(figures.error());
    const std::string text = open_metrics(figures ? &*figures : nullptr);
    Report report;
    if (!to_file) {
        report.text = text;
        report.json["metrics"] = text;
        return report;
    }
    if (const int failed = xpreemptd::replace_file(output, text, 0644); failed != 0)
        return report_of(Failure{
            exit_of(failed), failed,
            fmt::format("{}: not written: {}", printable(output),
                        failed == ENOTSUP ? "it is there and no regular file; without --output the "
                                            "metrics go to standard output"
                                          : std::strerror(failed))});
    report.json["written"] = output;
    if (!figures)
        report.messages.push_back(
            fmt::format("{}: has xpreempt_up 0: {}", printable(output), figures.error().message));
    return report;
}

} // namespace cli
