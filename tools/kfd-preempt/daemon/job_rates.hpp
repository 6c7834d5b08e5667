// SPDX-License-Identifier: MIT
// Rates of the jobs of xpreemptd, from their totals in two scans.
#pragma once

#include "output/report.hpp"
#include "xpreemptd/protocol/replies.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace cli {

struct Rates {
    std::chrono::nanoseconds interval{0}; // that the daemon accounted between two updates
    double gpu_percent = 0;               // had work and ran
    double held_percent = 0;              // was held by the daemon
    double stops_per_s = 0;
    std::chrono::nanoseconds wait_per_s{0}; // because it was held while it had work
    std::optional<std::chrono::nanoseconds> wait_per_request; // nothing: no request began

    bool operator==(const Rates&) const = default;
};

class JobRates {
public:
    // Rates of each job since the update before; of its whole life at the first one, and at the
    // first one after the daemon was started anew. The daemon adds to its accounts at its own
    // times: a update between two of them has the rates of the update before. Nothing: no time was
    // accounted.
    std::vector<std::optional<Rates>> update(const std::vector<xpreemptd::ListedJob>& jobs);

private:
    struct Seen {
        xpreemptd::sched::Account account;
        std::uint64_t requests = 0;
        std::optional<Rates> rates;
    };
    std::map<std::uint64_t, Seen> seen_; // by the id of the job
};

Json json_of(const std::optional<Rates>& rates);

// One line a job, the highest band first.
std::string rates_table(const std::vector<xpreemptd::ListedJob>& jobs,
                        const std::vector<std::optional<Rates>>& rates);

} // namespace cli
