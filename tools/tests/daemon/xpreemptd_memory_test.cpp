// SPDX-License-Identifier: MIT
// Jobs that don't fit into VRAM together, in virtual time.
#include "memory_fixture.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <string>

namespace {

using namespace std::chrono_literals;
using test::batch;
using test::batch2;
using test::gib;
using test::MemoryTurnsTest;
using test::rules_with_turns;
using test::server;

TEST_F(MemoryTurnsTest, jobs_that_do_not_fit_take_turns) {
    two_that_do_not_fit();
    EXPECT_TRUE(gpu.held(batch2));
    EXPECT_FALSE(gpu.held(batch));
    EXPECT_TRUE(gpu.moving.empty()) << "before the first one has stayed for a second";
    pass(600ms);
    ASSERT_EQ(gpu.moving.size(), 1U) << "one call for both";
    EXPECT_EQ(gpu.moving[0].switches.size(), 2U);
    move();
    EXPECT_TRUE(away(batch));
    EXPECT_TRUE(gpu.held(batch));
    EXPECT_FALSE(away(batch2));
    EXPECT_FALSE(gpu.held(batch2));
    EXPECT_EQ(job(batch).yielded_bytes, 12 * gib);
    EXPECT_EQ(job(batch).missing_bytes, 8 * gib);
    EXPECT_EQ(job(batch2).resident_bytes, 12 * gib);
}

TEST_F(MemoryTurnsTest, both_directions_of_a_move_are_logged_with_their_bytes) {
    two_that_do_not_fit();
    pass(600ms);
    lines.clear();
    move();
    const auto logged = [&](const std::string& part) {
        return std::ranges::any_of(lines, [&](const std::string& line) {
            return line.starts_with("12.00 GiB of job ") && line.find(part) != std::string::npos;
        });
    };
    EXPECT_TRUE(logged(fmt::format(" s for job {}", job(batch2).id)));
    EXPECT_TRUE(logged(" came back to VRAM in "));
}

// The driver keeps the holds of a daemon that has ended while there is no room for the memory.
TEST_F(MemoryTurnsTest, a_job_that_the_daemon_before_has_sent_away_gets_its_turn) {
    add(batch, "/batch", 12 * gib);
    add(batch2, "/batch2", 0, 12 * gib);
    gpu.running.at(batch2).queues.at(1).held_by_program = true;
    daemon.start();
    gpu.submit(batch, 1);
    gpu.submit(batch2, 1);
    pass(1100ms);
    ASSERT_EQ(gpu.moving.size(), 1U);
    move();
    EXPECT_TRUE(away(batch));
    EXPECT_FALSE(away(batch2));
    EXPECT_FALSE(gpu.held(batch2));
}

TEST_F(MemoryTurnsTest, a_job_of_the_daemon_before_gets_its_turn_after_a_refused_stop) {
    add(batch, "/batch", 12 * gib);
    add(batch2, "/batch2", 0, 12 * gib);
    gpu.running.at(batch2).queues.at(1).held_by_program = true;
    int refusals = 2;
    gpu.refuse = [&](const test::Switch& wanted) {
        return wanted.pid == batch2 && refusals-- > 0 ? EBUSY : 0;
    };
    daemon.start();
    gpu.submit(batch, 1);
    gpu.submit(batch2, 1);
    pass(3500ms);
    ASSERT_EQ(gpu.moving.size(), 1U);
    move();
    EXPECT_FALSE(away(batch2));
    EXPECT_FALSE(gpu.held(batch2));
}

TEST_F(MemoryTurnsTest, a_job_whose_stops_are_always_refused_lets_the_vram_of_others_be_counted) {
    add(batch2, "/batch2", 0, gib);
    gpu.running.at(batch2).queues.at(1).held_by_program = true;
    gpu.refuse = [](const test::Switch& wanted) { return wanted.pid == batch2 ? EBUSY : 0; };
    daemon.start();
    add(batch, "/batch", gib);
    pass(3s);
    ASSERT_EQ(job(batch).resident_bytes, gib);
    gpu.vram[batch].resident = 2 * gib;
    pass(3s);
    EXPECT_EQ(job(batch).resident_bytes, 2 * gib);
}

// They are armed, so that only their memory is asked for.
TEST_F(MemoryTurnsTest, idle_processes_that_lock_themselves_take_a_hundredth_of_the_time_each) {
    for (const pid_t pid : {batch, batch2})
        add(pid, "/batch", gib);
    daemon.start();
    pass(3s);
    for (const pid_t pid : {batch, batch2})
        gpu.running.at(pid).locked = true;
    pass(10s); // the first call about each of them waits
    gpu.waited = 0ns;
    const auto begin = gpu.now;
    pass(60s);
    EXPECT_GT(gpu.waited, 0ns);
    EXPECT_LE(50 * gpu.waited, gpu.now - begin);
}

TEST_F(MemoryTurnsTest, a_job_that_an_operator_sends_away_stays_away) {
    for (const bool is_program : {false, true}) {
        add(batch2, "/batch2", 8 * gib);
        daemon.start();
        gpu.submit(batch2, 1);
        pass(3s);
        auto& queue = gpu.running.at(batch2).queues.at(1);
        (is_program ? queue.held_by_program : queue.held_by_other) = true;
        gpu.vram.at(batch2) = {.gpu_id = 1, .resident = 0, .away = 8 * gib};
        pass(10s);
        EXPECT_TRUE(gpu.moving.empty());
        EXPECT_TRUE(away(batch2));
        EXPECT_FALSE(queue.held);
        gpu.exit(batch2);
        pass(1s);
    }
}

// The loop of the daemon makes no call that moves memory: FakeProvider fails if it does.
TEST_F(MemoryTurnsTest,
       memory_that_an_operator_sends_away_while_the_job_is_held_returns_by_a_move) {
    add(server, "/server", 0);
    add(batch, "/stays", 8 * gib);
    daemon.start();
    gpu.submit(batch, 1);
    pass(100ms);
    gpu.submit(server, 1);
    pass(100ms);
    ASSERT_TRUE(gpu.held(batch));
    gpu.vram.at(batch) = {.gpu_id = 1, .resident = 0, .away = 8 * gib};
    gpu.finish(server, 1);
    pass(1s);
    ASSERT_EQ(gpu.moving.size(), 1U);
    move();
    EXPECT_FALSE(away(batch));
    EXPECT_FALSE(gpu.held(batch));
}

TEST_F(MemoryTurnsTest, a_job_of_which_a_part_has_left_returns_by_a_move) {
    add(batch, "/parked", 4 * gib);
    add(batch2, "/parked", 4 * gib);
    gpu.running.at(batch2).cgroup = gpu.running.at(batch).cgroup;
    daemon.start();
    pass(31s);
    ASSERT_EQ(gpu.moving.size(), 1U);
    gpu.create_queue(batch2, 2); // so its memory stays
    move();
    ASSERT_TRUE(away(batch));
    ASSERT_FALSE(away(batch2));
    pass(1s);
    ASSERT_TRUE(daemon.set_policy({1, 0}, "HPF"));
    pass(1s);
    gpu.submit(batch, 1);
    pass(3s);
    while (!gpu.moving.empty())
        move();
    EXPECT_FALSE(away(batch));
    EXPECT_FALSE(gpu.held(batch));
}

TEST_F(MemoryTurnsTest, only_a_job_that_waits_for_one_that_may_not_leave_is_reported) {
    const auto reports = [&] {
        return std::ranges::count_if(lines, [](const std::string& line) {
            return line.find("stays in system memory") != std::string::npos;
        });
    };
    add(server, "/server", 12 * gib);
    add(batch, "/batch", 0, 12 * gib);
    daemon.start();
    gpu.submit(server, 1);
    gpu.submit(batch, 1);
    pass(30s);
    EXPECT_TRUE(gpu.moving.empty()) << "the server works";
    EXPECT_EQ(reports(), 0);
    gpu.exit(server);
    add(batch2, "/stays", 12 * gib);
    pass(9s);
    EXPECT_EQ(reports(), 0);
    pass(2s);
    EXPECT_EQ(reports(), 1);
    pass(30s);
    EXPECT_EQ(reports(), 1);
}

// One that may not leave has taken the room of the first, which could wait for ever.
TEST_F(MemoryTurnsTest, a_job_for_which_there_can_be_no_room_lets_others_pass) {
    constexpr pid_t third = 40;
    add(batch, "/stays", 8 * gib);
    add(batch2, "/batch2", 0, 14 * gib);
    add(third, "/batch3", 0, 4 * gib);
    daemon.start();
    for (const pid_t pid : {batch, batch2, third}) {
        gpu.submit(pid, 1);
        pass(100ms);
    }
    pass(2s);
    ASSERT_EQ(gpu.moving.size(), 1U);
    move();
    EXPECT_FALSE(away(third));
    EXPECT_FALSE(gpu.held(third));
    EXPECT_TRUE(away(batch2));
    pass(20s);
    const auto reported = std::ranges::count_if(lines, [&](const std::string& line) {
        return line.starts_with(fmt::format("memory of job {} ", job(batch2).id)) &&
               line.ends_with("10.00 GiB of VRAM are missing, and the jobs that yield have less");
    });
    EXPECT_EQ(reported, 1);
    gpu.exit(batch);
    pass(10s);
    ASSERT_EQ(gpu.moving.size(), 1U) << "the first one enters once it can";
    move();
    EXPECT_FALSE(away(batch2));
}

TEST_F(MemoryTurnsTest, a_job_does_not_wait_for_a_more_important_one_whose_memory_is_away) {
    add(batch, "/stays", 8 * gib);
    add(server, "/server", 0, 14 * gib);
    daemon.start();
    gpu.submit(server, 1);
    gpu.submit(batch, 1);
    pass(3s);
    EXPECT_TRUE(gpu.moving.empty()) << "the batch job may not leave";
    EXPECT_TRUE(gpu.held(server));
    EXPECT_FALSE(gpu.held(batch));
}

TEST_F(MemoryTurnsTest, a_job_stays_for_ten_times_what_its_moves_took) {
    two_that_do_not_fit();
    pass(600ms);
    move(1s); // both directions: 2 s
    ASSERT_FALSE(away(batch2));
    pass(19s);
    EXPECT_TRUE(gpu.moving.empty());
    pass(2s);
    EXPECT_EQ(gpu.moving.size(), 1U);
}

TEST_F(MemoryTurnsTest, jobs_that_fit_both_run) {
    add(batch, "/batch", 8 * gib);
    add(batch2, "/batch2", 8 * gib);
    daemon.start();
    gpu.submit(batch, 1);
    gpu.submit(batch2, 1);
    pass(10s);
    EXPECT_FALSE(gpu.held(batch));
    EXPECT_FALSE(gpu.held(batch2));
    EXPECT_EQ(daemon.status().moves, 0U);
}

TEST_F(MemoryTurnsTest, the_important_job_comes_in_at_once) {
    add(batch, "/batch", 12 * gib);
    add(server, "/server", 0, 12 * gib);
    daemon.start();
    gpu.submit(batch, 1);
    pass(300ms);
    EXPECT_TRUE(gpu.moving.empty()) << "it has no work";
    gpu.submit(server, 1);
    pass(1ms);
    EXPECT_EQ(gpu.moving.size(), 1U);
    move();
    EXPECT_FALSE(away(server));
    EXPECT_TRUE(away(batch));
}

TEST_F(MemoryTurnsTest, a_job_with_work_does_not_leave_for_a_lower_band) {
    add(server, "/server", 12 * gib);
    add(batch, "/batch", 0, 12 * gib);
    daemon.start();
    gpu.submit(server, 1);
    gpu.submit(batch, 1);
    pass(60s);
    EXPECT_EQ(daemon.status().moves, 0U);
    gpu.finish(server, 1);
    pass(500ms);
    EXPECT_EQ(daemon.status().moves, 0U) << "idle for less than it stays";
    pass(600ms);
    EXPECT_EQ(gpu.moving.size(), 1U);
    move();
    EXPECT_TRUE(away(server));
    // And it comes back when it has work.
    gpu.submit(server, 1);
    pass(1ms);
    move();
    EXPECT_FALSE(away(server));
    EXPECT_TRUE(away(batch));
}

TEST_F(MemoryTurnsTest, the_idle_one_leaves_before_the_one_with_work) {
    add(batch, "/batch", 6 * gib);
    add(server, "/batch3", 6 * gib);
    add(batch2, "/batch2", 0, 8 * gib);
    daemon.start();
    gpu.submit(batch, 1);
    gpu.submit(batch2, 1);
    pass(1200ms);
    ASSERT_EQ(gpu.moving.size(), 1U);
    EXPECT_TRUE(gpu.is_moving(server));
    EXPECT_FALSE(gpu.is_moving(batch));
}

TEST_F(MemoryTurnsTest, an_idle_job_is_parked_and_its_ring_brings_it_back) {
    add(batch, "/parked", 12 * gib);
    daemon.start();
    pass(29s);
    EXPECT_TRUE(gpu.moving.empty());
    pass(2s);
    ASSERT_EQ(gpu.moving.size(), 1U);
    move();
    EXPECT_TRUE(away(batch));
    EXPECT_TRUE(gpu.held(batch));
    pass(60s);
    EXPECT_EQ(daemon.status().moves, 1U);
    gpu.submit(batch, 1);
    pass(1ms);
    move();
    EXPECT_FALSE(away(batch));
    EXPECT_FALSE(gpu.held(batch));
    EXPECT_EQ(daemon.status().moved_back_bytes, 12 * gib);
}

TEST_F(MemoryTurnsTest, work_that_comes_while_it_moves_away_is_seen) {
    add(batch, "/parked", 12 * gib);
    daemon.start();
    pass(31s);
    ASSERT_EQ(gpu.moving.size(), 1U);
    gpu.submit(batch, 1);
    move();
    pass(200ms);
    move();
    EXPECT_FALSE(away(batch));
    EXPECT_FALSE(gpu.held(batch));
}

TEST_F(MemoryTurnsTest, a_job_that_may_not_yield_stays) {
    add(batch, "/stays", 12 * gib);
    add(batch2, "/batch2", 0, 12 * gib);
    daemon.start();
    gpu.submit(batch2, 1);
    pass(60s);
    EXPECT_EQ(daemon.status().moves, 0U);
    EXPECT_EQ(job(batch2).missing_bytes, 8 * gib);
    EXPECT_EQ(daemon.status().ejected, "") << "no policy is to blame";
}

TEST_F(MemoryTurnsTest, a_host_without_room_is_told_and_tried_again_later) {
    gpu.host_room = gib;
    two_that_do_not_fit();
    pass(600ms);
    move();
    EXPECT_FALSE(away(batch));
    EXPECT_FALSE(gpu.held(batch)) << "it runs on";
    EXPECT_NE(std::ranges::find_if(lines,
                                   [](const std::string& line) {
                                       return line.find("ttm.pages_limit") != std::string::npos;
                                   }),
              lines.end());
    pass(900ms);
    EXPECT_TRUE(gpu.moving.empty());
    gpu.host_room = UINT64_MAX;
    pass(2s);
    move();
    EXPECT_TRUE(away(batch));
    EXPECT_FALSE(away(batch2));
}

TEST_F(MemoryTurnsTest, a_job_over_its_limit_is_the_first_to_leave) {
    xpreemptd::Rules rules = rules_with_turns();
    xpreemptd::Rule limited;
    limited.executable = "/limited";
    limited.set.vram_limit = 2 * gib;
    rules.rules.push_back(limited);
    daemon.reload(std::move(rules));
    add(batch, "/batch", 6 * gib);
    add(server, "/limited", 6 * gib);
    add(batch2, "/batch2", 0, 8 * gib);
    daemon.start();
    gpu.submit(server, 1);
    gpu.submit(batch2, 1);
    pass(1200ms);
    ASSERT_EQ(gpu.moving.size(), 1U);
    EXPECT_TRUE(gpu.is_moving(server)) << "though the other one is idle";
    EXPECT_FALSE(gpu.is_moving(batch));
}

TEST_F(MemoryTurnsTest, a_queue_that_comes_meanwhile_keeps_the_memory_where_it_is) {
    two_that_do_not_fit();
    pass(600ms);
    ASSERT_TRUE(gpu.is_moving(batch));
    gpu.create_queue(batch, 2);
    move();
    EXPECT_FALSE(away(batch));
    EXPECT_FALSE(gpu.held(batch, 1)) << "it was stopped, and runs on";
    pass(1s);
    ASSERT_TRUE(gpu.is_moving(batch));
    move();
    EXPECT_TRUE(away(batch));
    EXPECT_TRUE(gpu.held(batch, 1) && gpu.held(batch, 2));
    EXPECT_FALSE(away(batch2));
}

TEST_F(MemoryTurnsTest, queues_that_have_gone_take_no_memory_along) {
    add(batch, "/parked", 12 * gib);
    daemon.start();
    pass(29950ms); // the figures of its memory are some time old when it is to leave
    gpu.running.at(batch).queues.clear();
    gpu.events.push_back(
        {test::EventKind::queues_changed, gpu.running.at(batch).cookie, gpu.now, 1, 1});
    pass(2s);
    EXPECT_TRUE(gpu.moving.empty());
    EXPECT_EQ(daemon.status().moves, 0U);
}

TEST_F(MemoryTurnsTest, a_process_may_die_while_it_moves) {
    two_that_do_not_fit();
    pass(600ms);
    ASSERT_EQ(gpu.moving.size(), 1U);
    gpu.exit(batch);
    move();
    EXPECT_FALSE(away(batch2));
    EXPECT_FALSE(gpu.held(batch2));
    two_that_do_not_fit();
}

// Without a watch the end of a process is found by a scan, and another one may have its pid by
// then.
class ReplacedProcessTest : public MemoryTurnsTest {
protected:
    void begin_to_move_first() {
        gpu.has_watch = false;
        two_that_do_not_fit();
        pass(600ms);
        ASSERT_EQ(gpu.moving.size(), 1U);
    }
    void expect_to_run_at_the_end() {
        gpu.finish(batch2, 1);
        pass(2s);
        ASSERT_EQ(gpu.moving.size(), 1U);
        move();
        pass(300ms);
        EXPECT_FALSE(away(batch));
        EXPECT_FALSE(gpu.held(batch));
    }
};

// The fake driver fails for calls about a process whose memory moves.
TEST_F(ReplacedProcessTest, while_its_memory_moves_no_call_waits_for_it) {
    begin_to_move_first();
    gpu.running.at(batch).generation = 1;
    pass(300ms);
    move();
    pass(300ms);
    expect_to_run_at_the_end();
}

// It fails for a start that would bring memory back.
TEST_F(ReplacedProcessTest, while_its_memory_is_away_the_loop_does_not_bring_it_back) {
    begin_to_move_first();
    move();
    ASSERT_TRUE(away(batch));
    gpu.running.at(batch).generation = 1;
    pass(300ms);
    EXPECT_TRUE(away(batch));
    expect_to_run_at_the_end();
}

} // namespace
