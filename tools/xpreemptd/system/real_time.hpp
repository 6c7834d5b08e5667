// SPDX-License-Identifier: MIT
// Real-time priority, and the limits that end a thread which spins with it.
#pragma once

#include <ctime>
#include <sys/resource.h>

namespace xpreemptd {

// Asks for SCHED_FIFO. A thread that then uses `longest_turn_us` of CPU without sleeping is ended
// by the kernel (SIGXCPU). Returns 0 or a positive errno: the thread keeps its priority.
[[nodiscard]] int become_real_time();

constexpr rlim_t longest_turn_us = 500'000;
// The driver gives up on firmware after 9 s, and resets the GPU.
constexpr rlim_t longest_call_us = 20'000'000;

// While the firmware takes queues off the GPU, the driver waits in a loop that counts as CPU time.
// While this lives, only longest_call_us ends the thread.
class LongCall {
public:
    LongCall();
    ~LongCall();
    LongCall(const LongCall&) = delete;
    LongCall& operator=(const LongCall&) = delete;
    LongCall(LongCall&&) = delete;
    LongCall& operator=(LongCall&&) = delete;

private:
    rlimit before_{};
    timespec began_{};
};

} // namespace xpreemptd
