// SPDX-License-Identifier: MIT
// Launching, waiting, suspending: the guarantees of an XQueue, on hardware that the test drives.
#include "xqueue/xqueue.hpp"

#include "unit/fake_hw_queue.hpp"
#include "unit/until.hpp"

#include <atomic>
#include <cerrno>
#include <chrono>
#include <gtest/gtest.h>
#include <memory>
#include <thread>
#include <vector>

namespace {

using test::FakeHardware;
using test::FakeHwQueue;
using test::until;
using xpreempt::xqueue::Command;
using xpreempt::xqueue::command_idempotent;
using xpreempt::xqueue::DeactivateMethod;
using xpreempt::xqueue::LaunchConfig;
using xpreempt::xqueue::Level;
using xpreempt::xqueue::XQueue;

int succeed(void*, void*) {
    return 0;
}
int refuse(void*, void*) {
    return -ENOSPC;
}
int count(void*, void* argument) {
    ++*static_cast<std::atomic<int>*>(argument);
    return 0;
}
constexpr Command nothing{succeed, nullptr};

class XQueueTest : public ::testing::Test {
protected:
    XQueue& make(LaunchConfig config = {4, 2, 8}, Level highest = Level::interrupt) {
        queue_ =
            std::make_unique<XQueue>(std::make_unique<FakeHwQueue>(hardware_), config, highest);
        return *queue_;
    }
    ~XQueueTest() override {
        hardware_.complete_all();
        queue_.reset();
    }

    FakeHardware hardware_;
    std::unique_ptr<XQueue> queue_;
};

TEST_F(XQueueTest, launches_inline_below_the_threshold_and_no_further) {
    XQueue& queue = make();
    for (int i = 0; i < 6; ++i)
        ASSERT_TRUE(queue.submit(nothing));
    EXPECT_EQ(4U, queue.statistics().launched_inline);
    EXPECT_EQ(4U, hardware_.launched());
    EXPECT_EQ(2U, queue.state().pending);
    EXPECT_EQ(4U, queue.state().in_flight);
}

TEST_F(XQueueTest, completion_makes_room_for_what_waits) {
    XQueue& queue = make();
    for (int i = 0; i < 6; ++i)
        ASSERT_TRUE(queue.submit(nothing));
    hardware_.complete(2);
    until([&] { return hardware_.launched() == 6; });
    hardware_.complete_all();
    EXPECT_TRUE(queue.wait_all());
    EXPECT_EQ(6U, queue.statistics().completed);
    EXPECT_EQ(0U, queue.state().in_flight);
}

TEST_F(XQueueTest, the_newest_failed_launch_is_reported_after_any_number) {
    XQueue& queue = make({4, 2, 2048});
    ASSERT_TRUE(queue.suspend({}));
    constexpr int more_than_are_kept = 1025;
    for (int i = 0; i < more_than_are_kept; ++i)
        ASSERT_TRUE(queue.submit({refuse, nullptr}));
    ASSERT_TRUE(queue.resume());
    ASSERT_TRUE(queue.wait_all());
    const auto waited = queue.wait(more_than_are_kept);
    ASSERT_FALSE(waited);
    EXPECT_EQ(ENOSPC, waited.error().errno_value);
}

TEST_F(XQueueTest, a_ticket_can_be_waited_for_after_its_submit) {
    XQueue& queue = make();
    const auto ticket = queue.submit(nothing);
    ASSERT_TRUE(ticket);
    hardware_.complete_all();
    EXPECT_TRUE(queue.wait(*ticket));
    EXPECT_TRUE(queue.wait(*ticket));
    EXPECT_EQ(EINVAL, queue.wait(0).error().errno_value);
    EXPECT_EQ(EINVAL, queue.wait(*ticket + 1).error().errno_value);
}

TEST_F(XQueueTest, waiting_needs_no_full_batch) {
    XQueue& queue = make({16, 8, 8});
    hardware_.complete_all();
    ASSERT_TRUE(queue.submit(nothing));
    EXPECT_TRUE(queue.wait_all());
    EXPECT_EQ(1U, queue.statistics().completed);
}

TEST_F(XQueueTest, nothing_is_launched_while_suspended) {
    XQueue& queue = make();
    const auto suspended = queue.suspend({});
    ASSERT_TRUE(suspended);
    EXPECT_EQ(Level::interrupt, *suspended);
    ASSERT_TRUE(queue.submit(nothing));
    EXPECT_EQ(0U, hardware_.launched());
    EXPECT_EQ(1U, queue.state().pending);
    ASSERT_TRUE(queue.resume());
    until([&] { return hardware_.launched() == 1; });
}

TEST_F(XQueueTest, suspends_are_counted) {
    XQueue& queue = make();
    ASSERT_TRUE(queue.suspend({}));
    ASSERT_TRUE(queue.suspend({}));
    ASSERT_TRUE(queue.resume());
    EXPECT_EQ(1U, queue.state().suspends);
    ASSERT_TRUE(queue.submit(nothing));
    EXPECT_EQ(0U, hardware_.launched());
    ASSERT_TRUE(queue.resume());
    EXPECT_EQ(ENOENT, queue.resume().error().errno_value);
    EXPECT_EQ((std::vector<std::string>{"interrupt", "start"}), hardware_.verbs());
}

TEST_F(XQueueTest, the_level_decides_the_verb) {
    XQueue& queue = make({4, 2, 8}, Level::deactivate);
    EXPECT_EQ(Level::deactivate, *queue.suspend({.exact = true}));
    ASSERT_TRUE(queue.resume());
    queue.limit_level(Level::block);
    EXPECT_EQ(Level::block, *queue.suspend({.exact = true}));
    ASSERT_TRUE(queue.resume());
    EXPECT_EQ((std::vector<std::string>{"deactivate", "start"}), hardware_.verbs());
}

TEST_F(XQueueTest, a_lower_level_is_told_or_refused_as_asked) {
    XQueue& queue = make();
    hardware_.best = {Level::block, DeactivateMethod::none, "told by the test"};
    EXPECT_EQ(EOPNOTSUPP, queue.suspend({.exact = true}).error().errno_value);
    EXPECT_EQ(0U, queue.state().suspends);
    const auto suspended = queue.suspend({});
    ASSERT_TRUE(suspended);
    EXPECT_EQ(Level::block, *suspended);
    EXPECT_TRUE(hardware_.verbs().empty());
}

TEST_F(XQueueTest, less_than_the_least_level_is_no_suspend) {
    XQueue& queue = make();
    hardware_.best = {Level::deactivate, DeactivateMethod::hardware, "told by the test"};
    EXPECT_EQ(EOPNOTSUPP, queue.suspend({.least = Level::interrupt}).error().errno_value);
    EXPECT_EQ(0U, queue.state().suspends);
    EXPECT_TRUE(hardware_.verbs().empty());
    EXPECT_EQ(Level::deactivate, *queue.suspend({.least = Level::deactivate}));
    EXPECT_EQ(EOPNOTSUPP, queue.suspend({.least = Level::interrupt}).error().errno_value);
    EXPECT_EQ(1U, queue.state().suspends); // the first stays
    ASSERT_TRUE(queue.resume());
    hardware_.best = {Level::interrupt, DeactivateMethod::hardware, "told by the test"};
    queue.limit_level(Level::block); // the owner allows no more
    EXPECT_EQ(EOPNOTSUPP, queue.suspend({.least = Level::deactivate}).error().errno_value);
    queue.limit_level(Level::interrupt);
    hardware_.stop_errno = EBUSY;
    EXPECT_EQ(EBUSY, queue.suspend({.least = Level::interrupt}).error().errno_value);
    EXPECT_EQ(0U, queue.state().suspends);
}

TEST_F(XQueueTest, a_stop_that_the_hardware_refuses_still_withholds_launches) {
    XQueue& queue = make();
    hardware_.stop_errno = EBUSY;
    const auto suspended = queue.suspend({});
    ASSERT_TRUE(suspended);
    EXPECT_EQ(Level::block, *suspended);
    ASSERT_TRUE(queue.submit(nothing));
    EXPECT_EQ(0U, hardware_.launched());
    ASSERT_TRUE(queue.resume()); // no start: it wasn't stopped
    EXPECT_EQ((std::vector<std::string>{"interrupt"}), hardware_.verbs());
    EXPECT_EQ(EBUSY, queue.suspend({.exact = true}).error().errno_value);
    EXPECT_EQ(0U, queue.state().suspends);
}

TEST_F(XQueueTest, a_waiter_of_a_suspended_queue_returns_after_the_resume) {
    XQueue& queue = make();
    hardware_.complete_all();
    ASSERT_TRUE(queue.suspend({}));
    const auto ticket = queue.submit(nothing);
    std::atomic<bool> returned = false;
    std::thread waiter([&] {
        EXPECT_TRUE(queue.wait(*ticket));
        returned = true;
    });
    EXPECT_FALSE(returned);
    ASSERT_TRUE(queue.resume());
    waiter.join();
    EXPECT_TRUE(returned);
}

TEST_F(XQueueTest, dropped_commands_are_never_launched_and_are_told_apart) {
    XQueue& queue = make();
    hardware_.complete_all();
    std::atomic<int> launches = 0;
    ASSERT_TRUE(queue.submit({count, &launches}));
    ASSERT_TRUE(queue.suspend({}));
    const auto dropped = queue.submit({count, &launches});
    ASSERT_TRUE(queue.submit({count, &launches}));
    EXPECT_EQ(2U, *queue.drop());
    EXPECT_EQ(0U, *queue.drop());
    ASSERT_TRUE(queue.resume());
    EXPECT_EQ(ECANCELED, queue.wait(*dropped).error().errno_value);
    EXPECT_TRUE(queue.wait_all());
    const auto next = queue.submit({count, &launches});
    EXPECT_TRUE(queue.wait(*next));
    EXPECT_EQ(2, launches);
    EXPECT_EQ(2U, queue.statistics().dropped);
}

TEST_F(XQueueTest, a_launch_that_fails_is_the_submitters_or_the_waiters_error) {
    XQueue& queue = make();
    hardware_.complete_all();
    EXPECT_EQ(ENOSPC, queue.submit({refuse, nullptr}).error().errno_value);
    ASSERT_TRUE(queue.suspend({}));
    const auto ticket = queue.submit({refuse, nullptr});
    ASSERT_TRUE(queue.resume());
    EXPECT_EQ(ENOSPC, queue.wait(*ticket).error().errno_value);
    EXPECT_EQ(2U, queue.statistics().launch_failures);
    EXPECT_TRUE(queue.wait_all());
}

TEST_F(XQueueTest, a_marker_that_cannot_be_placed_is_the_waiters_error) {
    XQueue& queue = make();
    hardware_.mark_errno = ENOMEM;
    const auto ticket = queue.submit(nothing);
    EXPECT_EQ(ENOMEM, queue.wait(*ticket).error().errno_value);
    hardware_.mark_errno = 0;
    hardware_.complete_all();
    EXPECT_TRUE(queue.wait(*ticket));
}

TEST_F(XQueueTest, configurations_that_cannot_work_are_refused) {
    XQueue& queue = make();
    EXPECT_EQ(EINVAL, queue.configure({2, 4, 8}).error().errno_value);
    EXPECT_EQ(EINVAL, queue.configure({4, 0, 8}).error().errno_value);
    EXPECT_EQ(EINVAL, queue.configure({4, 2, 0}).error().errno_value);
    EXPECT_EQ(4U, queue.config().threshold);
    EXPECT_TRUE(queue.configure({8, 8, 8}));
}

TEST_F(XQueueTest, submit_blocks_at_capacity_until_there_is_room) {
    XQueue& queue = make({1, 1, 2});
    for (int i = 0; i < 3; ++i)
        ASSERT_TRUE(queue.submit(nothing));
    std::atomic<bool> returned = false;
    std::thread submitter([&] {
        EXPECT_TRUE(queue.submit(nothing));
        returned = true;
    });
    EXPECT_FALSE(returned);
    hardware_.complete_all();
    submitter.join();
    EXPECT_TRUE(returned);
}

// Lv2 by taking back: what the hardware says didn't run is launched again, once, in order.
class RelaunchTest : public XQueueTest {
protected:
    // Six commands of which two are complete, in front of a queue that takes back from that ticket.
    XQueue& make_with_six_launched(xpreempt::xqueue::Ticket from) {
        XQueue& queue = make({8, 2, 64}, Level::deactivate);
        hardware_.best = {Level::deactivate, DeactivateMethod::flush, "told by the test"};
        hardware_.deactivated = {from, DeactivateMethod::flush};
        for (int i = 0; i < 6; ++i)
            EXPECT_TRUE(queue.submit({count, &calls_, command_idempotent}));
        hardware_.complete(2);
        EXPECT_TRUE(queue.wait(2));
        EXPECT_EQ(4U, queue.state().in_flight);
        return queue;
    }
    std::vector<xpreempt::xqueue::Ticket> launched_tickets() const {
        std::vector<xpreempt::xqueue::Ticket> tickets;
        for (const auto& launch : hardware_.launches())
            tickets.push_back(launch.ticket);
        return tickets;
    }
    std::atomic<int> calls_ = 0;
};
using Tickets = std::vector<xpreempt::xqueue::Ticket>;

TEST_F(RelaunchTest, what_was_taken_back_is_launched_again_after_the_resume) {
    XQueue& queue = make_with_six_launched(4);
    ASSERT_TRUE(queue.suspend({.exact = true}));
    EXPECT_EQ(DeactivateMethod::flush, queue.state().held_method);
    EXPECT_EQ(1U, queue.state().in_flight);
    EXPECT_EQ(3U, queue.state().pending);
    EXPECT_EQ(3U, queue.statistics().relaunched);
    hardware_.complete_all();
    EXPECT_TRUE(queue.wait(3)); // it runs on: the hardware isn't held
    EXPECT_EQ(6, calls_);
    ASSERT_TRUE(queue.resume());
    EXPECT_TRUE(queue.wait_all());
    EXPECT_EQ((Tickets{1, 2, 3, 4, 5, 6, 4, 5, 6}), launched_tickets());
    EXPECT_EQ(6U, queue.statistics().completed);
    EXPECT_EQ(0U, queue.state().in_flight);
}

TEST_F(RelaunchTest, the_hardware_is_told_tickets_flags_and_what_is_complete) {
    XQueue& queue = make_with_six_launched(3);
    ASSERT_TRUE(queue.suspend({}));
    ASSERT_TRUE(queue.resume());
    hardware_.complete_all();
    EXPECT_TRUE(queue.wait_all());
    const auto launches = hardware_.launches();
    EXPECT_EQ(command_idempotent, launches.back().command.flags);
    EXPECT_EQ(0U, launches.front().completed);
    EXPECT_EQ(2U, launches[6].completed);
}

TEST_F(RelaunchTest, what_completed_is_not_launched_again_whatever_the_hardware_says) {
    XQueue& queue = make_with_six_launched(1);
    ASSERT_TRUE(queue.suspend({}));
    EXPECT_EQ(4U, queue.state().pending);
    ASSERT_TRUE(queue.resume());
    hardware_.complete_all();
    EXPECT_TRUE(queue.wait_all());
    EXPECT_EQ((Tickets{1, 2, 3, 4, 5, 6, 3, 4, 5, 6}), launched_tickets());
}

TEST_F(RelaunchTest, a_marker_of_what_was_taken_back_completes_nothing) {
    XQueue& queue = make_with_six_launched(5);
    std::atomic<bool> returned = false;
    std::thread waiter([&] {
        EXPECT_TRUE(queue.wait(6));
        returned = true;
    });
    // The waiter's marker passes while the hardware takes its command back: the worst moment.
    hardware_.in_deactivate = [] { std::this_thread::sleep_for(std::chrono::milliseconds(20)); };
    ASSERT_TRUE(queue.suspend({}));
    EXPECT_EQ(2U, queue.statistics().completed);
    EXPECT_FALSE(returned);
    ASSERT_TRUE(queue.resume());
    until([&] { return hardware_.launched() == 8; });
    EXPECT_FALSE(returned);
    hardware_.complete_all();
    waiter.join();
    EXPECT_EQ(6U, queue.statistics().completed);
}

TEST_F(RelaunchTest, dropping_includes_what_was_taken_back) {
    XQueue& queue = make_with_six_launched(5);
    ASSERT_TRUE(queue.suspend({}));
    const auto new_one = queue.submit({count, &calls_});
    EXPECT_EQ(3U, *queue.drop());
    ASSERT_TRUE(queue.resume());
    hardware_.complete_all();
    EXPECT_TRUE(queue.wait(4));
    EXPECT_EQ(ECANCELED, queue.wait(5).error().errno_value);
    EXPECT_EQ(ECANCELED, queue.wait(6).error().errno_value);
    EXPECT_EQ(ECANCELED, queue.wait(*new_one).error().errno_value);
    EXPECT_TRUE(queue.wait_all());
    EXPECT_EQ(6, calls_);
    EXPECT_EQ(0U, queue.state().in_flight);
}

TEST_F(RelaunchTest, failed_and_dropped_commands_stay_so_when_their_neighbours_come_back) {
    XQueue& queue = make({8, 2, 2048}, Level::deactivate);
    hardware_.best = {Level::deactivate, DeactivateMethod::flush, ""};
    hardware_.deactivated = {1, DeactivateMethod::flush};
    ASSERT_TRUE(queue.submit({count, &calls_, command_idempotent})); // 1
    EXPECT_FALSE(queue.submit({refuse, nullptr}));                   // 2
    queue.limit_level(Level::block);
    ASSERT_TRUE(queue.suspend({}));
    for (int i = 0; i < 1000; ++i) // 3 to 1002: whole chunks
        ASSERT_TRUE(queue.submit({count, &calls_}));
    EXPECT_EQ(1000U, *queue.drop());
    ASSERT_TRUE(queue.resume());
    queue.limit_level(Level::deactivate);
    ASSERT_TRUE(queue.submit({count, &calls_, command_idempotent})); // 1003
    EXPECT_FALSE(queue.submit({refuse, nullptr}));                   // 1004
    ASSERT_TRUE(queue.suspend({}));
    EXPECT_EQ(2U, queue.state().pending);
    EXPECT_EQ(0U, queue.state().in_flight);
    ASSERT_TRUE(queue.resume());
    hardware_.complete_all();
    EXPECT_TRUE(queue.wait_all());
    EXPECT_TRUE(queue.wait(1004));
    EXPECT_EQ(ECANCELED, queue.wait(500).error().errno_value);
    EXPECT_EQ((Tickets{1, 1003, 1, 1003}), launched_tickets());
}

TEST_F(RelaunchTest, each_suspend_may_take_back_again) {
    XQueue& queue = make_with_six_launched(4);
    for (std::uint64_t round = 0; round < 5; ++round) {
        ASSERT_TRUE(queue.suspend({}));
        EXPECT_EQ(3U, queue.state().pending);
        ASSERT_TRUE(queue.resume());
        until([&] { return hardware_.launched() == 6 + 3 * (round + 1); });
        until([&] { return queue.state().in_flight == 4; });
    }
    hardware_.complete_all();
    EXPECT_TRUE(queue.wait_all());
    EXPECT_EQ(6U, queue.statistics().completed);
}

TEST_F(RelaunchTest, a_refused_deactivation_takes_nothing_back) {
    XQueue& queue = make_with_six_launched(4);
    hardware_.stop_errno = EBUSY;
    EXPECT_EQ(Level::block, *queue.suspend({}));
    EXPECT_EQ(4U, queue.state().in_flight);
    EXPECT_EQ(0U, queue.state().pending);
    ASSERT_TRUE(queue.resume());
}

TEST_F(XQueueTest, a_suspend_can_wait_for_what_was_launched) {
    XQueue& queue = make({4, 2, 8}, Level::block);
    std::atomic<int> launches = 0;
    for (int i = 0; i < 6; ++i)
        ASSERT_TRUE(queue.submit({count, &launches}));
    std::atomic<bool> returned = false;
    std::thread suspender([&] {
        EXPECT_TRUE(queue.suspend({.finish_launched = true}));
        EXPECT_EQ(0U, queue.state().in_flight);
        returned = true;
    });
    until([&] { return queue.state().suspends == 1; });
    EXPECT_FALSE(returned);
    hardware_.complete_all();
    suspender.join();
    EXPECT_EQ(4, launches);
    EXPECT_EQ(2U, queue.state().pending);
    ASSERT_TRUE(queue.resume());
    EXPECT_TRUE(queue.wait_all());
}

TEST_F(XQueueTest, a_suspend_can_first_wait_for_what_was_submitted) {
    XQueue& queue = make();
    std::atomic<int> launches = 0;
    for (int i = 0; i < 6; ++i)
        ASSERT_TRUE(queue.submit({count, &launches}));
    std::thread suspender([&] { EXPECT_TRUE(queue.suspend({.finish_submitted = true})); });
    EXPECT_EQ(0U, queue.state().suspends);
    hardware_.complete_all();
    suspender.join();
    EXPECT_EQ(6, launches);
    EXPECT_EQ(1U, queue.state().suspends);
    ASSERT_TRUE(queue.resume());
}

struct FromLaunch {
    XQueue* queue;
    int suspend_errno = 0, resume_errno = 0, wait_errno = 0;
    bool submitted = false;
};

int call_back(void*, void* argument) {
    auto& self = *static_cast<FromLaunch*>(argument);
    self.suspend_errno = self.queue->suspend({}).error().errno_value;
    self.resume_errno = self.queue->resume().error().errno_value;
    self.wait_errno = self.queue->wait(1).error().errno_value;
    self.submitted = self.queue->submit(nothing).has_value();
    return 0;
}

TEST_F(XQueueTest, a_launch_callback_may_submit_but_not_suspend_or_wait) {
    XQueue& queue = make();
    hardware_.complete_all();
    FromLaunch self{&queue};
    ASSERT_TRUE(queue.submit({call_back, &self}));
    EXPECT_EQ(EDEADLK, self.suspend_errno);
    EXPECT_EQ(EDEADLK, self.resume_errno);
    EXPECT_EQ(EDEADLK, self.wait_errno);
    EXPECT_TRUE(self.submitted);
    EXPECT_TRUE(queue.wait_all());
    EXPECT_EQ(2U, hardware_.launched());
}

TEST_F(XQueueTest, destruction_resumes_and_finishes_everything) {
    XQueue& queue = make();
    std::atomic<int> launches = 0;
    ASSERT_TRUE(queue.suspend({}));
    ASSERT_TRUE(queue.suspend({}));
    for (int i = 0; i < 5; ++i)
        ASSERT_TRUE(queue.submit({count, &launches}));
    hardware_.complete_all();
    queue_.reset();
    EXPECT_EQ(5, launches);
    EXPECT_EQ((std::vector<std::string>{"interrupt", "start"}), hardware_.verbs());
}

TEST_F(XQueueTest, a_command_is_over_at_the_latest_with_its_xqueue) {
    XQueue& queue = make();
    int ended = 0;
    hardware_.mark_errno = EIO; // its completion can't be noticed
    ASSERT_TRUE(
        queue.submit({succeed, &ended, 0, [](void* count) { ++*static_cast<int*>(count); }}));
    EXPECT_FALSE(queue.wait_all());
    EXPECT_EQ(0, ended);
    queue_.reset();
    EXPECT_EQ(1, ended);
}

// The guarantee that the whole library relies on: between the return of a suspend and the resume
// after it, no launch begins, whoever submits or waits meanwhile.
TEST_F(XQueueTest, a_suspend_never_leaks_a_launch) {
    XQueue& queue = make({4, 2, 64});
    hardware_.complete_all();
    constexpr int rounds = 20000;
    std::atomic<bool> stop = false;
    std::atomic<int> launches = 0;
    std::vector<std::thread> submitters;
    for (int i = 0; i < 2; ++i)
        submitters.emplace_back([&] {
            while (!stop)
                EXPECT_TRUE(queue.submit({count, &launches}));
        });
    std::thread waiter([&] {
        while (!stop)
            EXPECT_TRUE(queue.wait_all());
    });
    int leaked = 0;
    for (int round = 0; round < rounds; ++round) {
        EXPECT_TRUE(queue.suspend({}));
        const int before = launches;
        std::this_thread::yield();
        leaked += launches - before;
        EXPECT_TRUE(queue.resume());
    }
    stop = true;
    for (std::thread& submitter : submitters)
        submitter.join();
    waiter.join();
    EXPECT_EQ(0, leaked);
    EXPECT_TRUE(queue.wait_all());
    EXPECT_EQ(static_cast<std::uint64_t>(launches), hardware_.launched());
    EXPECT_EQ(queue.statistics().submitted, hardware_.launched());
}

class CountingObserver final : public xpreempt::xqueue::Observer {
public:
    void note(bool) noexcept override { ++notes_; }
    void note_hold() noexcept override { ++notes_; }
    void react() noexcept override {}
    [[nodiscard]] int notes() const { return notes_; }

private:
    std::atomic<int> notes_{0};
};

TEST_F(XQueueTest, an_observer_is_told_of_work_and_of_its_end_without_anybody_waiting) {
    XQueue& queue = make();
    const auto observer = std::make_shared<CountingObserver>();
    queue.observe(observer);
    ASSERT_TRUE(queue.submit(nothing));
    EXPECT_EQ(1, observer->notes());
    ASSERT_TRUE(queue.submit(nothing));
    EXPECT_EQ(1, observer->notes()); // there was work before
    hardware_.complete_all();
    until([&] { return observer->notes() == 2; });
    EXPECT_EQ(0U, queue.state().in_flight);
    ASSERT_TRUE(queue.suspend({}));
    EXPECT_EQ(3, observer->notes());
    ASSERT_TRUE(queue.submit(nothing));
    ASSERT_TRUE(queue.drop());
    EXPECT_EQ(5, observer->notes());
    queue.observe(nullptr);
    ASSERT_TRUE(queue.resume());
    EXPECT_EQ(5, observer->notes());
}

TEST_F(XQueueTest, an_observed_xqueue_launches_while_its_watcher_waits) {
    XQueue& queue = make();
    const auto observer = std::make_shared<CountingObserver>();
    queue.observe(observer);
    ASSERT_TRUE(queue.submit(nothing));
    ASSERT_TRUE(queue.suspend({}));
    ASSERT_TRUE(queue.submit(nothing)); // behind one that doesn't complete
    ASSERT_TRUE(queue.resume());
    until([&] { return queue.state().in_flight == 2; });
    queue.observe(nullptr);
}

} // namespace
