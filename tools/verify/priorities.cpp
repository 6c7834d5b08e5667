// SPDX-License-Identifier: MIT
// Computes with counts and times that were measured; knows no GPU.
#include "priorities.hpp"

#include "charts/chart.hpp"
#include "kfd-preempt/output/latency.hpp"
#include "kfd-preempt/output/names.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>

namespace verify {

namespace {

constexpr std::array<const char*, 8> mode_names = {
    "high alone", "low alone",      "together",           "Lv1, block",
    "Lv2, drain", "Lv3, interrupt", "HPF in the process", "by xpreemptd"};

// "together" needs no name beside a load.
std::string name_of(const Mode& mode) {
    const std::string name = mode_names[static_cast<std::size_t>(mode.sharing)];
    if (mode.load.empty())
        return name;
    return mode.sharing == Sharing::together
               ? mode.load
               : fmt::format("{}, {}", mode.load, name.substr(0, name.find(',')));
}

struct Row {
    std::string name;
    std::optional<cli::Percentiles> high, low;
    std::optional<double> kept, ratio; // low program's throughput, and latency low : high
    std::uint64_t stops;
};

std::uint64_t low_iterations(const Mode& mode) {
    return mode.end.iterations - mode.begin.iterations;
}

// Kernels of the low program run one after the other: each takes its own iterations, and those of
// the requests that were served meanwhile.
std::vector<std::uint64_t> low_latencies(const Measured& measured, const Mode& mode) {
    if (!measured.counts)
        return mode.low_ns;
    std::vector<std::uint64_t> latencies(low_iterations(mode) / measured.low_kernel,
                                         measured.low_kernel);
    for (const Request& request : mode.requests) {
        const std::uint64_t kernel =
            (request.prepared.iterations - mode.begin.iterations) / measured.low_kernel;
        if (kernel < latencies.size())
            latencies[kernel] += mode.high_request;
    }
    return latencies;
}

double low_throughput(const Measured& measured, const Mode& mode) {
    const std::uint64_t low = low_iterations(mode);
    const std::uint64_t all =
        measured.counts ? low + mode.requests.size() * mode.high_request : mode.ns;
    return all == 0 ? 0 : static_cast<double>(low) / static_cast<double>(all);
}

std::vector<Row> rows(const Measured& measured) {
    std::vector<Row> rows;
    const Mode* const low_alone = measured.find(Sharing::low_alone);
    const double alone = low_alone == nullptr ? 0 : low_throughput(measured, *low_alone);
    for (const Mode& mode : measured.modes) {
        Row row{name_of(mode),
                cli::percentiles(high_latencies(measured, mode)),
                cli::percentiles(low_latencies(measured, mode)),
                {},
                {},
                mode.stops};
        if (row.low && alone > 0)
            row.kept = 100 * low_throughput(measured, mode) / alone;
        if (row.low && row.high && row.high->p50 > 0)
            row.ratio = static_cast<double>(row.low->p50) / static_cast<double>(row.high->p50);
        rows.push_back(std::move(row));
    }
    return rows;
}

// Sums over all requests, each from when the low program has been held back.
struct DuringRequests {
    std::uint64_t iterations = 0, launches = 0;
    std::uint64_t mid_kernel = 0; // requests before which a kernel had done a part
};

DuringRequests during_requests(const Measured& measured, const Mode& mode) {
    DuringRequests sum;
    for (const auto& [arrived, prepared, completed, ns] : mode.requests) {
        sum.iterations += completed.iterations - prepared.iterations;
        sum.launches += completed.launched - prepared.launched;
        sum.mid_kernel += prepared.iterations % measured.low_kernel != 0 ? 1 : 0;
    }
    return sum;
}

// A request goes on while the scheduler learns of it, so the low program still runs for a moment.
void judge_scheduler(const Measured& measured, Sharing sharing, const char* name,
                     std::uint64_t together, Checks& checks) {
    const Mode* const mode = measured.find(sharing);
    if (mode == nullptr)
        return;
    const std::uint64_t iterations = during_requests(measured, *mode).iterations;
    const std::string counts =
        fmt::format("{} stops in {} requests, {} iterations, {} together", mode->stops,
                    mode->requests.size(), iterations, together);
    checks.check(2 * mode->stops >= mode->requests.size(),
                 fmt::format("{}: the low program is stopped for most requests", name), counts);
    if (measured.counts)
        checks.check(iterations < together,
                     fmt::format("{}: it runs less during requests: {}", name, counts));
    else
        checks.note(fmt::format("{}: {}", name, counts));
}

// Each level that was measured; says what the low program did during requests, in that order.
void judge_levels(const Measured& measured, const DuringRequests& together, Checks& checks) {
    const Mode* const block = measured.find(Sharing::block);
    const Mode* const drain = measured.find(Sharing::drain);
    if (block == nullptr || drain == nullptr)
        return;
    const DuringRequests lv1 = during_requests(measured, *block);
    const DuringRequests lv2 = during_requests(measured, *drain);
    checks.check(lv1.launches == 0, "Lv1: the low program launches nothing during requests",
                 fmt::format("{} kernels", lv1.launches));
    checks.check(lv1.iterations > 0,
                 fmt::format("Lv1: its kernels in flight run: {} iterations", lv1.iterations));
    checks.check(lv2.iterations == 0,
                 "Lv2: no iteration of it from the end of its kernels to that of a request",
                 fmt::format("{} iterations", lv2.iterations));
    std::uint64_t lv3 = 0;
    for (const Mode& mode : measured.modes) {
        if (mode.sharing != Sharing::interrupt)
            continue;
        const DuringRequests during = during_requests(measured, mode);
        const std::string name = mode.load.empty() ? "Lv3" : name_of(mode);
        if (mode.load.empty())
            checks.check(mode.stops >= mode.requests.size(),
                         fmt::format("Lv3: {} stops in {} requests, {} of them in the middle of a "
                                     "kernel",
                                     mode.stops, mode.requests.size(), during.mid_kernel));
        checks.check(during.iterations == 0,
                     name + ": no iteration of it from the confirmed stop to the end of a request",
                     fmt::format("{} iterations", during.iterations));
        lv3 += mode.load.empty() ? during.iterations : 0;
    }
    const std::string order =
        fmt::format("iterations of the low program during requests: together {}, Lv1 {}, Lv2 {}, "
                    "Lv3 {}",
                    together.iterations, lv1.iterations, lv2.iterations, lv3);
    // How a GPU shares itself between two queues is its own affair.
    if (!measured.counts)
        checks.note(order);
    else
        checks.check(together.iterations >= lv1.iterations && lv1.iterations >= lv2.iterations &&
                         lv2.iterations >= lv3,
                     order, "not less from level to level");
}

} // namespace

const Mode* Measured::find(Sharing sharing) const {
    const auto found = std::ranges::find_if(
        modes, [&](const Mode& mode) { return mode.sharing == sharing && mode.load.empty(); });
    return found == modes.end() ? nullptr : &*found;
}

std::vector<std::uint64_t> high_latencies(const Measured& measured, const Mode& mode) {
    std::vector<std::uint64_t> latencies;
    for (const Request& request : mode.requests)
        latencies.push_back(measured.counts ? request.completed.iterations -
                                                  request.arrived.iterations + mode.high_request
                                            : request.ns);
    return latencies;
}

std::vector<std::string> table(const Measured& measured) {
    const auto cell = [&](const std::optional<cli::Percentiles>& figures,
                          std::uint64_t cli::Percentiles::* rank) {
        return !figures          ? "-"
               : measured.counts ? std::to_string((*figures).*rank)
                                 : cli::duration_text((*figures).*rank);
    };
    std::vector<std::string> lines{
        measured.counts
            ? "On the software GPU: iterations of the waves of both programs, not times."
            : "Requests of the high program, and kernels of the low one:",
        fmt::format("{:<20}  {:>9}  {:>9}  {:>9}  {:>9}  {:>8}  {:>8}  {:>5}", "", "high p50",
                    "p99", "low p50", "p99", "low kept", "low:high", "stops")};
    for (const Row& row : rows(measured))
        lines.push_back(fmt::format(
            "{:<20}  {:>9}  {:>9}  {:>9}  {:>9}  {:>8}  {:>8}  {:>5}", row.name,
            cell(row.high, &cli::Percentiles::p50), cell(row.high, &cli::Percentiles::p99),
            cell(row.low, &cli::Percentiles::p50), cell(row.low, &cli::Percentiles::p99),
            row.kept ? fmt::format("{:.1f} %", *row.kept) : "-",
            row.ratio ? fmt::format("{:.3g}", *row.ratio) : "-", row.stops));
    return lines;
}

Json figures_of(const Measured& measured) {
    const auto figures = [](const std::optional<cli::Percentiles>& of) -> Json {
        if (!of)
            return nullptr;
        return {{"samples", of->samples}, {"p50", of->p50}, {"p99", of->p99}};
    };
    const auto number = [](const std::optional<double>& of) { return of ? Json(*of) : Json(); };
    Json json{{"unit", measured.counts ? "iterations" : "ns"},
              {"hip_version", measured.hip.empty() ? Json() : Json(measured.hip)},
              {"policy", measured.policy.empty() ? Json() : Json(measured.policy)},
              {"low_kernel_iterations", measured.low_kernel}};
    const std::vector<Row> all = rows(measured);
    for (std::size_t i = 0; i < all.size(); ++i) {
        const Mode& mode = measured.modes[i];
        const DuringRequests during = during_requests(measured, mode);
        json["modes"].push_back({{"mode", all[i].name},
                                 {"high_request_iterations", mode.high_request},
                                 {"high", figures(all[i].high)},
                                 {"low", figures(all[i].low)},
                                 {"low_kept_percent", number(all[i].kept)},
                                 {"low_to_high", number(all[i].ratio)},
                                 {"stops", all[i].stops},
                                 {"low_iterations_in_requests", during.iterations},
                                 {"low_launches_in_requests", during.launches}});
    }
    return json;
}

std::string picture(const Measured& measured) {
    charts::Chart chart{"Requests of the high program: p50, and p99 as a mark",
                        measured.counts ? "iterations" : "ms",
                        {},
                        {},
                        true};
    charts::Series latency{"request", 0};
    const double unit = measured.counts ? 1 : 1e6;
    for (const Mode& mode : measured.modes) {
        const auto high = cli::percentiles(high_latencies(measured, mode));
        if (!high || !mode.load.empty())
            continue;
        chart.groups.push_back(name_of(mode));
        latency.values.push_back(static_cast<double>(high->p50) / unit);
        latency.marks.push_back(static_cast<double>(high->p99) / unit);
    }
    chart.series.push_back(std::move(latency));
    return charts::draw(chart);
}

void judge(const Measured& measured, Checks& checks) {
    const Mode* const mode = measured.find(Sharing::together);
    const DuringRequests together =
        mode == nullptr ? DuringRequests{} : during_requests(measured, *mode);
    checks.check(together.iterations > 0,
                 fmt::format("together, the low program runs during requests: {} iterations",
                             together.iterations));
    judge_levels(measured, together, checks);
    judge_scheduler(measured, Sharing::by_hpf, "HPF in the process", together.iterations, checks);
    judge_scheduler(measured, Sharing::by_daemon, "xpreemptd", together.iterations, checks);
    const bool all_right = std::ranges::all_of(measured.modes, [&](const Mode& each) {
        return each.end.done == each.end.launched &&
               low_iterations(each) == (each.end.done - each.begin.done) * measured.low_kernel;
    });
    checks.check(all_right, "each kernel of the low program has done its iterations, once");
}

} // namespace verify
