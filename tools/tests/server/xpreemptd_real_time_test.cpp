// SPDX-License-Identifier: MIT
// The limits of a real-time thread, which take its priority if it spins: in child processes.
#include "system/real_time.hpp"

#include <array>
#include <csignal>
#include <ctime>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using namespace xpreemptd;

constexpr int no_right = 77;

constexpr auto compute = [] {
    [[maybe_unused]] volatile int seen = 0;
    for (int i = 0; i < 10'000; ++i)
        seen = i;
};

// CPU time, with that in a loop.
template <typename Work> void spin_us(rlim_t us, Work work) {
    timespec time{};
    const auto used = [&] {
        ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
        return static_cast<rlim_t>(time.tv_sec * 1'000'000 + time.tv_nsec / 1000);
    };
    const rlim_t begin = used();
    while (used() - begin < us)
        work();
}

void spin_us(rlim_t us) {
    spin_us(us, compute);
}

// Nearly all of it in the kernel, as a wait in the driver is.
void spin_in_kernel_us(rlim_t us) {
    std::array<char, 1 << 20> bytes{};
    const int zeroes = ::open("/dev/zero", O_RDONLY | O_CLOEXEC);
    spin_us(us, [&] {
        for (int i = 0; i < 64; ++i)
            if (::read(zeroes, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()))
                ::_exit(3);
    });
}

// How it ended, as of waitpid().
template <typename Body> int status_of(Body body) {
    const pid_t pid = ::fork();
    if (pid == 0) {
        const rlimit no_core{0, 0};
        ::setrlimit(RLIMIT_CORE, &no_core);
        if (become_real_time() != 0)
            ::_exit(no_right);
        body();
        ::_exit(0);
    }
    int status = 0;
    ::waitpid(pid, &status, 0);
    return status;
}

bool has_no_right(int status) {
    return WIFEXITED(status) && WEXITSTATUS(status) == no_right;
}

bool is_real_time() {
    return ::sched_getscheduler(0) == SCHED_FIFO;
}

// Memory may be short: the kernel needs the time, and killed processes need the CPU.
TEST(RealTime, long_turn_ends_without_the_priority_and_the_next_one_has_it) {
    const int status = status_of([] {
        for (int turn = 0; turn < 2; ++turn) {
            spin_us(longest_turn_us / 2);
            if (!is_real_time() || regain_real_time())
                ::_exit(1);
            spin_us(longest_turn_us);
            if (is_real_time() || !regain_real_time() || !is_real_time())
                ::_exit(2);
        }
    });
    if (has_no_right(status))
        GTEST_SKIP() << "needs the right to real-time priority";
    EXPECT_EQ(status, 0);
}

TEST(RealTime, spinning_is_ended) {
    const int status = status_of([] { spin_us(20'000'000); });
    if (has_no_right(status))
        GTEST_SKIP() << "needs the right to real-time priority";
    EXPECT_TRUE(WIFSIGNALED(status));
    EXPECT_EQ(WTERMSIG(status), SIGVTALRM);
}

// A call about many queues of a slow GPU, and the next one, in a turn that has lost the priority.
TEST(RealTime, time_in_the_kernel_ends_no_turn) {
    const int status = status_of([] {
        spin_us(2 * longest_turn_us);
        spin_in_kernel_us((longest_end_s + 1) * 1'000'000);
        if (!regain_real_time())
            ::_exit(1);
    });
    if (has_no_right(status))
        GTEST_SKIP() << "needs the right to real-time priority";
    EXPECT_EQ(status, 0);
}

TEST(RealTime, long_call_keeps_the_priority_and_spinning_after_it_does_not) {
    const int kept = status_of([] {
        for (int i = 0; i < 2; ++i) {
            {
                const LongCall call;
                spin_us(2 * longest_turn_us);
            }
            spin_us(longest_turn_us / 2); // counts from the call's end
        }
        if (!is_real_time())
            ::_exit(1);
    });
    if (has_no_right(kept))
        GTEST_SKIP() << "needs the right to real-time priority";
    EXPECT_EQ(kept, 0);
    const int lost = status_of([] {
        {
            const LongCall call;
        }
        spin_us(2 * longest_turn_us);
        if (is_real_time())
            ::_exit(1);
    });
    EXPECT_EQ(lost, 0);
}

TEST(RealTime, long_call_changes_nothing_without_limits) {
    rlimit before{}, after{};
    ASSERT_EQ(::getrlimit(RLIMIT_RTTIME, &before), 0);
    {
        const LongCall call;
    }
    ASSERT_EQ(::getrlimit(RLIMIT_RTTIME, &after), 0);
    EXPECT_EQ(before.rlim_cur, after.rlim_cur);
    EXPECT_EQ(before.rlim_max, after.rlim_max);
}

} // namespace
