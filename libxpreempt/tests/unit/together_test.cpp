// SPDX-License-Identifier: MIT
// A decision about several sources is one call of the driver, whatever becomes of it.
#include "backend/together.hpp"

#include "backend/holds.hpp"
#include "sched/policy.hpp"
#include "sched/scheduler.hpp"
#include "unit/until.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <gtest/gtest.h>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace xpreempt;
using backend::Holds;
using backend::KfdTogether;
using backend::StopType;
using test::until;

constexpr std::uint32_t num_queues = 4;

hip::QueueRecord queue_of(std::uint32_t id) {
    hip::QueueRecord queue{};
    queue.kfd_queue_id = id;
    queue.generation = 1;
    return queue;
}

std::uint32_t tell_queues(hip::QueueRecord* out, std::uint32_t max) {
    for (std::uint32_t id = 1; id <= std::min(num_queues, max); ++id)
        out[id - 1] = queue_of(id);
    return num_queues;
}

// Each call of the driver in brackets: what it stopped and started.
class Driver final : public backend::Transport {
public:
    [[nodiscard]] backend::TransportKind kind() const override {
        return backend::TransportKind::patched;
    }
    [[nodiscard]] bool can(StopType) const override { return true; }
    Result<void> stop(const hip::QueueRecord& queue, StopType type) override {
        return switch_all({&queue, 1}, type, {}).stopped.front();
    }
    Result<void> start(const hip::QueueRecord& queue) override {
        return switch_all({}, StopType::save, {&queue, 1}).started.front();
    }
    Switched switch_all(std::span<const hip::QueueRecord> to_stop, StopType,
                        std::span<const hip::QueueRecord> to_start) override {
        Switched switched;
        if (to_stop.empty() && to_start.empty())
            return switched;
        std::this_thread::sleep_for(takes.load());
        const std::lock_guard lock(mutex_);
        calls_ += '[';
        for (const hip::QueueRecord& queue : to_stop)
            switched.stopped.push_back(note('-', queue.kfd_queue_id));
        for (const hip::QueueRecord& queue : to_start)
            switched.started.push_back(note('+', queue.kfd_queue_id));
        calls_ += ']';
        return switched;
    }
    // And forgets them.
    std::string calls() {
        const std::lock_guard lock(mutex_);
        return std::exchange(calls_, "");
    }

    std::atomic<std::uint32_t> refuses{0};
    std::atomic<std::chrono::milliseconds> takes{}; // each call

private:
    Result<void> note(char what, std::uint32_t id) {
        calls_ += what + std::to_string(id);
        return id == refuses ? fail(EBUSY, Op::switch_queues, id) : Result<void>{};
    }
    std::mutex mutex_;
    std::string calls_;
};

// One hold of a queue of its own, as a stream has it.
class Stream final : public xqueue::Source {
public:
    Stream(Holds& hardware, std::uint32_t id, std::int32_t priority)
        : hardware_(hardware), queue_(queue_of(id)), priority_(priority) {}
    [[nodiscard]] bool has_work() const override { return work; }
    [[nodiscard]] std::uint32_t holds() const override { return held_; }
    [[nodiscard]] std::int32_t priority() const override { return priority_; }
    Result<bool> stop(xqueue::Patience) override {
        if (const auto held = hardware_.hold(queue_, StopType::save, {this, this}); !held)
            return tl::make_unexpected(held.error());
        ++held_;
        return true;
    }
    void outlast() override {}
    Result<void> start(xqueue::Patience) override {
        hardware_.release(queue_, {this, this});
        --held_;
        return {};
    }
    [[nodiscard]] std::vector<xqueue::QueueName> queues() const override {
        return backend::names_of({queue_});
    }
    void observe(std::shared_ptr<xqueue::Observer>) override {}
    void set_priority(std::int32_t priority) { priority_ = priority; }

    std::atomic<bool> work{false};

private:
    Holds& hardware_;
    hip::QueueRecord queue_;
    std::atomic<std::uint32_t> held_{0};
    std::atomic<std::int32_t> priority_;
};

// Streams 1 to 3 have priorities 0, 0, 1, and 4 has 2.
class TogetherTest : public ::testing::Test {
protected:
    void SetUp() override {
        table.bytes = sizeof table;
        table.queues = tell_queues;
        for (std::uint32_t id = 1; id <= num_queues; ++id) {
            const std::int32_t priority = id < 3 ? 0 : static_cast<std::int32_t>(id) - 2;
            streams.push_back(std::make_shared<Stream>(holds, id, priority));
            scheduler->add(streams.back(), 0);
            // Its thread has seen it, and is out of the way.
            until([&] { return scheduler->statistics().decisions == id; });
        }
    }
    void TearDown() override { scheduler->stop(); }
    void work(std::initializer_list<std::uint32_t> ids) {
        for (std::uint32_t id = 1; id <= num_queues; ++id)
            streams[id - 1]->work = std::ranges::find(ids, id) != ids.end();
        scheduler->changed();
    }

    hook::Table table{};
    hip::Mapping mapping{&table};
    Driver driver;
    Holds holds{driver};
    KfdTogether together{mapping, holds};
    std::atomic<sched::Duration> cost{}; // as the policy saw it last
    std::shared_ptr<sched::Scheduler> scheduler = sched::Scheduler::make(
        [this, policy = sched::Policy{sched::HighestPriorityFirst({sched::Duration{0}})}](
            const sched::Snapshot& snapshot, std::span<const sched::SourceName>,
            std::span<sched::Verdict> verdicts) mutable {
            cost = snapshot.switch_cost;
            return sched::decide(policy, snapshot, verdicts);
        },
        &together);
    std::vector<std::shared_ptr<Stream>> streams;
};

TEST_F(TogetherTest, what_stops_and_what_starts_is_one_call) {
    work({1, 2, 3});
    EXPECT_EQ("[-1-2]", driver.calls());
    work({1, 2, 3, 4});
    EXPECT_EQ("[-3]", driver.calls());
    work({1, 2, 3});
    EXPECT_EQ("[+3]", driver.calls());
    work({1, 2});
    EXPECT_EQ("[+1+2]", driver.calls());
    EXPECT_FALSE(holds.any());
}

TEST_F(TogetherTest, so_it_is_where_some_stop_and_others_start) {
    work({1, 2, 3});
    driver.calls();
    streams[0]->set_priority(7);
    scheduler->changed();
    EXPECT_EQ("[-3+1]", driver.calls());
    work({});
    EXPECT_EQ("[+2+3]", driver.calls());
    EXPECT_FALSE(holds.any());
}

// A source whose queue the common call has stopped already is no switch that costs nothing.
TEST_F(TogetherTest, the_cost_of_a_switch_is_that_of_the_call) {
    constexpr std::chrono::milliseconds slow{2};
    driver.takes = slow;
    work({1, 2, 3});
    work({1, 2});
    work({1, 2, 3});
    work({1, 2});
    EXPECT_GE(cost.load(), 2 * slow);
}

TEST_F(TogetherTest, what_was_refused_is_tried_alone_and_again) {
    driver.refuses = 2;
    work({1, 2, 4});
    EXPECT_TRUE(driver.calls().starts_with("[-1-2][-2]"));
    EXPECT_EQ(1U, streams[0]->holds());
    driver.refuses = 0;
    until([&] { return streams[1]->holds() == 1; });
    driver.calls();
    driver.refuses = 1;
    work({1, 2});
    EXPECT_EQ(0U, streams[0]->holds()); // but the queue isn't on yet
    EXPECT_TRUE(holds.any());
    EXPECT_FALSE(holds.retry());
    driver.refuses = 0;
    EXPECT_TRUE(holds.retry());
    EXPECT_FALSE(holds.any());
}

// The scheduler doesn't release the hold of another owner, and doesn't stop a lifted queue.
TEST_F(TogetherTest, the_holds_of_others_count) {
    int other = 0;
    work({1, 2, 4});
    driver.calls();
    ASSERT_TRUE(holds.hold(queue_of(1), StopType::save, &other));
    work({1, 2});
    EXPECT_EQ("[+2]", driver.calls());
    holds.lift(queue_of(2));
    work({1, 2, 4});
    EXPECT_EQ("", driver.calls()); // 1 is stopped already, 2 is lifted
    EXPECT_EQ(1U, holds.count(hip::ref_of(queue_of(2))));
    holds.drop_lift(hip::ref_of(queue_of(2)));
    EXPECT_EQ("[-2]", driver.calls());
    work({});
    EXPECT_EQ("[+2]", driver.calls());
    holds.release(queue_of(1), &other);
}

} // namespace
