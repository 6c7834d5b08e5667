// SPDX-License-Identifier: MIT
// Computes with counts and times that were measured; knows no GPU.
#include "priorities.hpp"

#include "kfd-preempt/output/latency.hpp"
#include "kfd-preempt/output/names.hpp"

#include <fmt/format.h>
#include <numeric>

namespace verify {

namespace {

constexpr std::array<const char*, 7> mode_names = {"high alone",  "low alone",  "together",
                                                   "Lv1, block",  "Lv2, drain", "Lv3, interrupt",
                                                   "by xpreemptd"};

struct Row {
    const char* name;
    std::optional<cli::Percentiles> high, low;
    std::optional<double> kept, ratio; // low program's throughput, and latency low : high
    std::uint64_t stops;
};

std::uint64_t low_iterations(const Mode& mode) {
    return mode.end.iterations - mode.begin.iterations;
}

std::vector<std::uint64_t> high_latencies(const Measured& measured, const Mode& mode) {
    std::vector<std::uint64_t> latencies;
    for (const Request& request : mode.requests)
        latencies.push_back(measured.counts ? request.completed.iterations -
                                                  request.arrived.iterations + measured.high_request
                                            : request.ns);
    return latencies;
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
            latencies[kernel] += measured.high_request;
    }
    return latencies;
}

double low_throughput(const Measured& measured, const Mode& mode) {
    const std::uint64_t low = low_iterations(mode);
    const std::uint64_t all =
        measured.counts ? low + mode.requests.size() * measured.high_request : mode.ns;
    return all == 0 ? 0 : static_cast<double>(low) / static_cast<double>(all);
}

std::vector<Row> rows(const Measured& measured) {
    std::vector<Row> rows;
    const double alone = low_throughput(measured, measured.of(Sharing::low_alone));
    for (std::size_t i = 0; i < mode_names.size(); ++i) {
        const Mode& mode = measured.modes[i];
        if (static_cast<Sharing>(i) == Sharing::by_daemon && measured.policy.empty())
            break;
        Row row{mode_names[i],
                cli::percentiles(high_latencies(measured, mode)),
                cli::percentiles(low_latencies(measured, mode)),
                {},
                {},
                mode.stops};
        if (row.low && alone > 0)
            row.kept = 100 * low_throughput(measured, mode) / alone;
        if (row.low && row.high && row.high->p50 > 0)
            row.ratio = static_cast<double>(row.low->p50) / static_cast<double>(row.high->p50);
        rows.push_back(row);
    }
    return rows;
}

// Sums over all requests, each from when the low program has been held back.
struct DuringRequests {
    std::uint64_t iterations = 0, launches = 0;
    std::uint64_t in_flight = 0, mid_kernel = 0; // requests before which a kernel was
};

DuringRequests during_requests(const Measured& measured, Sharing sharing) {
    DuringRequests sum;
    for (const auto& [arrived, prepared, completed, ns] : measured.of(sharing).requests) {
        sum.iterations += completed.iterations - prepared.iterations;
        sum.launches += completed.launched - prepared.launched;
        sum.in_flight += prepared.launched > prepared.done ? 1 : 0;
        sum.mid_kernel += prepared.iterations % measured.low_kernel != 0 ? 1 : 0;
    }
    return sum;
}

// A request goes on while the daemon learns of it, so the low program still runs for a moment.
void judge_daemon(const Measured& measured, std::uint64_t together, Checks& checks) {
    const Mode& mode = measured.of(Sharing::by_daemon);
    const std::uint64_t iterations = during_requests(measured, Sharing::by_daemon).iterations;
    const std::string counts = fmt::format("{} stops in {} requests, {} iterations, {} together",
                                           mode.stops, mode.requests.size(), iterations, together);
    checks.check(2 * mode.stops >= mode.requests.size(),
                 "xpreemptd: the low program is stopped for most requests", counts);
    if (measured.counts)
        checks.check(iterations < together, "xpreemptd: it runs less during requests: " + counts);
    else
        checks.note("xpreemptd: " + counts);
}

} // namespace

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
        fmt::format("{:<15}  {:>9}  {:>9}  {:>9}  {:>9}  {:>8}  {:>8}  {:>5}", "", "high p50",
                    "p99", "low p50", "p99", "low kept", "low:high", "stops")};
    for (const Row& row : rows(measured))
        lines.push_back(fmt::format(
            "{:<15}  {:>9}  {:>9}  {:>9}  {:>9}  {:>8}  {:>8}  {:>5}", row.name,
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
              {"policy", measured.policy.empty() ? Json() : Json(measured.policy)},
              {"low_kernel_iterations", measured.low_kernel},
              {"high_request_iterations", measured.high_request}};
    const std::vector<Row> all = rows(measured);
    for (std::size_t i = 0; i < all.size(); ++i) {
        const DuringRequests during = during_requests(measured, static_cast<Sharing>(i));
        json["modes"].push_back({{"mode", all[i].name},
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

void judge(const Measured& measured, Checks& checks) {
    const DuringRequests together = during_requests(measured, Sharing::together);
    const DuringRequests block = during_requests(measured, Sharing::block);
    const DuringRequests drain = during_requests(measured, Sharing::drain);
    const DuringRequests interrupt = during_requests(measured, Sharing::interrupt);
    checks.check(together.iterations > 0,
                 fmt::format("together, the low program runs during requests: {} iterations",
                             together.iterations));
    checks.check(block.launches == 0, "Lv1: the low program launches nothing during requests",
                 fmt::format("{} kernels", block.launches));
    checks.check(block.iterations > 0,
                 fmt::format("Lv1: its kernels in flight run: {} iterations", block.iterations));
    checks.check(drain.iterations == 0,
                 "Lv2: no iteration of it from the end of its kernels to that of a request",
                 fmt::format("{} iterations", drain.iterations));
    const std::uint64_t stops = measured.of(Sharing::interrupt).stops;
    checks.check(interrupt.in_flight == stops,
                 fmt::format("Lv3: {} of {} stops leave kernels in flight, {} in the middle of one",
                             interrupt.in_flight, stops, interrupt.mid_kernel));
    checks.check(interrupt.iterations == 0,
                 "Lv3: no iteration of it from the confirmed stop to the end of a request",
                 fmt::format("{} iterations", interrupt.iterations));
    const std::string order =
        fmt::format("iterations of the low program during requests: together {}, Lv1 {}, Lv2 {}, "
                    "Lv3 {}",
                    together.iterations, block.iterations, drain.iterations, interrupt.iterations);
    // How a GPU shares itself between two queues is its own affair.
    if (!measured.counts)
        checks.note(order);
    else
        checks.check(together.iterations >= block.iterations &&
                         block.iterations >= drain.iterations &&
                         drain.iterations >= interrupt.iterations,
                     order, "not less from level to level");
    if (measured.policy == "BAND")
        judge_daemon(measured, together.iterations, checks);
    const bool all_right = std::ranges::all_of(measured.modes, [&](const Mode& mode) {
        return low_iterations(mode) == (mode.end.done - mode.begin.done) * measured.low_kernel;
    });
    checks.check(all_right, "each kernel of the low program has done its iterations, once");
}

} // namespace verify
