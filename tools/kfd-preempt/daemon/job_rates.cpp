// SPDX-License-Identifier: MIT
// Differences of totals, divided by the time that was accounted.
#include "daemon/job_rates.hpp"

#include "output/names.hpp"
#include "output/output.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>

namespace cli {

namespace {

using std::chrono::nanoseconds;
using xpreemptd::sched::Account;

double seconds(nanoseconds time) {
    return std::chrono::duration<double>(time).count();
}

nanoseconds divide(nanoseconds time, double by) {
    return nanoseconds(static_cast<nanoseconds::rep>(static_cast<double>(time.count()) / by));
}

Rates rates_between(const Account& before, const Account& now, std::uint64_t requests) {
    const nanoseconds interval = now.known - before.known;
    const nanoseconds wait = now.added_wait - before.added_wait;
    Rates rates;
    rates.interval = interval;
    rates.gpu_percent = 100 * seconds(now.run - before.run) / seconds(interval);
    rates.held_percent = 100 * seconds(now.held - before.held) / seconds(interval);
    rates.stops_per_s =
        static_cast<double>(now.preemptions - before.preemptions) / seconds(interval);
    rates.wait_per_s = divide(wait, seconds(interval));
    if (requests > 0)
        rates.wait_per_request = divide(wait, static_cast<double>(requests));
    return rates;
}

std::string time_text(nanoseconds time) {
    return duration_text(static_cast<std::uint64_t>(std::max<nanoseconds::rep>(time.count(), 0)));
}

} // namespace

std::vector<std::optional<Rates>> JobRates::update(const std::vector<xpreemptd::ListedJob>& jobs) {
    std::map<std::uint64_t, Seen> seen;
    std::vector<std::optional<Rates>> rates;
    for (const xpreemptd::ListedJob& job : jobs) {
        const xpreemptd::JobReport& report = job.report;
        Seen before;
        if (const auto found = seen_.find(report.id);
            found != seen_.end() && found->second.account.known <= report.account.known &&
            found->second.requests <= report.ready_edges)
            before = found->second;
        Seen now{report.account, report.ready_edges, before.rates};
        if (now.account.known > before.account.known)
            now.rates = rates_between(before.account, now.account, now.requests - before.requests);
        else
            now.account = before.account, now.requests = before.requests;
        rates.push_back(now.rates);
        seen.emplace(report.id, now);
    }
    seen_ = std::move(seen);
    return rates;
}

Json json_of(const std::optional<Rates>& rates) {
    if (!rates)
        return nullptr;
    return {{"interval_ns", rates->interval.count()},
            {"gpu_percent", rates->gpu_percent},
            {"held_percent", rates->held_percent},
            {"stops_per_s", rates->stops_per_s},
            {"added_wait_ns_per_s", rates->wait_per_s.count()},
            {"added_wait_ns_per_request",
             rates->wait_per_request ? Json(rates->wait_per_request->count()) : Json(nullptr)}};
}

std::string rates_table(const std::vector<xpreemptd::ListedJob>& jobs,
                        const std::vector<std::optional<Rates>>& rates) {
    std::vector<std::size_t> order(jobs.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {},
                             [&](std::size_t i) { return jobs[i].report.attributes.band; });
    Table table(
        {"JOB", "BAND", "STATE", "GPU%", "HELD%", "STOPS/s", "WAIT/s", "WAIT/REQUEST", "NAME"});
    for (const std::size_t i : order) {
        const xpreemptd::JobReport& job = jobs[i].report;
        std::vector<std::string> cells{std::to_string(job.id),
                                       std::string(xpreemptd::name_of(job.attributes.band)),
                                       std::string(xpreemptd::name_of(job.state))};
        if (const auto& of = rates[i])
            cells.insert(cells.end(),
                         {fmt::format("{:.1f}", of->gpu_percent),
                          fmt::format("{:.1f}", of->held_percent),
                          fmt::format("{:.1f}", of->stops_per_s), time_text(of->wait_per_s),
                          of->wait_per_request ? time_text(*of->wait_per_request) : "-"});
        else
            cells.insert(cells.end(), {"-", "-", "-", "-", "-"});
        cells.push_back(printable(job.name));
        table.add(std::move(cells));
    }
    return table.text();
}

} // namespace cli
