// SPDX-License-Identifier: MIT
// wait: until a process has a compute queue, which is what suspend can stop.
#pragma once

#include "output/context.hpp"
#include "output/report.hpp"

#include <optional>
#include <set>
#include <string>
#include <sys/types.h>

namespace cli {

struct WaitOptions {
    std::optional<pid_t> pid;        // that process, else the next one that has none yet
    std::string container;           // only a process of that container, which may not run yet
    std::optional<double> timeout_s; // none: for ever
};

// One wait, scan by scan. A process that has a compute queue when the wait begins isn't new.
class Waiting {
public:
    Waiting(const Context& context, const WaitOptions& options);

    // A report when it is over, the timeout aside.
    std::optional<Report> scan();

private:
    [[nodiscard]] std::optional<Report> scan_process(pid_t pid) const;
    std::optional<Report> scan_for_new();

    const Context& context_;
    const WaitOptions options_;
    std::set<pid_t> old_;
};

Report wait(const Context& context, const WaitOptions& options);

} // namespace cli
