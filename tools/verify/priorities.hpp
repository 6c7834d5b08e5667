// SPDX-License-Identifier: MIT
// Figures of two programs that share a GPU, for stage priorities: their table, and the verdict on
// counts.
#pragma once

#include "stage.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace verify {

// Counts of the low program: iterations of all of its waves, kernels launched and ended.
struct LowCounts {
    std::uint64_t iterations = 0, launched = 0, done = 0;
};

// A request of the high program: when it arrives, when the low program has been held back as its
// level does it, and when the last kernel of the request has signalled.
struct Request {
    LowCounts arrived, prepared, completed;
    std::uint64_t ns = 0; // without the time for counting
};

// By the daemon: the low program is a job of its band idle. By HPF: both are xqueues of one
// process, which libxpreempt schedules.
enum class Sharing : std::uint8_t {
    high_alone,
    low_alone,
    together,
    block,
    drain,
    interrupt,
    by_hpf,
    by_daemon
};

// Some requests in one way of sharing. No kernel is in flight at its begin and at its end.
struct Mode {
    Sharing sharing;
    std::string load;               // of the high program, "50 % busy", if it is not the usual one
    std::uint64_t high_request = 0; // iterations
    std::vector<Request> requests;
    LowCounts begin, end;
    std::uint64_t ns = 0;
    std::vector<std::uint64_t> low_ns; // from the end of a kernel to that of the next
    std::uint64_t stops = 0;           // that the driver has confirmed
};

struct Measured {
    // On the software GPU time means nothing: figures are iterations, of both programs together.
    bool counts = false;
    std::uint64_t low_kernel = 0; // iterations
    std::vector<Mode> modes;
    std::string hip;    // its version; empty: the programs call KFD
    std::string policy; // of xpreemptd; empty: there is no row of it

    // With the usual load; nullptr: not measured.
    [[nodiscard]] const Mode* find(Sharing sharing) const;
};

std::vector<std::uint64_t> high_latencies(const Measured& measured, const Mode& mode);

// Its head, and a row of each mode.
std::vector<std::string> table(const Measured& measured);
Json figures_of(const Measured& measured);
// Latency of requests in each way of sharing, as SVG: bars are p50, marks p99.
std::string picture(const Measured& measured);
// The same for times and counts.
void judge(const Measured& measured, Checks& checks);

} // namespace verify
