// SPDX-License-Identifier: MIT
// Draws intervals, kernel times and token counts.
#include "arrivals.hpp"

#include <algorithm>

namespace sim {

Arrivals::Arrivals(const JobSpec& spec, std::uint64_t seed)
    : spec_(spec), times_(seed, spec.name + "/times"), works_(seed, spec.name + "/works"),
      due_(static_cast<double>(spec.start)), left_in_burst_(spec.burst) {
    switch (spec.arrival) {
    case Arrival::closed: break;
    case Arrival::trace: next_ = spec.trace.empty() ? never : spec.start + spec.trace[0].at; break;
    case Arrival::poisson:
    case Arrival::gamma: due_ += static_cast<double>(interval()); [[fallthrough]];
    case Arrival::periodic:
    case Arrival::bursts: next_ = round_time(due_); break;
    }
}

Time Arrivals::interval() {
    const double mean = 1e9 / spec_.rate;
    switch (spec_.arrival) {
    case Arrival::poisson: return round_time(times_.exponential(mean));
    case Arrival::gamma: return round_time(times_.gamma(spec_.shape, mean));
    default: return round_time(mean);
    }
}

TraceEntry Arrivals::take() {
    TraceEntry entry{next_, 0, 0, 0};
    if (spec_.arrival == Arrival::trace) {
        entry = spec_.trace[read_++];
        entry.at += spec_.start;
        next_ = read_ < spec_.trace.size() ? spec_.start + spec_.trace[read_].at : never;
        return entry;
    }
    if (spec_.arrival == Arrival::bursts && --left_in_burst_ > 0) {
        next_ += spec_.spacing;
        return entry;
    }
    left_in_burst_ = spec_.burst;
    const bool regular = spec_.arrival == Arrival::periodic || spec_.arrival == Arrival::bursts;
    due_ += regular ? 1e9 / spec_.rate : static_cast<double>(interval());
    // The jitter moves each one; it doesn't add up.
    const double moved = regular && spec_.jitter > 0
                             ? spec_.jitter * (times_.uniform() - 0.5) * 1e9 / spec_.rate
                             : 0;
    next_ = std::max(next_, round_time(due_ + moved));
    return entry;
}

double Arrivals::draw_kernel() {
    const auto mean = static_cast<double>(spec_.kernel);
    if (spec_.exponential)
        return works_.exponential(mean);
    if (spec_.sigma <= 0)
        return mean;
    return works_.lognormal(mean * std::exp(-spec_.sigma * spec_.sigma / 2), spec_.sigma);
}

double Arrivals::draw_request() {
    if (spec_.sigma <= 0 && !spec_.exponential)
        return static_cast<double>(spec_.kernel) * spec_.kernels;
    double work = 0;
    for (std::uint32_t i = 0; i < spec_.kernels; ++i)
        work += draw_kernel();
    return work;
}

void Arrivals::draw_tokens(TraceEntry& entry) {
    const auto draw = [&](double median, double sigma) {
        const double tokens = works_.lognormal(median, sigma);
        return static_cast<std::uint32_t>(
            std::clamp(tokens, 1.0, static_cast<double>(spec_.serving.most_tokens)));
    };
    entry.context = draw(spec_.serving.context_median, spec_.serving.context_sigma);
    entry.generated = draw(spec_.serving.generated_median, spec_.serving.generated_sigma);
}

} // namespace sim
