// SPDX-License-Identifier: MIT
// Direct calls of one stream, with a queue that the test drives.
#include "backend/direct_calls.hpp"

#include "unit/until.hpp"

#include <atomic>
#include <cerrno>
#include <gtest/gtest.h>
#include <memory>
#include <pthread.h>
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

class PassedMarker final : public xpreempt::xqueue::Marker {
public:
    explicit PassedMarker(std::atomic<int>& waits) : waits_(waits) {}
    bool passed() override { return true; }
    xpreempt::Result<void> wait() override {
        ++waits_;
        return {};
    }

private:
    std::atomic<int>& waits_;
};

TEST(DirectCalls, a_call_waits_for_as_many_markers_as_a_lower_threshold_needs) {
    std::atomic<int> waits = 0;
    const auto calls = std::make_shared<DirectCalls>(
        [&waits] { return std::make_shared<PassedMarker>(waits); }, [](bool) {});
    calls->pace(3, 1);
    for (int i = 0; i < 3; ++i)
        call(*calls);
    EXPECT_EQ(0, waits);
    calls->pace(1, 1);
    call(*calls);
    EXPECT_EQ(3, waits);
    EXPECT_EQ(0U, calls->waiters());
}

// A scheduler calls functions of the program.
class CancelledObserver final : public xpreempt::xqueue::Observer {
public:
    void note(bool) noexcept override { ++notes; }
    void react() noexcept override { pthread_testcancel(); }
    void note_hold() noexcept override {}
    std::atomic<int> notes = 0;
};

TEST(DirectCalls, no_reaction_is_a_cancellation_point) {
    std::atomic<int> waits = 0;
    const auto calls = std::make_shared<DirectCalls>(
        [&waits] { return std::make_shared<PassedMarker>(waits); }, [](bool) {});
    const auto observer = std::make_shared<CancelledObserver>();
    calls->observe(observer);
    until([&] { return observer->notes == 1; }); // of the end of what came before
    bool called = false;
    std::thread([&] {
        pthread_cancel(pthread_self());
        calls->before(true);
        called = true;
        calls->after();
    }).join();
    EXPECT_TRUE(called);
    calls->observe(nullptr);
    calls->join();
}

// HIP keeps the null stream at a reset, and its calls can be held back as before.
TEST(DirectStreams, a_stream_that_a_reset_keeps_is_withheld_as_before) {
    xpreempt::backend::DirectStreams streams;
    char keys[2];
    const auto no_marker = [] { return xpreempt::fail(ENOTSUP, xpreempt::Op::call_hip); };
    const auto kept = streams.of(&keys[0], no_marker);
    const auto destroyed = streams.of(&keys[1], no_marker);
    const auto asked = streams.begin_reset([](const void* /*key*/) { return true; });
    streams.end_reset(asked, [&](const void* key) { return key == &keys[1]; });
    EXPECT_EQ(kept, streams.find(&keys[0]));
    EXPECT_EQ(nullptr, streams.find(&keys[1]));
    CountingStopper queue;
    kept->withhold(&queue);
    call(*kept);
    EXPECT_EQ(1, queue.stops);
    kept->admit();
    CountingStopper gone;
    destroyed->withhold(&gone);
    call(*destroyed);
    EXPECT_EQ(0, gone.stops);
    destroyed->admit();
}

} // namespace
