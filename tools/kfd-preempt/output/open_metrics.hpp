// SPDX-License-Identifier: MIT
// Formats the reports of xpreemptd as OpenMetrics text.
#pragma once

#include "xpreemptd/protocol/replies.hpp"

#include <string>
#include <vector>

namespace cli {

struct DaemonFigures {
    xpreemptd::StatusReport status;
    std::vector<xpreemptd::ListedJob> jobs;
};

// OpenMetrics 1.0, and the older Prometheus text format as well: that is what node_exporter reads
// of files, and it knows no types but counter, gauge and summary here. Null: no daemon runs, which
// xpreempt_up says.
[[nodiscard]] std::string open_metrics(const DaemonFigures* figures);

} // namespace cli
