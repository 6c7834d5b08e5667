// SPDX-License-Identifier: MIT
// Direct calls of one stream, with a queue that the test drives.
#include "backend/direct_calls.hpp"

#include "unit/until.hpp"

#include <atomic>
#include <cerrno>
#include <gtest/gtest.h>
#include <memory>
#include <thread>

namespace {

using test::until;
using xpreempt::backend::DirectCalls;

class CountingStopper final : public DirectCalls::Stopper {
public:
    bool stop() override {
        ++stops;
        return true;
    }
    void start() override { ++starts; }
    int stops = 0, starts = 0;
};

std::shared_ptr<DirectCalls> make_calls() {
    return std::make_shared<DirectCalls>(
        [] { return xpreempt::fail(ENOTSUP, xpreempt::Op::call_hip); }, [](bool) {});
}

void call(DirectCalls& calls) {
    calls.before(true);
    calls.after();
}

TEST(DirectCalls, the_withholding_thread_stops_the_queue_with_its_first_call) {
    CountingStopper queue;
    const auto calls = make_calls();
    calls->withhold(&queue);
    call(*calls);
    call(*calls);
    EXPECT_EQ(1, queue.stops);
    EXPECT_EQ(0, queue.starts);
    calls->admit();
    EXPECT_EQ(1, queue.starts);
}

TEST(DirectCalls, a_stopper_is_not_used_after_its_admit) {
    CountingStopper queue;
    const auto calls = make_calls();
    calls->withhold(&queue);
    call(*calls);
    calls->admit();
    calls->withhold();
    std::atomic<bool> called = false;
    std::thread admitter([&] {
        until([&] { return called || calls->waiters() == 1; });
        calls->admit();
    });
    call(*calls);
    called = true;
    admitter.join();
    EXPECT_EQ(1, queue.stops);
    EXPECT_EQ(1, queue.starts);
}

} // namespace
