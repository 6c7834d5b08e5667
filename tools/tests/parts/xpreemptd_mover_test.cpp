// SPDX-License-Identifier: MIT
// The thread that makes moves of memory.
#include "driver/mover.hpp"

#include <atomic>
#include <csignal>
#include <gtest/gtest.h>
#include <poll.h>
#include <vector>

namespace {

using xpreemptd::Change;
using xpreemptd::Move;
using xpreemptd::Mover;
using xpreemptd::Switch;

Move move_of(std::uint64_t id, pid_t pid) {
    return {id, {{Change::stop, pid, 1, 1}}};
}

bool has_some(const Mover& mover, int timeout_ms) {
    pollfd waits{mover.fd(), POLLIN, 0};
    return ::poll(&waits, 1, timeout_ms) == 1;
}

constexpr int long_ms = 30'000;

TEST(Mover, makes_moves_in_order_and_tells_their_results) {
    std::vector<pid_t> called; // read after the mover has told
    auto mover = Mover::start([&](std::span<Switch> switches) {
        called.push_back(switches[0].pid);
        switches[0].result = switches[0].pid;
    });
    ASSERT_TRUE(mover);
    EXPECT_FALSE(has_some(*mover, 0));
    std::vector<Move> done;
    for (std::uint64_t id = 1; id <= 3; ++id)
        mover->begin(move_of(id, static_cast<pid_t>(10 * id)));
    while (done.size() < 3) {
        ASSERT_TRUE(has_some(*mover, long_ms));
        for (Move& move : mover->take())
            done.push_back(std::move(move));
    }
    EXPECT_EQ(called, (std::vector<pid_t>{10, 20, 30}));
    EXPECT_EQ(done[2].id, 3U);
    EXPECT_EQ(done[2].switches[0].result, 30);
    EXPECT_FALSE(has_some(*mover, 0));
}

// A reload is a signal that ends a process which doesn't wait for it.
TEST(Mover, takes_no_signals) {
    std::atomic<bool> blocked = false;
    auto mover = Mover::start([&](std::span<Switch> /*switches*/) {
        sigset_t set;
        pthread_sigmask(SIG_SETMASK, nullptr, &set);
        blocked = sigismember(&set, SIGHUP) == 1 && sigismember(&set, SIGTERM) == 1;
    });
    ASSERT_TRUE(mover);
    mover->begin(move_of(1, 1));
    ASSERT_TRUE(has_some(*mover, long_ms));
    EXPECT_TRUE(blocked);
    sigset_t here;
    pthread_sigmask(SIG_SETMASK, nullptr, &here);
    EXPECT_EQ(sigismember(&here, SIGHUP), 0);
}

} // namespace
