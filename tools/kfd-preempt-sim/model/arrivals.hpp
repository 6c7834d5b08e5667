// SPDX-License-Identifier: MIT
// When the requests of a job come, and how long their kernels run.
#pragma once

#include "kfd-preempt-sim/scenario.hpp"
#include "random.hpp"

namespace sim {

// Draws the same sequence for a job in every run: what the GPU does has no influence on it.
class Arrivals {
public:
    Arrivals(const JobSpec& spec, std::uint64_t seed);

    [[nodiscard]] Time next() const { return next_; } // never: no more, or a closed loop
    TraceEntry take();                                // the one at next()
    // The time of all kernels together.
    [[nodiscard]] double draw_request();
    [[nodiscard]] double draw_kernel();
    void draw_tokens(TraceEntry& entry);

private:
    Time interval();

    const JobSpec& spec_;
    Random times_, works_;
    double due_ = 0; // exact, where next_ is rounded
    Time next_ = never;
    std::uint32_t left_in_burst_ = 0;
    std::size_t read_ = 0; // of the trace
};

} // namespace sim
