// SPDX-License-Identifier: MIT
// focus: names the job that policy AWF runs first.
#include "daemon/daemon.hpp"
#include "daemon/scheduling.hpp"

#include <fmt/format.h>
#include <unistd.h>

namespace cli {

Report focus(const Context& context, std::optional<pid_t> pid) {
    const Outcome<Daemon> daemon = Daemon::connect(context);
    if (!daemon)
        return report_of(daemon.error());
    if (const Outcome<void> changed = daemon->focus(pid); !changed) {
        Failure failure = changed.error();
        failure.message = fmt::format("the focus is not changed: {}", failure.message);
        return report_of(failure);
    }
    const uid_t user = geteuid();
    Report report;
    report.text = pid         ? fmt::format("the job of pid {} has the focus\n", *pid)
                  : user == 0 ? std::string("no job has the focus\n")
                              : fmt::format("no job of user {} has the focus\n", user);
    report.json["changed"] = true;
    return report;
}

} // namespace cli
