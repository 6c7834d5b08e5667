// SPDX-License-Identifier: MIT
// Jobs that enter VRAM and jobs that leave it, in virtual time.
#include "scheduling/residency.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace {

using namespace std::chrono_literals;
using namespace xpreempt::sched;
using namespace xpreemptd;

constexpr std::uint64_t gib = std::uint64_t{1} << 30;
using Ids = std::vector<std::uint64_t>;

class ResidencyTest : public ::testing::Test {
protected:
    // Ids count from 1.
    void add(Band band, std::uint64_t resident, std::uint64_t away = 0, std::uint32_t gpu = 1) {
        JobView view;
        view.id = jobs_.size() + 1;
        view.band = band;
        jobs_.push_back(view);
        MemoryView memory;
        memory.on.push_back({gpu, resident, away, 0});
        memory.may_leave = true;
        memory_.push_back(memory);
    }
    JobView& job(std::uint64_t id) { return jobs_.at(id - 1); }
    MemoryView& memory(std::uint64_t id) { return memory_.at(id - 1); }
    void set_ready(std::uint64_t id) {
        job(id).ready = true;
        job(id).ready_since = now_;
    }
    ResidencyPlan decide(Duration later = 0s) {
        now_ += later;
        return residency_.decide({now_, jobs_}, memory_, [this](std::uint32_t) { return free_; });
    }

    Residency residency_;
    std::vector<JobView> jobs_;
    std::vector<MemoryView> memory_;
    std::uint64_t free_ = 0;
    Time now_ = Time{} + 1h;
};

TEST_F(ResidencyTest, a_job_with_work_enters_once_where_there_is_room) {
    add(Band::normal, 0, 4 * gib);
    free_ = 4 * gib;
    EXPECT_TRUE(decide().exchanges.empty()) << "it has no work";
    set_ready(1);
    const ResidencyPlan plan = decide();
    ASSERT_EQ(1U, plan.exchanges.size());
    EXPECT_TRUE(plan.exchanges[0].leave.empty());
    EXPECT_EQ(1U, plan.exchanges[0].enter);
    EXPECT_TRUE(plan.out[0]);
    EXPECT_TRUE(decide().exchanges.empty()) << "it is on its way";
    residency_.entered(1, true, now_);
    memory(1).on[0] = {1, 4 * gib, 0, 0};
    const ResidencyPlan after = decide();
    EXPECT_TRUE(after.exchanges.empty());
    EXPECT_FALSE(after.out[0]);
}

TEST_F(ResidencyTest, a_job_that_failed_to_enter_is_tried_again_after_a_rest) {
    add(Band::normal, 0, 4 * gib);
    free_ = 4 * gib;
    set_ready(1);
    ASSERT_EQ(1U, decide().exchanges.size());
    residency_.entered(1, false, now_);
    const ResidencyPlan resting = decide(1ms);
    EXPECT_TRUE(resting.exchanges.empty());
    EXPECT_EQ(now_ + 999ms, resting.next);
    EXPECT_EQ(1U, decide(999ms).exchanges.size());
}

TEST_F(ResidencyTest, an_idle_job_is_parked_once_and_at_its_time) {
    add(Band::normal, 4 * gib);
    memory(1).park_after = 30s;
    EXPECT_EQ(now_ + 30s, decide().next);
    const ResidencyPlan before = decide(30s - 1ms);
    EXPECT_TRUE(before.exchanges.empty());
    EXPECT_FALSE(before.out[0]);
    const ResidencyPlan plan = decide(1ms);
    ASSERT_EQ(1U, plan.exchanges.size());
    EXPECT_EQ(Ids{1}, plan.exchanges[0].leave);
    EXPECT_EQ(0U, plan.exchanges[0].enter);
    EXPECT_TRUE(plan.out[0]);
    EXPECT_TRUE(decide().exchanges.empty()) << "it was asked to leave";
    residency_.left(1, false, now_);
    EXPECT_TRUE(decide(999ms).exchanges.empty()) << "it rests after a failure";
    EXPECT_EQ(1U, decide(1ms).exchanges.size());
    residency_.left(1, true, now_);
    EXPECT_TRUE(decide(1min).exchanges.empty()) << "it is away";
}

struct NoPark {
    const char* reason;
    std::function<void(JobView&, MemoryView&)> apply;
};
void PrintTo(const NoPark& one, std::ostream* out) {
    *out << one.reason;
}

class NotParked : public ResidencyTest, public ::testing::WithParamInterface<NoPark> {};

TEST_P(NotParked, an_idle_job_stays) {
    add(Band::normal, 4 * gib);
    memory(1).park_after = 30s;
    GetParam().apply(job(1), memory(1));
    decide();
    EXPECT_TRUE(decide(1min).exchanges.empty());
}

const NoPark no_park[] = {
    {"never", [](JobView&, MemoryView& memory) { memory.park_after = Duration::max(); }},
    {"ready", [](JobView& job, MemoryView&) { job.ready = true; }},
    {"held_by_others", [](JobView& job, MemoryView&) { job.held_by_others = true; }},
    {"announced", [](JobView& job, MemoryView&) { job.soon_until = Time::max(); }},
    {"may_not_leave", [](JobView&, MemoryView& memory) { memory.may_leave = false; }},
    {"moving", [](JobView&, MemoryView& memory) { memory.moving = true; }},
    {"without_memory", [](JobView&, MemoryView& memory) { memory.on[0].resident = 0; }},
};
INSTANTIATE_TEST_SUITE_P(residency, NotParked, ::testing::ValuesIn(no_park),
                         [](const auto& test) { return std::string(test.param.reason); });

// Jobs 1 and 2 are there, job 3 of a higher band needs the room of one of them.
class LeaversTest : public ResidencyTest {
protected:
    LeaversTest() {
        add(Band::normal, 4 * gib);
        add(Band::normal, 4 * gib);
        add(Band::high, 0, 4 * gib);
        set_ready(1);
        set_ready(2);
        decide();
    }
    Ids leavers() {
        set_ready(3);
        const ResidencyPlan plan = decide(1s);
        EXPECT_EQ(1U, plan.exchanges.size());
        if (plan.exchanges.empty())
            return {};
        EXPECT_EQ(3U, plan.exchanges[0].enter);
        return plan.exchanges[0].leave;
    }
};

TEST_F(LeaversTest, by_default_the_one_with_the_lower_id) {
    EXPECT_EQ(Ids{1}, leavers());
}
TEST_F(LeaversTest, the_idle_one) {
    job(2).ready = false;
    EXPECT_EQ(Ids{2}, leavers());
}
TEST_F(LeaversTest, the_one_of_the_lower_band) {
    job(2).band = Band::idle;
    EXPECT_EQ(Ids{2}, leavers());
}
TEST_F(LeaversTest, the_one_of_the_lower_priority) {
    job(2).priority = -1;
    EXPECT_EQ(Ids{2}, leavers());
}
TEST_F(LeaversTest, the_one_over_its_limit_although_the_other_is_idle) {
    job(1).ready = false;
    memory(2).limit = 4 * gib - 1;
    EXPECT_EQ(Ids{2}, leavers());
}
TEST_F(LeaversTest, the_one_that_has_been_idle_for_longer) {
    job(2).ready = false;
    decide(1s);
    job(1).ready = false;
    decide(1s);
    EXPECT_EQ(Ids{2}, leavers());
}
TEST_F(LeaversTest, none_on_another_gpu) {
    memory(1).on[0].gpu = 2;
    EXPECT_EQ(Ids{2}, leavers());
}
TEST_F(LeaversTest, none_that_is_held_by_others_or_has_announced_work) {
    job(1).held_by_others = true;
    EXPECT_EQ(Ids{2}, leavers());
}
TEST_F(LeaversTest, both_if_one_is_not_enough) {
    memory(3).on[0].away = 8 * gib;
    EXPECT_EQ((Ids{1, 2}), leavers());
}
TEST_F(LeaversTest, none_if_both_are_not_enough) {
    memory(3).on[0].away = 8 * gib + 1;
    set_ready(3);
    EXPECT_TRUE(decide(1s).exchanges.empty());
}
TEST_F(LeaversTest, none_where_the_free_bytes_are_enough) {
    free_ = 4 * gib;
    EXPECT_TRUE(leavers().empty());
}

class SameBand : public ResidencyTest {
protected:
    SameBand() {
        add(Band::normal, 4 * gib);
        add(Band::normal, 0, 4 * gib);
        set_ready(1);
        set_ready(2);
    }
};

TEST_F(SameBand, a_job_stays_for_a_second_at_least) {
    EXPECT_EQ(now_ + 1s, decide().next);
    EXPECT_TRUE(decide(1s - 1ms).exchanges.empty());
    EXPECT_EQ(1U, decide(1ms).exchanges.size());
}

TEST_F(SameBand, a_job_stays_for_ten_times_what_its_moves_took) {
    memory(1).last_moves = 300ms;
    EXPECT_EQ(now_ + 3s, decide().next);
    EXPECT_TRUE(decide(3s - 1ms).exchanges.empty());
    EXPECT_EQ(1U, decide(1ms).exchanges.size());
}

TEST_F(SameBand, a_job_of_a_lower_band_waits_while_there_is_work) {
    job(2).band = Band::idle;
    decide();
    EXPECT_TRUE(decide(1h).exchanges.empty());
    job(1).ready = false;
    EXPECT_EQ(now_ + 1s, decide().next) << "it stays for a second after its work";
    EXPECT_EQ(1U, decide(1s).exchanges.size());
}

// Job 2 has waited for longer, and job 3 must not pass it.
TEST_F(SameBand, a_job_that_waits_for_longer_comes_first) {
    add(Band::normal, 0, 4 * gib);
    decide(10ms);
    set_ready(3);
    const ResidencyPlan plan = decide(1s);
    ASSERT_EQ(1U, plan.exchanges.size());
    EXPECT_EQ(2U, plan.exchanges[0].enter);
}

TEST_F(SameBand, no_move_begins_beside_another_on_the_gpu) {
    add(Band::normal, 1 * gib);
    memory(3).moving = true;
    decide();
    const ResidencyPlan plan = decide(2s);
    EXPECT_TRUE(plan.exchanges.empty());
    EXPECT_TRUE(plan.out[2]);
    memory(3).moving = false;
    EXPECT_EQ(1U, decide().exchanges.size());
}

class Allocation : public ResidencyTest {
protected:
    // Job 1 may not leave; job 2 waits for an allocation.
    Allocation() {
        add(Band::normal, 4 * gib);
        memory(1).may_leave = false;
        add(Band::normal, 0);
        memory(2).on[0].wanted = 4 * gib;
        memory(2).wanted_since = now_;
    }
};

TEST_F(Allocation, that_can_never_fit_is_hopeless_once_all_is_known) {
    const ResidencyPlan early = decide();
    EXPECT_TRUE(early.hopeless.empty());
    EXPECT_EQ(now_ + 500ms, early.next);
    EXPECT_TRUE(decide(499ms).hopeless.empty());
    EXPECT_EQ(Ids{2}, decide(1ms).hopeless);
}

TEST_F(Allocation, that_may_fit_one_day_waits_for_ten_minutes) {
    memory(1).may_leave = true;
    memory(1).last_moves = 5min;
    decide();
    const ResidencyPlan waiting = decide(1s);
    EXPECT_TRUE(waiting.hopeless.empty());
    EXPECT_EQ(now_ + 10min - 1s, waiting.next);
    EXPECT_TRUE(decide(10min - 1s - 1ms).hopeless.empty());
    EXPECT_EQ(Ids{2}, decide(1ms).hopeless);
}

TEST_F(Allocation, that_waits_for_a_job_on_the_move_is_not_hopeless) {
    memory(1).may_leave = true;
    memory(1).moving = true;
    decide();
    EXPECT_TRUE(decide(1s).hopeless.empty());
}

TEST_F(Allocation, above_the_limit_of_its_job_is_hopeless_and_sends_no_other_job_away) {
    memory(1).may_leave = true;
    memory(2).on[0].resident = 1 * gib;
    memory(2).limit = 5 * gib - 1;
    decide();
    const ResidencyPlan plan = decide(2s);
    EXPECT_TRUE(plan.exchanges.empty());
    EXPECT_EQ(Ids{2}, plan.hopeless);
    memory(2).limit = 5 * gib;
    EXPECT_EQ(Ids{1}, decide().exchanges.at(0).leave) << "at the limit it may";
}

// Others need not wait behind it, and it may still return by what it had.
TEST_F(Allocation, above_the_limit_of_its_job_ends_alone) {
    memory(1).may_leave = true;
    memory(2).on[0] = {1, 0, 4 * gib, 0};
    memory(2).wanted_since = {};
    memory(2).limit = 1 * gib;
    set_ready(2);
    decide();
    EXPECT_EQ(2U, decide(2s).exchanges.at(0).enter);
}

TEST_F(Allocation, enters_where_there_is_room_and_is_not_hopeless) {
    free_ = 4 * gib;
    const ResidencyPlan plan = decide(1s);
    ASSERT_EQ(1U, plan.exchanges.size());
    EXPECT_EQ(2U, plan.exchanges[0].enter);
    EXPECT_TRUE(plan.hopeless.empty());
}

} // namespace
