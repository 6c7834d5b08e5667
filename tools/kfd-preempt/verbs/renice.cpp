// SPDX-License-Identifier: MIT
// renice: changes attributes of a job of xpreemptd.
#include "daemon/daemon.hpp"
#include "daemon/scheduling.hpp"
#include "output/names.hpp"

#include <fmt/format.h>

namespace cli {

Report renice(const Context& context, const xpreemptd::JobSelector& job,
              const AttributeChange& change) {
    const auto* pid = std::get_if<pid_t>(&job);
    const std::string name = pid != nullptr ? fmt::format("the job of pid {}", *pid)
                                            : "job " + printable(std::get<std::string>(job));
    const Outcome<Daemon> daemon = Daemon::connect(context);
    if (!daemon)
        return report_of(daemon.error());
    if (const Outcome<void> changed = daemon->set(job, change); !changed) {
        Failure failure = changed.error();
        failure.message = fmt::format("{}: not changed: {}", name, failure.message);
        return report_of(failure);
    }
    Report report;
    report.text = fmt::format("{}: changed\n", name);
    if (const auto status = daemon->status(); status)
        if (const std::string ignored = ignored_by(status->policy, change); !ignored.empty())
            report.text += ignored + "\n";
    report.json["changed"] = true;
    return report;
}

} // namespace cli
