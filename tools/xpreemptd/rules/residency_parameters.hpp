// SPDX-License-Identifier: MIT
// How long memory of jobs that take turns stays in VRAM.
#pragma once

#include <chrono>

namespace xpreemptd {

struct ResidencyParameters {
    unsigned stay = 10; // times MemoryView::last_moves, in VRAM
    std::chrono::nanoseconds least_stay =
        std::chrono::seconds{1};                              // also of a job that has never moved
    std::chrono::nanoseconds retry = std::chrono::seconds{1}; // after a move that failed
    std::chrono::nanoseconds longest_wait = std::chrono::minutes{10}; // of an allocation
    // By then a scan has found the jobs, queues and bytes that came just before an allocation;
    // sooner none is given up.
    std::chrono::nanoseconds known_after = std::chrono::milliseconds{500};
    bool operator==(const ResidencyParameters&) const = default;
};

} // namespace xpreemptd
