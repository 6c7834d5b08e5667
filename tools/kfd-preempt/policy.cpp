// SPDX-License-Identifier: MIT
// policy: how xpreemptd schedules, or by what it shall.
#include "daemon.hpp"
#include "names.hpp"
#include "scheduling.hpp"

#include <fmt/format.h>

namespace cli {

Report policy(const Context& context, const std::string& name) {
    const Outcome<Daemon> daemon = Daemon::connect(context);
    if (!daemon)
        return report_of(daemon.error());
    if (!name.empty())
        if (const Outcome<void> set = daemon->set_policy(name); !set)
            return report_of(set.error());
    const auto status = daemon->status();
    if (!status)
        return report_of(status.error());
    Report report;
    report.json = xpreemptd::json_of(*status);
    report.text = fmt::format("policy: {}\n", printable(status->policy));
    if (!status->ejected.empty())
        report.text += fmt::format("ejected: {}\n", printable(status->ejected));
    report.text += fmt::format("sensing: {}\ndecisions: {}, switches: {}, refused queues: {}\n"
                               "ready edges: {}, found late: {}\n",
                               printable(status->sensing), status->decisions, status->switches,
                               status->refusals, status->edges, status->edges_found_late);
    return report;
}

} // namespace cli
