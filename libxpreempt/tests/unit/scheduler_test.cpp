// SPDX-License-Identifier: MIT
// The scheduler on real xqueues and threads, on hardware that the test drives.
#include "sched/scheduler.hpp"

#include "sched/policies/highest_priority_first.hpp"

#include "unit/fake_hw_queue.hpp"
#include "unit/until.hpp"
#include "xqueue/xqueue.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <gtest/gtest.h>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

namespace {

using namespace std::chrono_literals;
using test::FakeHardware;
using test::FakeHwQueue;
using test::until;
using xpreempt::Op;
using xpreempt::Result;
using xpreempt::sched::by;
using xpreempt::sched::HighestPriorityFirst;
using xpreempt::sched::Scheduler;
using xpreempt::sched::Snapshot;
using xpreempt::sched::SourceName;
using xpreempt::sched::Time;
using xpreempt::sched::Verdict;
using xpreempt::xqueue::Command;
using xpreempt::xqueue::LaunchConfig;
using xpreempt::xqueue::Level;
using xpreempt::xqueue::Patience;
using xpreempt::xqueue::XQueue;

int succeed(void*, void*) {
    return 0;
}
constexpr Command nothing{succeed, nullptr};

// An xqueue whose starts fail while there is a start_errno.
class Refusing final : public xpreempt::xqueue::Source {
public:
    explicit Refusing(std::shared_ptr<XQueue> behind) : behind_(std::move(behind)) {}
    [[nodiscard]] bool has_work() const override { return behind_->has_work(); }
    [[nodiscard]] std::uint32_t holds() const override { return behind_->holds(); }
    [[nodiscard]] std::int32_t priority() const override { return behind_->priority(); }
    Result<bool> stop(Patience patience) override { return behind_->stop(patience); }
    void outlast() override { behind_->outlast(); }
    Result<void> start(Patience patience) override {
        const int error = start_errno;
        return error != 0 ? xpreempt::fail(error, Op::resume) : behind_->start(patience);
    }
    [[nodiscard]] std::vector<xpreempt::xqueue::QueueName> queues() const override {
        return behind_->queues();
    }
    void observe(std::shared_ptr<xpreempt::xqueue::Observer> observer) override {
        behind_->observe(std::move(observer));
    }

    std::atomic<int> start_errno{0};

private:
    const std::shared_ptr<XQueue> behind_;
};

struct Queue {
    explicit Queue(std::int32_t priority, LaunchConfig config = {4, 2, 64})
        : xqueue(std::make_shared<XQueue>(std::make_unique<FakeHwQueue>(hardware), config,
                                          Level::interrupt)) {
        xqueue->set_priority(priority);
    }
    ~Queue() {
        hardware.complete_all();
        source.reset();
        xqueue.reset();
    }
    Queue(const Queue&) = delete;
    Queue& operator=(const Queue&) = delete;
    Queue(Queue&&) = delete;
    Queue& operator=(Queue&&) = delete;
    [[nodiscard]] bool suspended() const { return xqueue->state().suspends > 0; }
    [[nodiscard]] bool stopped() const {
        const auto state = xqueue->state();
        return state.suspends > 0 && state.held_level == Level::interrupt;
    }
    void submit() const { EXPECT_TRUE(xqueue->submit(nothing)); }

    FakeHardware hardware; // outlives the xqueue
    std::shared_ptr<XQueue> xqueue;
    std::shared_ptr<Refusing> source = std::make_shared<Refusing>(xqueue);
};

// Ends with the scope.
class Running {
public:
    Running() = default;
    ~Running() { scheduler_->stop(); }
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;
    Running(Running&&) = delete;
    Running& operator=(Running&&) = delete;
    Scheduler* operator->() const { return scheduler_.get(); }

private:
    std::shared_ptr<Scheduler> scheduler_ = Scheduler::make(by(HighestPriorityFirst{}));
};

// A low queue that was stopped because of the work of a high one.
class StoppedTest : public testing::Test {
protected:
    void SetUp() override {
        (*scheduler)->add(low.source, 0);
        (*scheduler)->add(high.xqueue, 0);
        low.submit();
        high.submit();
        until([&] { return low.stopped(); });
    }
    Queue low{0}, high{1};
    std::optional<Running> scheduler{std::in_place};
};

TEST(SchedulerTest, work_of_a_high_priority_interrupts_a_low_one_until_it_is_complete) {
    Queue low(0), high(1);
    const Running scheduler;
    scheduler->add(low.xqueue, 1);
    scheduler->add(high.xqueue, 1);
    low.submit();
    high.submit();
    until([&] { return scheduler->statistics().suspends == 1; });
    EXPECT_TRUE(low.stopped());
    EXPECT_FALSE(high.suspended());
    low.submit(); // waits
    EXPECT_EQ(1U, low.hardware.launched());

    high.hardware.complete_all(); // no thread waits for it
    until([&] { return !low.suspended() && low.hardware.launched() == 2; });
    until([&] { return scheduler->statistics().resumes == 1; });
    EXPECT_EQ(1U, scheduler->statistics().suspends);
    EXPECT_GT(scheduler->statistics().last_reaction_ns, 0U);
    EXPECT_EQ(0U, low.hardware.launched_while_stopped());
}

// One after the other, a millisecond each: nothing happens but that time passes.
TEST(SchedulerTest, a_policy_is_called_again_at_the_time_that_it_returns) {
    Queue one(0), other(0);
    std::atomic<int> turns{0};
    const auto scheduler = Scheduler::make(
        [&](const Snapshot& snapshot, std::span<const SourceName>, std::span<Verdict> verdicts) {
            const int turn = ++turns;
            if (snapshot.jobs.size() == 2)
                verdicts[static_cast<std::size_t>(turn % 2)] = Verdict::hold;
            return snapshot.now + 1ms;
        });
    scheduler->add(one.xqueue, 0);
    scheduler->add(other.xqueue, 0);
    one.submit();
    other.submit();
    until([&] { return turns > 20; });
    scheduler->stop();
    const auto done = scheduler->statistics();
    EXPECT_GT(done.suspends, 5U);
    EXPECT_GT(done.resumes, 5U);
    EXPECT_FALSE(one.suspended() || other.suspended());
}

// Its policy holds every source while `holds`, and keeps the cost that it was shown last.
class SwitchCostTest : public testing::Test {
protected:
    void SetUp() override {
        queue.hardware.turn_time = slow;
        scheduler->add(queue.source, 0);
        queue.submit();
        change(false);
    }
    void TearDown() override { scheduler->stop(); }
    void change(bool hold) {
        holds = hold;
        scheduler->changed();
    }
    // One more call of the policy, which changes nothing.
    std::chrono::nanoseconds seen() {
        scheduler->changed();
        return cost.load();
    }

    static constexpr std::chrono::milliseconds slow{3};
    Queue queue{0};
    std::atomic<bool> holds{false};
    std::atomic<std::chrono::nanoseconds> cost{std::chrono::nanoseconds{-1}};
    std::shared_ptr<Scheduler> scheduler = Scheduler::make(
        [this](const Snapshot& snapshot, std::span<const SourceName>, std::span<Verdict> verdicts) {
            std::ranges::fill(verdicts, holds ? Verdict::hold : Verdict::run);
            cost = snapshot.switch_cost;
            return xpreempt::sched::at_next_event;
        });
};

TEST_F(SwitchCostTest, a_policy_reads_what_a_stop_and_a_resume_have_cost) {
    EXPECT_EQ(0ns, seen());
    // A stop that had to wait for a launch does not count: more than one may be needed.
    until([&] {
        change(true);
        change(false);
        return seen() >= 2 * slow;
    });
}

TEST_F(SwitchCostTest, a_resume_that_fails_is_no_measure) {
    change(true);
    until([&] { return scheduler->statistics().suspends == 1; });
    const auto before = seen();
    queue.source->start_errno = EBUSY;
    change(false);
    until([&] { return scheduler->statistics().failures > 1; });
    EXPECT_EQ(before, seen());
    queue.source->start_errno = 0;
}

TEST_F(SwitchCostTest, a_stop_of_what_another_owner_holds_is_no_measure) {
    ASSERT_TRUE(queue.xqueue->suspend({}));
    change(true);
    until([&] { return scheduler->statistics().suspends == 1; });
    EXPECT_EQ(0ns, seen());
}

TEST(SchedulerTest, a_policy_reads_the_attributes_of_a_source) {
    Queue one(7);
    std::mutex mutex;
    xpreempt::sched::JobView seen;
    const auto scheduler = Scheduler::make(
        [&](const Snapshot& snapshot, std::span<const SourceName>, std::span<Verdict>) {
            const std::lock_guard lock(mutex);
            if (!snapshot.jobs.empty())
                seen = snapshot.jobs.front();
            return xpreempt::sched::at_next_event;
        });
    scheduler->add(one.xqueue, 0);
    one.xqueue->set_attributes(
        {.weight = 300, .relative_deadline = 20ms, .utilization = 25, .lax = 3ms});
    scheduler->changed();
    {
        const std::lock_guard lock(mutex);
        EXPECT_EQ(7, seen.priority);
        EXPECT_EQ(300U, seen.weight);
        EXPECT_EQ(25U, seen.utilization);
        EXPECT_EQ(20ms, seen.relative_deadline);
        EXPECT_EQ(3ms, seen.lax);
    }
    one.xqueue->set_attributes({});
    scheduler->changed();
    {
        const std::lock_guard lock(mutex);
        EXPECT_EQ(xpreempt::sched::default_weight, seen.weight);
        EXPECT_EQ(xpreempt::sched::max_utilization, seen.utilization);
        EXPECT_EQ(xpreempt::sched::Duration::max(), seen.relative_deadline);
        EXPECT_EQ(xpreempt::sched::Duration::max(), seen.lax);
    }
    scheduler->stop();
}

TEST(SchedulerTest, a_time_that_has_passed_does_not_keep_the_thread_busy) {
    Queue one(0);
    std::atomic<unsigned> calls{0};
    const auto scheduler =
        Scheduler::make([&](const Snapshot&, std::span<const SourceName>, std::span<Verdict>) {
            ++calls;
            return Time{};
        });
    const auto begin = std::chrono::steady_clock::now();
    scheduler->add(one.xqueue, 0);
    until([&] { return calls > 20; });
    const auto passed = std::chrono::steady_clock::now() - begin;
    scheduler->stop();
    EXPECT_GE(passed, 18 * std::chrono::microseconds(50));
}

TEST(SchedulerTest, an_earlier_time_counts_that_another_thread_brings) {
    Queue one(0);
    std::atomic<bool> soon{false};
    std::atomic<int> calls{0};
    const auto scheduler = Scheduler::make(
        [&](const Snapshot& snapshot, std::span<const SourceName>, std::span<Verdict>) {
            ++calls;
            return soon ? snapshot.now + 1ms : snapshot.now + 1h;
        });
    scheduler->add(one.xqueue, 0);
    until([&] { return calls > 0; });
    soon = true;
    one.submit(); // decides in this thread
    const int before = calls;
    until([&] { return calls > before + 3; });
    scheduler->stop();
}

TEST(SchedulerTest, another_device_is_left_alone) {
    Queue low(0), high(1), elsewhere(-5);
    const Running scheduler;
    scheduler->add(high.xqueue, 7);
    scheduler->add(elsewhere.xqueue, 8);
    scheduler->add(low.xqueue, 7);
    elsewhere.submit();
    low.submit();
    high.submit();
    until([&] { return low.stopped(); });
    EXPECT_FALSE(elsewhere.suspended());
}

TEST(SchedulerTest, a_hint_takes_effect_at_once) {
    Queue one(0), other(0);
    const Running scheduler;
    scheduler->add(one.xqueue, 0);
    scheduler->add(other.xqueue, 0);
    one.submit();
    other.submit();
    one.xqueue->set_priority(3);
    scheduler->changed();
    until([&] { return other.stopped(); });
    other.xqueue->set_priority(4);
    scheduler->changed();
    until([&] { return one.stopped() && !other.suspended(); });
}

// No thread has to be woken: what is below has stopped when submit() returns.
TEST(SchedulerTest, who_brings_work_stops_what_is_below) {
    Queue low(0), high(1);
    const Running scheduler;
    scheduler->add(low.xqueue, 0);
    until([&] { return scheduler->statistics().decisions == 1; });
    scheduler->add(high.xqueue, 0);
    until([&] { return scheduler->statistics().decisions == 2; }); // its thread is out of the way
    low.submit();
    high.submit();
    EXPECT_TRUE(low.stopped());
    EXPECT_EQ(std::this_thread::get_id(), low.hardware.turned_by());
}

TEST_F(StoppedTest, what_is_below_launches_nothing_more) {
    high.hardware.complete_all();
    until([&] { return !low.suspended(); });
    low.hardware.complete_all();
    until([&] { return !low.xqueue->has_work(); });
    high.hardware.complete(0);
    const auto before = low.hardware.launched();
    high.submit();
    low.submit(); // the first of its work: until now it wasn't ready, and so not stopped
    EXPECT_TRUE(low.suspended());
    EXPECT_EQ(before, low.hardware.launched());
}

// A launch function that returns when the test says so.
class SlowLaunch {
public:
    [[nodiscard]] Command command() { return {launch, this}; }
    void wait_until_running() const {
        until([&] { return running_.load(); });
    }
    void end() { ended_ = true; }

private:
    static int launch(void*, void* argument) {
        auto& self = *static_cast<SlowLaunch*>(argument);
        self.running_ = true;
        while (!self.ended_)
            std::this_thread::yield();
        return 0;
    }
    std::atomic<bool> running_{false}, ended_{false};
};

TEST(SchedulerTest, who_brings_work_waits_for_no_launch) {
    Queue low(0), high(1);
    const Running scheduler;
    scheduler->add(low.xqueue, 0);
    scheduler->add(high.xqueue, 0);
    SlowLaunch slow;
    std::thread launching([&] { EXPECT_TRUE(low.xqueue->submit(slow.command())); });
    slow.wait_until_running();
    high.submit(); // returns
    until([&] { return low.stopped(); });
    slow.end();
    launching.join();
    high.hardware.complete_all();
    until([&] { return !low.suspended(); });
}

// To take commands back, a deactivation has to know which there are: the thread waits for that.
TEST(SchedulerTest, what_takes_patience_is_left_to_the_thread) {
    Queue low(0), high(1), lowest(-1);
    low.xqueue->limit_level(Level::deactivate);
    const Running scheduler;
    for (Queue* queue : {&low, &high, &lowest})
        scheduler->add(queue->xqueue, 0);
    SlowLaunch slow;
    std::thread launching([&] { EXPECT_TRUE(low.xqueue->submit(slow.command())); });
    slow.wait_until_running();
    high.submit();
    EXPECT_TRUE(low.hardware.verbs().empty());
    lowest.submit(); // and the rest continues meanwhile
    until([&] { return lowest.suspended(); });
    slow.end();
    launching.join();
    until([&] { return low.suspended() && low.hardware.stopped(); });
    EXPECT_EQ(0U, scheduler->statistics().failures);
}

TEST_F(StoppedTest, a_high_one_that_somebody_suspended_lets_the_low_one_run) {
    ASSERT_TRUE(high.xqueue->suspend({}));
    until([&] { return !low.suspended(); });
    ASSERT_TRUE(high.xqueue->resume());
    until([&] { return low.stopped(); });
}

TEST_F(StoppedTest, a_suspend_of_the_user_survives_the_scheduler) {
    ASSERT_TRUE(low.xqueue->suspend({}));
    high.hardware.complete_all();
    until([&] { return (*scheduler)->statistics().resumes == 1; });
    EXPECT_EQ(1U, low.xqueue->state().suspends);
    high.hardware.complete(0);
    scheduler.reset();
    EXPECT_EQ(1U, low.xqueue->state().suspends);
    EXPECT_TRUE(low.xqueue->resume());
}

TEST_F(StoppedTest, what_was_suspended_runs_when_the_scheduler_ends_or_the_high_one_leaves) {
    (*scheduler)->remove(*high.xqueue);
    until([&] { return !low.suspended(); });
    EXPECT_EQ(1U, (*scheduler)->size());
    (*scheduler)->add(high.xqueue, 0);
    until([&] { return low.stopped(); });
    (*scheduler)->remove(*low.source);
    EXPECT_FALSE(low.suspended());
    (*scheduler)->add(low.source, 0);
    until([&] { return low.stopped(); });
    scheduler.reset();
    EXPECT_FALSE(low.suspended());
}

TEST_F(StoppedTest, a_start_that_fails_is_tried_again) {
    low.source->start_errno = EIO;
    high.hardware.complete_all();
    until([&] { return (*scheduler)->statistics().failures > 0; });
    EXPECT_TRUE(low.suspended());
    low.source->start_errno = 0; // and no event comes
    until([&] { return !low.suspended(); });
}

TEST_F(StoppedTest, a_start_that_always_fails_is_tried_ever_more_seldom) {
    low.source->start_errno = EIO;
    // Not by completions, whose thread notifies the scheduler late: the pauses begin again then.
    (*scheduler)->remove(*high.xqueue);
    until([&] { return (*scheduler)->statistics().failures > 0; });
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    // At once, after 2, 6, 14 ... 126, 254 ms.
    EXPECT_LE((*scheduler)->statistics().failures, 10U);
    low.source->start_errno = 0;
}

// Threads that submit, hint, come and go; in the end everything has completed and nothing is held.
TEST(SchedulerTest, nothing_is_lost_under_load) {
    constexpr int num_queues = 4, num_commands = 2000;
    const Running scheduler;
    std::vector<std::thread> threads;
    std::atomic<std::uint64_t> launched{0};
    for (int number = 0; number < num_queues; ++number)
        threads.emplace_back([&, number] {
            Queue queue(number % 3);
            queue.hardware.complete_all();
            scheduler->add(queue.xqueue, 0);
            for (int command = 0; command < num_commands; ++command) {
                queue.submit();
                if (command % 100 == 99) {
                    queue.xqueue->set_priority(command / 100 % 3);
                    scheduler->changed();
                }
                if (command % 500 == 499) {
                    scheduler->remove(*queue.xqueue);
                    scheduler->add(queue.xqueue, 0);
                }
            }
            EXPECT_TRUE(queue.xqueue->wait_all());
            scheduler->remove(*queue.xqueue);
            EXPECT_FALSE(queue.suspended());
            launched += queue.hardware.launched();
        });
    for (std::thread& thread : threads)
        thread.join();
    EXPECT_EQ(std::uint64_t{num_queues * num_commands}, launched);
    EXPECT_EQ(0U, scheduler->size());
}

} // namespace
