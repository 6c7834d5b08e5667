// SPDX-License-Identifier: MIT
// RLIMIT_RTTIME: CPU time of a real-time thread since it last slept.
#include "system/real_time.hpp"

#include <cerrno>
#include <csignal>
#include <ctime>
#include <sched.h>
#include <sys/time.h>

namespace xpreemptd {

namespace {

constexpr rlimit limit{longest_turn_us, longest_call_us};
constexpr sched_param lowest{.sched_priority = 1};

volatile std::sig_atomic_t lost = 0;

// In CPU time of the program itself, because the machine, or its GPU, may be slow.
void end_after(long seconds) {
    const itimerval timer{{0, 0}, {seconds, 0}};
    ::setitimer(ITIMER_VIRTUAL, &timer, nullptr);
}

void on_long_turn(int /*signal*/) {
    const int saved = errno;
    const sched_param none{};
    ::sched_setscheduler(0, SCHED_OTHER, &none);
    end_after(longest_end_s);
    lost = 1;
    errno = saved;
}

// RLIMIT_RTTIME counts from the end of a sleep. A shorter one may end before the thread is taken
// off its CPU.
void sleep_for_a_moment() {
    const timespec moment{0, 1'000'000};
    ::clock_nanosleep(CLOCK_MONOTONIC, 0, &moment, nullptr);
}

} // namespace

int become_real_time() {
    struct sigaction action{};
    action.sa_handler = on_long_turn;
    action.sa_flags = SA_RESTART;
    if (::sigaction(SIGXCPU, &action, nullptr) != 0 || ::setrlimit(RLIMIT_RTTIME, &limit) != 0)
        return errno;
    return ::sched_setscheduler(0, SCHED_FIFO, &lowest) == 0 ? 0 : errno;
}

bool regain_real_time() {
    if (lost == 0)
        return false;
    lost = 0;
    end_after(0);
    // The kernel has raised the limit by a second when it sent the signal.
    ::sched_setscheduler(0, SCHED_FIFO, &lowest);
    sleep_for_a_moment();
    ::setrlimit(RLIMIT_RTTIME, &limit);
    return true;
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
    constexpr long us_of_s = 1'000'000, ns_of_us = 1000, short_us = longest_turn_us / 10;
    if ((now.tv_sec - began_.tv_sec) * us_of_s + (now.tv_nsec - began_.tv_nsec) / ns_of_us >
        short_us)
        sleep_for_a_moment();
    ::setrlimit(RLIMIT_RTTIME, &before_);
}

} // namespace xpreemptd
