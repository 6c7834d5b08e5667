// SPDX-License-Identifier: MIT
// The queues in memory answer as the driver does: the table that the guest checks.
#include "fake_provider.hpp"

#include <gtest/gtest.h>
#include <tests/driver_answers.h>

namespace {

using namespace std::chrono_literals;
using test::Change;
using test::FakeProvider;
using test::Switch;

constexpr pid_t owner = 10, gone = 11;

struct Driver {
    Driver() { gpu.create_queue(owner, 1); }
    FakeProvider::Queue& queue() { return gpu.running.at(owner).queues.at(1); }

    int change(Change what, pid_t of = owner, std::uint32_t id = 1, std::uint64_t wrong = 0) {
        Switch one[] = {{what, of, id, queue().uid + wrong}};
        EXPECT_TRUE(gpu.change(one));
        held_by_others = one[0].held_by_others;
        return one[0].result;
    }
    void stop_late() {
        gpu.refuse = [](const Switch&) { return ETIME; };
    }
    void bring_to(driver_state state) {
        if (state == QUEUE_STOPS_LATE || state == QUEUE_PENDING)
            stop_late();
        if (state == QUEUE_PENDING) {
            EXPECT_EQ(ETIME, change(Change::stop));
            gpu.refuse = [](const Switch&) { return 0; };
        }
        if (state == QUEUE_HELD || state == QUEUE_HELD_BY_BOTH) {
            EXPECT_EQ(0, change(Change::stop));
        }
        gpu.running.at(owner).locked = state == PROCESS_LOCKED;
        queue().held_by_other = state == QUEUE_HELD_BY_OTHER || state == QUEUE_HELD_BY_BOTH;
    }
    int answer_to(const driver_answer& row) {
        const Change what = row.call == CALL_STOP ? Change::stop : Change::start;
        return change(what, row.state == PROCESS_GONE ? gone : owner,
                      row.state == QUEUE_UNKNOWN ? 77 : 1, row.state == QUEUE_REPLACED ? 1 : 0);
    }

    FakeProvider gpu;
    bool held_by_others = false;
};

TEST(FakeProviderTest, answers_as_the_driver) {
    int rows = 0;
    for (const driver_answer& row : driver_answers) {
        if (row.call < CALL_STOP)
            continue; // of the process itself
        Driver driver;
        driver.bring_to(row.state);
        EXPECT_EQ(row.error, driver.answer_to(row)) << row.name;
        EXPECT_EQ(row.stopped != 0, driver.queue().held || driver.queue().held_by_other)
            << row.name;
        EXPECT_EQ(row.state == QUEUE_HELD_BY_BOTH, driver.held_by_others) << row.name;
        ++rows;
    }
    EXPECT_EQ(18, rows);
}

TEST(FakeProviderTest, a_late_stop_is_confirmed_at_last) {
    Driver driver;
    driver.bring_to(QUEUE_PENDING);
    EXPECT_EQ(EBUSY, driver.change(Change::start));
    driver.gpu.now += driver.gpu.late_by;
    EXPECT_EQ(0, driver.change(Change::start));
    EXPECT_FALSE(driver.queue().held);
}

TEST(FakeProviderTest, events_that_were_not_read_are_one) {
    Driver driver;
    ASSERT_TRUE(driver.gpu.watch(owner, 5, false));
    driver.gpu.create_queue(owner, 2);
    driver.gpu.create_queue(owner, 3);
    ASSERT_EQ(1U, driver.gpu.events.size());
    EXPECT_EQ(3U, driver.gpu.events.front().doorbell);
}

TEST(FakeProviderTest, a_target_that_is_not_watched_has_no_events) {
    Driver driver;
    const auto watch = driver.gpu.watch(owner, 5, false);
    ASSERT_TRUE(watch);
    driver.gpu.create_queue(owner, 2);
    driver.gpu.unwatch(*watch);
    EXPECT_TRUE(driver.gpu.events.empty());
    driver.gpu.create_queue(owner, 3);
    driver.gpu.ring(owner, 1);
    EXPECT_TRUE(driver.gpu.events.empty());
}

} // namespace
