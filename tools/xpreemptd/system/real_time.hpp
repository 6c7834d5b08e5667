// SPDX-License-Identifier: MIT
// Real-time priority, and the limits of a thread that spins with it.
#pragma once

#include <ctime>
#include <sys/resource.h>

namespace xpreemptd {

// Asks for SCHED_FIFO. Returns 0 or a positive errno: the thread keeps its priority. A thread that
// then uses `longest_turn_us` of CPU without sleeping has an ordinary priority from there on, by a
// handler of SIGXCPU: where memory is short, the kernel may need that time in any page fault, and
// the processes that it has killed need the CPU to end. SIGVTALRM ends a thread that then computes
// for `longest_end_s` without regain_real_time(); time in the kernel does not count, because a call
// may wait in it for a slow GPU.
[[nodiscard]] int become_real_time();
// Between turns. Returns true if the priority was lost.
bool regain_real_time();

constexpr rlim_t longest_turn_us = 500'000;
constexpr long longest_end_s = 2;
// The driver gives up on firmware after 9 s, and resets the GPU.
constexpr rlim_t longest_call_us = 20'000'000;

// While the firmware takes queues off the GPU, the driver waits in a loop that counts as CPU time.
// While this lives, only longest_call_us limits the thread.
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
