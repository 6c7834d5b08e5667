// SPDX-License-Identifier: MIT
// suspend --yield-memory, resume and status of a process with VRAM, against scripted ioctls.
#include "driver/switch_calls.hpp"
#include "fixture_tree.hpp"
#include "scripted_driver.hpp"
#include "verbs/verbs.hpp"

#include <gtest/gtest.h>

namespace {

constexpr std::uint64_t gib = 1ULL << 30;
constexpr std::uint32_t held = KFD_PREEMPT_STATE_HELD;
constexpr std::uint32_t running = KFD_PREEMPT_STATE_RUNNING;
constexpr std::uint32_t sticky = KFD_PREEMPT_HOLD_STICKY;
constexpr std::uint64_t caps = test::Script::all_caps | KFD_PREEMPT_CAP_YIELD_MEMORY;

class MemoryTest : public testing::Test {
protected:
    // Process 7 has one compute queue.
    MemoryTest() : context(tree.context()), script(std::make_shared<test::Script>()) {
        tree.add_process(7, "demo", 1234);
        tree.add_kfd_process(7);
        tree.add_queue(7, 0);
        test::attach(context, script);
    }

    // The stop comes first, and by itself.
    void expect_suspend(int result_of_yield) { expect_suspend({result_of_yield, held, sticky}); }
    void expect_suspend(const test::EntryAnswer& yield) {
        script->expect_query(0, 0, caps);
        script->expect_switch(7, KFD_PREEMPT_SWITCH_STICKY, KFD_PREEMPT_OP_PREEMPT, {0},
                              {{0, held, sticky, 1'500'000}});
        expect_yield(yield);
    }
    void expect_yield(const test::EntryAnswer& answer) {
        script->expect_switch(7, KFD_PREEMPT_SWITCH_STICKY | KFD_PREEMPT_SWITCH_YIELD_MEMORY,
                              KFD_PREEMPT_OP_PREEMPT, {0}, {answer});
    }
    void expect_resume(int result) {
        script->expect_switch(7, KFD_PREEMPT_SWITCH_STICKY, KFD_PREEMPT_OP_RESUME, {0},
                              {{result, result == 0 ? running : held, result == 0 ? 0 : sticky}});
    }
    cli::Report suspend() { return cli::suspend(context, {7, {}}, {.yield = true}); }

    static void expect_message(const cli::Report& report, const std::string& text) {
        ASSERT_EQ(report.messages.size(), 1U);
        EXPECT_EQ(report.messages[0], text);
        EXPECT_EQ(report.exit, cli::Exit::failed);
    }

    test::FixtureTree tree;
    cli::Context context;
    std::shared_ptr<test::Script> script;
};

TEST_F(MemoryTest, suspend_says_what_left_and_what_stays) {
    expect_suspend(0);
    script->expect_memory(7, 0, gib, 16 * gib, gib);
    const cli::Report report = suspend();
    EXPECT_EQ(report.exit, cli::Exit::ok);
    EXPECT_EQ(report.text,
              "queue 0 of pid 7 (demo): suspended in 1.5 ms\n"
              "pid 7 (demo), GPU 5230: 16 GiB of VRAM yielded in 2 s; 1 GiB stays in VRAM (1 GiB "
              "shared with others)\n");
    EXPECT_EQ(report.json["memory"][0]["gpus"][0]["yielded_bytes"], 16 * gib);
    EXPECT_EQ(report.json["memory"][0]["gpus"][0]["shared_bytes"], gib);
}

TEST_F(MemoryTest, a_second_suspend_finds_it_yielded) {
    expect_suspend(-EALREADY);
    script->expect_memory(7, 0, 0, 16 * gib);
    const cli::Report report = suspend();
    EXPECT_EQ(report.exit, cli::Exit::ok);
    EXPECT_NE(report.text.find("16 GiB of VRAM yielded before\n"), std::string::npos);
}

TEST_F(MemoryTest, without_room_in_the_host_it_is_held_and_keeps_its_memory) {
    expect_suspend(-ENOMEM);
    script->expect_memory(7, 0, 16 * gib, 0);
    expect_message(suspend(),
                   "pid 7 (demo), GPU 5230: held, but its 16 GiB of VRAM stay: the host has "
                   "no room for them; free memory, or raise ttm.pages_limit, and suspend "
                   "it again");
}

TEST_F(MemoryTest, one_queue_that_runs_keeps_the_memory_there) {
    expect_suspend(-EBUSY);
    script->expect_memory(7, 0, 16 * gib, 0);
    expect_message(suspend(),
                   "pid 7 (demo), GPU 5230: its VRAM stays, because one of its compute "
                   "queues on that GPU is not held: suspend all of them (name no queue)");
}

TEST_F(MemoryTest, a_process_that_keeps_itself_locked_is_tried_again) {
    expect_suspend({-EBUSY, running, 0});
    expect_yield({0, held, sticky});
    script->expect_memory(7, 0, gib, 16 * gib, gib);
    EXPECT_EQ(suspend().exit, cli::Exit::ok);
}

TEST_F(MemoryTest, the_memory_of_a_process_that_stays_locked_stays) {
    expect_suspend({-EBUSY, running, 0});
    for (unsigned again = 1; again < cli::locked_tries_max; ++again)
        expect_yield({-EBUSY, running, 0});
    script->expect_memory(7, 0, 16 * gib, 0);
    expect_message(suspend(),
                   "pid 7 (demo), GPU 5230: held, but its VRAM stays: the process is locked in "
                   "the driver, for example while it allocates memory; suspend it again");
}

TEST_F(MemoryTest, a_signal_leaves_a_part) {
    expect_suspend(-EINTR);
    script->expect_memory(7, 0, 12 * gib, 4 * gib);
    expect_message(suspend(),
                   "pid 7 (demo), GPU 5230: held, and 4 GiB of its VRAM have moved; `suspend "
                   "--yield-memory` again moves the rest");
}

TEST_F(MemoryTest, a_driver_that_cannot_is_told_before_anything_is_stopped) {
    script->expect_query(0);
    const cli::Report report = suspend();
    EXPECT_EQ(report.exit, cli::Exit::unsupported);
    ASSERT_EQ(report.messages.size(), 1U);
    EXPECT_NE(report.messages[0].find("cannot yield memory, nothing changed"), std::string::npos);
}

TEST_F(MemoryTest, resume_says_what_came_back) {
    script->expect_query(0, 0, caps);
    script->expect_memory(7, 0, 0, 16 * gib);
    expect_resume(0);
    script->expect_memory(7, 0, 16 * gib, 0);
    const cli::Report report = cli::resume(context, {7, {}}, false);
    EXPECT_EQ(report.exit, cli::Exit::ok);
    EXPECT_EQ(report.text, "queue 0 of pid 7 (demo): resumed\n"
                           "pid 7 (demo), GPU 5230: 16 GiB back in VRAM in 1 s\n");
}

TEST_F(MemoryTest, resume_without_vram_says_how_much_is_missing_and_who_has_it) {
    tree.add_process(8, "other", 0);
    tree.add_kfd_process(8);
    tree.write("sys/class/kfd/kfd/proc/8/vram_5230", "12884901888\n");
    script->expect_query(0, 0, caps);
    script->expect_memory(7, 0, 0, 16 * gib);
    expect_resume(-ENOSPC);
    script->expect_memory(7, 0, 0, 16 * gib);
    script->expect_available(6 * gib);
    script->expect_memory(7, 0, 0, 16 * gib);
    expect_message(
        cli::resume(context, {7, {}}, false),
        "queue 0 of pid 7 (demo): no room in VRAM of GPU 5230 for the 16 GiB that it has "
        "yielded, 6 GiB are free; pid 8 (other) has 12 GiB; it stays held: suspend "
        "--yield-memory another one, or end it");
}

TEST_F(MemoryTest, resume_without_a_slot_is_no_matter_of_memory) {
    script->expect_query(0, 0, caps);
    script->expect_memory(7, 0, 16 * gib, 0);
    expect_resume(-ENOSPC);
    script->expect_memory(7, 0, 16 * gib, 0);
    script->expect_memory(7, 0, 16 * gib, 0);
    const cli::Report report = cli::resume(context, {7, {}}, false);
    ASSERT_EQ(report.messages.size(), 1U);
    EXPECT_NE(report.messages[0].find("no hardware slot"), std::string::npos);
}

TEST_F(MemoryTest, status_has_a_table_of_it) {
    script->expect_query(0, 0, caps);
    script->expect_status(7, 0, 0, held, sticky);
    script->expect_memory(7, 0, gib, 16 * gib, gib);
    const cli::Report report = cli::status(context, {7, {0}});
    EXPECT_NE(report.text.find("YIELDED"), std::string::npos);
    EXPECT_NE(report.text.find("16 GiB"), std::string::npos);
    EXPECT_EQ(report.json["memory"][0]["gpus"][0]["vram_bytes"], gib);
}

} // namespace
