// SPDX-License-Identifier: MIT
// The limits of a real-time thread, which end one that spins: in child processes.
#include "system/real_time.hpp"

#include <csignal>
#include <ctime>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using namespace xpreemptd;

constexpr int no_right = 77;

// CPU time, as a wait in the driver is.
void spin_us(rlim_t us) {
    timespec time{};
    const auto used = [&] {
        ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
        return static_cast<rlim_t>(time.tv_sec * 1'000'000 + time.tv_nsec / 1000);
    };
    const rlim_t begin = used();
    while (used() - begin < us) {
    }
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

TEST(RealTime, spinning_is_ended) {
    const int status = status_of([] { spin_us(10 * longest_turn_us); });
    if (has_no_right(status))
        GTEST_SKIP() << "needs the right to real-time priority";
    EXPECT_TRUE(WIFSIGNALED(status));
    EXPECT_EQ(WTERMSIG(status), SIGXCPU);
}

TEST(RealTime, long_call_is_not_ended_and_spinning_after_it_is) {
    const int lived = status_of([] {
        for (int i = 0; i < 2; ++i) {
            {
                const LongCall call;
                spin_us(2 * longest_turn_us);
            }
            spin_us(longest_turn_us / 2); // counts from the call's end
        }
    });
    if (has_no_right(lived))
        GTEST_SKIP() << "needs the right to real-time priority";
    EXPECT_EQ(lived, 0);
    const int ended = status_of([] {
        {
            const LongCall call;
        }
        spin_us(10 * longest_turn_us);
    });
    EXPECT_TRUE(WIFSIGNALED(ended));
    EXPECT_EQ(WTERMSIG(ended), SIGXCPU);
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
