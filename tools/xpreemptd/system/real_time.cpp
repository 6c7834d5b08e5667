// SPDX-License-Identifier: MIT
// RLIMIT_RTTIME: CPU time of a real-time thread since it last slept.
#include "system/real_time.hpp"

#include <cerrno>
#include <ctime>
#include <sched.h>

namespace xpreemptd {

int become_real_time() {
    const rlimit limit{longest_turn_us, longest_call_us};
    if (::setrlimit(RLIMIT_RTTIME, &limit) != 0)
        return errno;
    const sched_param lowest{.sched_priority = 1};
    return ::sched_setscheduler(0, SCHED_FIFO, &lowest) == 0 ? 0 : errno;
}

LongCall::LongCall() {
    if (::getrlimit(RLIMIT_RTTIME, &before_) != 0 || before_.rlim_cur == before_.rlim_max)
        return;
    const rlimit raised{before_.rlim_max, before_.rlim_max};
    ::setrlimit(RLIMIT_RTTIME, &raised);
    ::clock_gettime(CLOCK_MONOTONIC, &began_);
}

LongCall::~LongCall() {
    if (before_.rlim_cur == before_.rlim_max)
        return;
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    // RLIMIT_RTTIME counts the CPU time of the call until the thread sleeps.
    constexpr long us_of_s = 1'000'000, ns_of_us = 1000, short_us = longest_turn_us / 10;
    if ((now.tv_sec - began_.tv_sec) * us_of_s + (now.tv_nsec - began_.tv_nsec) / ns_of_us >
        short_us) {
        // A shorter sleep may end before the thread is taken off its CPU.
        const timespec moment{0, 1000 * ns_of_us};
        ::clock_nanosleep(CLOCK_MONOTONIC, 0, &moment, nullptr);
    }
    ::setrlimit(RLIMIT_RTTIME, &before_);
}

} // namespace xpreemptd
