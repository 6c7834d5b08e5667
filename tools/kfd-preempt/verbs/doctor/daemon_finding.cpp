// SPDX-License-Identifier: MIT
// Its question to the daemon is that of the verbs jobs and policy.
#include "verbs/doctor/daemon_finding.hpp"

#include "daemon/daemon.hpp"
#include "daemon/scheduling.hpp"
#include "kfd/attribute.hpp"
#include "output/names.hpp"

#include <cerrno>
#include <fmt/format.h>
#include <string>

namespace cli {

namespace {

constexpr const char* name = "xpreemptd";

Fix fix_of(const Failure& failure) {
    switch (failure.errno_value) {
    case EACCES:
    case EPERM: return {{"sudo kfd-preempt doctor"}};
    // It works, for others.
    case EAGAIN:
    case EUSERS: return {{"kfd-preempt doctor"}, "ask again when it has fewer clients"};
    default:
        return {{"systemctl restart xpreemptd"},
                "if it ends again, `journalctl -u xpreemptd` has the reason"};
    }
}

// It has /dev/kfd open, and amdgpu rejects another partition while any process has.
constexpr const char* before_partitions = "; stop it before you partition a GPU";

Finding failed(const Failure& failure) {
    const bool runs = failure.errno_value != ECONNREFUSED;
    return {name, Verdict::warn, failure.message + (runs ? before_partitions : ""),
            fix_of(failure)};
}

Fix reload() {
    return {{"systemctl reload xpreemptd"}, "then the policy of its rules decides again"};
}

} // namespace

Finding check_daemon(const Context& context) {
    const Outcome<Daemon> daemon = Daemon::connect(context);
    if (!daemon && (daemon.error().errno_value == ENOENT || daemon.error().errno_value == ENOTDIR))
        return {name, Verdict::ok, "does not run here, so no program is stopped for another"};
    if (!daemon)
        return failed(daemon.error());
    const auto status = daemon->status();
    if (!status)
        return failed(status.error());
    const auto jobs = daemon->jobs();
    if (!jobs)
        return failed(jobs.error());
    if (!status->ejected.empty())
        return {name, Verdict::warn,
                fmt::format("runs with policy {}: {}{}", printable(status->policy),
                            printable(status->ejected), before_partitions),
                reload()};
    const std::string all_run = why_all_run(status->policy, *jobs);
    if (status->policy == "none")
        return {name, Verdict::warn, std::string(kfd::trim(all_run)) + before_partitions, reload()};
    return {name, Verdict::ok,
            fmt::format("runs with policy {}{}{}{}", printable(status->policy),
                        all_run.empty() ? "" : "; ", kfd::trim(all_run), before_partitions)};
}

} // namespace cli
