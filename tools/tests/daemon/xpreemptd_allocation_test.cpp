// SPDX-License-Identifier: MIT
// Allocations that wait until others have left VRAM, in virtual time.
#include "memory_fixture.hpp"

namespace {

using namespace std::chrono_literals;
using test::batch;
using test::batch2;
using test::gib;
using test::MemoryTurnsTest;
using test::rules_with_turns;
using test::server;

TEST_F(MemoryTurnsTest, an_allocation_waits_for_a_more_important_job_that_works) {
    add(server, "/server", 12 * gib);
    add(batch, "/batch", 1 * gib);
    daemon.start();
    gpu.submit(server, 1);
    pass(200ms);
    gpu.allocate(batch, 8 * gib);
    pass(10s);
    EXPECT_FALSE(gpu.running.at(batch).refused);
    gpu.finish(server, 1);
    pass(2s);
    ASSERT_TRUE(gpu.is_moving(server));
    move();
    EXPECT_FALSE(gpu.running.at(batch).refused);
    EXPECT_EQ(gpu.vram.at(batch).resident, 9 * gib);
}

TEST_F(MemoryTurnsTest, an_allocation_that_does_not_fit_waits_for_a_turn) {
    add(batch, "/batch", 12 * gib);
    gpu.create_queue(batch2, 1);
    gpu.running.at(batch2).executable = "/batch2";
    daemon.start();
    gpu.submit(batch, 1);
    pass(200ms);
    gpu.allocate(batch2, 12 * gib);
    pass(200ms);
    EXPECT_TRUE(gpu.moving.empty()) << "the first one stays for a second";
    EXPECT_FALSE(gpu.running.at(batch2).refused);
    pass(1s);
    EXPECT_TRUE(gpu.is_moving(batch));
    EXPECT_FALSE(gpu.is_moving(batch2)) << "its threads may use the GPU meanwhile";
    move();
    EXPECT_TRUE(away(batch));
    EXPECT_EQ(gpu.vram.at(batch2).resident, 12 * gib);
    // And the first one has its next turn.
    gpu.submit(batch2, 1);
    pass(2s);
    move();
    EXPECT_FALSE(away(batch));
    EXPECT_TRUE(away(batch2));
}

TEST_F(MemoryTurnsTest, an_allocation_of_a_job_without_queues_waits) {
    add(batch, "/batch", 12 * gib);
    gpu.create_queue(batch2, 1);
    gpu.running.at(batch2).queues.clear();
    gpu.running.at(batch2).executable = "/batch2";
    daemon.start();
    pass(1200ms);
    gpu.allocate(batch2, 12 * gib);
    pass(1ms);
    move();
    EXPECT_EQ(gpu.vram.at(batch2).resident, 12 * gib);
}

TEST_F(MemoryTurnsTest, an_allocation_that_can_never_fit_fails_soon) {
    add(batch, "/stays", 12 * gib);
    add(batch2, "/batch2", 1 * gib);
    daemon.start();
    pass(200ms);
    gpu.allocate(batch2, 12 * gib);
    pass(499ms);
    EXPECT_FALSE(gpu.running.at(batch2).refused);
    pass(1ms);
    EXPECT_TRUE(gpu.running.at(batch2).refused);
    gpu.allocate(batch2, 2 * gib);
    EXPECT_FALSE(gpu.running.at(batch2).refused);
}

// The next scan finds it, and that it has memory.
TEST_F(MemoryTurnsTest, a_job_that_came_just_before_an_allocation_makes_room) {
    add(batch2, "/batch2", 1 * gib);
    daemon.start();
    pass(200ms);
    add(batch, "/batch", 12 * gib);
    gpu.allocate(batch2, 12 * gib);
    pass(3s);
    EXPECT_FALSE(gpu.running.at(batch2).refused);
}

// A job whose moves are slow stays for long: it must not hold up others for ever.
TEST_F(MemoryTurnsTest, an_allocation_that_waits_for_too_long_fails) {
    add(batch, "/batch", 14 * gib);
    gpu.vram.at(batch).last_moves = 100s; // so it stays for 1000 s
    daemon.start();
    gpu.submit(batch, 1);
    gpu.create_queue(40, 1);
    gpu.running.at(40).executable = "/batch4";
    pass(200ms);
    gpu.allocate(40, 4 * gib);
    pass(599s);
    EXPECT_FALSE(gpu.running.at(40).refused);
    pass(2s);
    EXPECT_EQ(gpu.running.at(40).refused, true);
}

TEST_F(MemoryTurnsTest, without_a_rule_that_yields_allocations_do_not_wait) {
    daemon.reload(test::rules_of_test());
    add(batch, "/batch", 12 * gib);
    add(batch2, "/batch2", 0);
    daemon.start();
    pass(200ms);
    gpu.allocate(batch2, 12 * gib);
    EXPECT_EQ(gpu.running.at(batch2).refused, true);
    daemon.reload(rules_with_turns());
    pass(2s);
    gpu.allocate(batch2, 12 * gib);
    pass(1ms);
    EXPECT_FALSE(gpu.running.at(batch2).refused);
    EXPECT_TRUE(gpu.is_moving(batch));
}

} // namespace
