// SPDX-License-Identifier: MIT
// Wave instructions of a process while another one has work, counted by PASID.
#include "sq/support/assembler.hpp"
#include "sq/support/trap_handler.hpp"
#include "user_queues.hpp"

#include "model/cp/contention.hpp"

#include <functional>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace vgpu {
namespace {

using test::KeepingObserver;
using test::mib;
using test::Process;
using test::signal_va;
using test::user_va;

// Doorbell 0x1000 belongs to PASID 1, 0x2000 and 0x2001 to PASID 2.
class Periods : public ::testing::Test {
protected:
    enum class State : std::uint8_t { idle, busy };
    static constexpr State idle = State::idle;
    static constexpr State busy = State::busy;

    struct Seen {
        std::uint32_t doorbell;
        State state;
    };
    void slice(std::initializer_list<Seen> queues, bool switching = false) {
        std::vector<Contention::Queue> list;
        for (const Seen& seen : queues)
            list.push_back({seen.doorbell, static_cast<std::uint16_t>(seen.doorbell >> 12),
                            seen.state == busy});
        contention.begin_slice(list, switching, now);
    }
    std::uint64_t counter(const std::string& name) { return observer.counters[name]; }

    KeepingObserver observer;
    Contention contention{observer};
    std::uint64_t now = 0; // on the clock of the GPU
    using Intervals = std::vector<std::pair<std::uint64_t, std::uint64_t>>;
    std::map<std::string, Intervals, std::less<>> intervals;
    void record_intervals() {
        contention.record_intervals(
            [this](std::string_view list, std::uint64_t begin, std::uint64_t end) {
                intervals[std::string(list)].emplace_back(begin, end);
            });
    }
};

TEST_F(Periods, instructions_count_while_the_other_process_is_busy) {
    slice({{0x1000, idle}, {0x2000, busy}});
    contention.executed(2, 10);
    slice({{0x1000, busy}, {0x2000, busy}});
    contention.executed(2, 100);
    contention.executed(1, 7);
    slice({{0x1000, idle}, {0x2000, busy}});
    contention.executed(2, 1000);
    EXPECT_EQ(counter("wave_instructions_by_pasid/1"), 7U);
    EXPECT_EQ(counter("wave_instructions_by_pasid/2"), 1110U);
    EXPECT_EQ(counter("wave_instructions_while_busy/2:1"), 100U);
    EXPECT_EQ(counter("wave_instructions_while_busy/1:2"), 7U);
    EXPECT_EQ(counter("wave_instructions_after_stop/2:1"), 0U);
    EXPECT_EQ(counter("busy_periods/1"), 1U);
    EXPECT_EQ(counter("busy_periods/2"), 1U);
    EXPECT_EQ(counter("busy_periods_shared/2:1"), 1U);
    EXPECT_EQ(counter("busy_periods_stopped/2:1"), 0U);
}

// A runlist replaces the one before: both queues leave and come back, and none was stopped.
TEST_F(Periods, a_new_runlist_neither_ends_a_period_nor_stops_a_process) {
    slice({{0x1000, busy}, {0x2000, busy}});
    contention.executed(2, 1);
    slice({{0x2000, busy}}, true); // still saves its waves
    contention.executed(2, 20);
    slice({});
    slice({{0x1000, busy}, {0x2000, busy}});
    contention.executed(2, 300);
    EXPECT_EQ(counter("wave_instructions_while_busy/2:1"), 321U);
    EXPECT_EQ(counter("wave_instructions_after_stop/2:1"), 0U);
    EXPECT_EQ(counter("busy_periods/1"), 1U);
    EXPECT_EQ(counter("busy_periods_stopped/2:1"), 0U);
}

TEST_F(Periods, a_process_that_comes_back_too_early_executes_after_its_stop) {
    slice({{0x1000, busy}, {0x2000, busy}});
    contention.executed(2, 1);
    slice({});
    slice({{0x1000, busy}});
    contention.executed(1, 5);
    slice({{0x1000, busy}});
    slice({{0x1000, busy}, {0x2000, busy}});
    contention.executed(2, 20);
    EXPECT_EQ(counter("busy_periods_stopped/2:1"), 1U);
    EXPECT_EQ(counter("wave_instructions_while_busy/2:1"), 21U);
    EXPECT_EQ(counter("wave_instructions_after_stop/2:1"), 20U);
    // The next period starts afresh.
    slice({{0x1000, idle}, {0x2000, busy}});
    contention.executed(2, 300);
    slice({{0x1000, busy}, {0x2000, busy}});
    contention.executed(2, 4000);
    EXPECT_EQ(counter("wave_instructions_while_busy/2:1"), 4021U);
    EXPECT_EQ(counter("wave_instructions_after_stop/2:1"), 20U);
    EXPECT_EQ(counter("busy_periods/1"), 2U);
    EXPECT_EQ(counter("busy_periods_shared/2:1"), 2U);
}

// Work that arrives while the other is off: it was stopped before.
TEST_F(Periods, a_process_stopped_before_the_work_is_stopped_during_it) {
    slice({{0x1000, idle}, {0x2000, busy}});
    slice({});
    slice({{0x1000, idle}});
    slice({{0x1000, busy}});
    contention.executed(1, 1);
    EXPECT_EQ(counter("busy_periods_stopped/2:1"), 1U);
    slice({{0x1000, busy}, {0x2000, busy}});
    contention.executed(2, 9);
    EXPECT_EQ(counter("wave_instructions_after_stop/2:1"), 9U);
}

TEST_F(Periods, a_process_with_another_queue_on_a_slot_is_not_stopped) {
    slice({{0x1000, busy}, {0x2000, busy}, {0x2001, idle}});
    slice({{0x1000, busy}, {0x2001, idle}});
    slice({{0x1000, busy}, {0x2001, busy}});
    contention.executed(2, 3);
    EXPECT_EQ(counter("busy_periods_stopped/2:1"), 0U);
    EXPECT_EQ(counter("wave_instructions_after_stop/2:1"), 0U);
}

// A busy queue that left for good, as that of a killed process, is busy no more.
TEST_F(Periods, a_queue_that_does_not_come_back_ends_its_period) {
    slice({{0x1000, busy}, {0x2000, busy}});
    slice({});
    slice({{0x2000, busy}});
    contention.executed(2, 50);
    EXPECT_EQ(counter("wave_instructions_while_busy/2:1"), 0U);
}

TEST_F(Periods, an_idle_queue_that_left_is_no_stop_of_work) {
    slice({{0x1000, busy}, {0x2000, idle}});
    slice({{0x1000, busy}});
    EXPECT_EQ(counter("busy_periods_stopped/2:1"), 0U);
}

TEST_F(Periods, both_xccs_of_a_queue_are_one_queue) {
    slice({{0x1000, busy}, {0x2000, busy}, {0x1000, idle}, {0x2000, idle}});
    contention.executed(2, 1);
    slice({{0x1000, idle}, {0x2000, busy}, {0x1000, busy}, {0x2000, busy}});
    contention.executed(2, 1);
    EXPECT_EQ(counter("busy_periods/1"), 1U);
    EXPECT_EQ(counter("wave_instructions_while_busy/2:1"), 2U);
}

TEST_F(Periods, intervals_are_recorded_on_the_clock_of_the_gpu) {
    record_intervals();
    now = 10;
    slice({{0x1000, busy}, {0x2000, busy}});
    now = 20; // both leave
    slice({{0x2000, busy}}, true);
    slice({});
    now = 35;
    slice({{0x1000, busy}});
    now = 80;
    slice({{0x1000, idle}});
    now = 90;
    slice({{0x1000, idle}, {0x2000, busy}});
    EXPECT_EQ(intervals["busy_intervals/1"], (Intervals{{10, 80}}));
    EXPECT_EQ(intervals["stopped_intervals/2"], (Intervals{{35, 90}}));
    EXPECT_TRUE(intervals["stopped_intervals/1"].empty());
}

TEST_F(Periods, no_interval_is_recorded_after_the_recorder_was_removed) {
    record_intervals();
    slice({{0x1000, busy}});
    contention.record_intervals({});
    slice({{0x1000, idle}});
    EXPECT_TRUE(intervals.empty());
}

// Waits for its gate to open.
constexpr const char* gated_kernel = R"(
    s_load_dwordx2 s[4:5], s[0:1], 0x0
    s_mov_b64 exec, 1
    v_mov_b32 v0, 0
    s_waitcnt lgkmcnt(0)
wait:
    global_load_dword v2, v0, s[4:5] sc0 sc1
    s_waitcnt vmcnt(0)
    v_readfirstlane_b32 s10, v2
    s_cmp_eq_u32 s10, 0
    s_cbranch_scc1 wait
    s_endpgm
)";

// The same on a GPU: a server and a batch job, each with an AQL queue.
class Contenders : public test::UserQueues {
protected:
    static constexpr std::uint32_t server_doorbell = 0x1000;
    static constexpr std::uint32_t batch_doorbell = 0x2000;

    void SetUp() override {
        UserQueues::SetUp();
        for (const Process& process : {server, batch}) {
            load_kernel(process);
            gpu.put(process.page(2) + 8, std::int64_t{100});
        }
        make_queue(0x10000, server_doorbell);
        make_queue(0x20000, batch_doorbell);
        map(true);
    }
    // Wave data begins behind the 4 KiB of the control stack, in page 3.
    void make_queue(std::uint64_t mqd, std::uint32_t doorbell) {
        make_mqd(mqd, doorbell);
        gpu.put(mqd + 4 * (hqd::mqd_dword + hqd::ctx_save_base), user_va + 0x2000);
        gpu.put(mqd + 4 * (hqd::mqd_dword + hqd::ctx_save_size), 0x5000U);
    }
    void load_kernel(const Process& process) {
        const auto handler = test::trap_handler();
        std::memcpy(gpu.vram.data() + process.page(12), handler.data(), handler.size_bytes());
        const std::uint64_t object = process.page(8);
        gpu.put(object + 16, std::uint64_t{256});      // code
        gpu.put(object + 44, 1U);                      // 8 VGPRs, none of them AccVGPRs
        gpu.put(object + 48, 6U << 6);                 // SGPRs
        gpu.put(object + 52, 2U << 1 | 1U << 7);       // user SGPRs, workgroup id
        gpu.put(object + 56, std::uint16_t{1U << 3});  // kernarg pointer
        gpu.put(process.page(9), user_va + 0xb000ULL); // the gate
        std::uint64_t at = object + 256;
        for (const std::uint32_t word : test::assemble(gated_kernel)) {
            gpu.put(at, word);
            at += 4;
        }
    }
    void map(bool with_batch) {
        list_process(server, user_va + 0xc000);
        list_queue(0x10000, server_doorbell);
        list_process(batch, user_va + 0xc000);
        if (with_batch)
            list_queue(0x20000, batch_doorbell);
        start_runlist();
    }
    // One wave, which runs until the gate opens.
    void dispatch(const Process& process, std::uint32_t doorbell) {
        const auto index = gpu.get<std::uint64_t>(process.page(1));
        const std::uint32_t words[] = {2U | 1U << 16,
                                       64U | 1U << 16,
                                       1,
                                       64,
                                       1,
                                       1,
                                       0,
                                       0,
                                       low_half(user_va + 0x8000),
                                       high_half(user_va + 0x8000),
                                       low_half(user_va + 0x9000),
                                       high_half(user_va + 0x9000),
                                       0,
                                       0,
                                       low_half(signal_va),
                                       high_half(signal_va)};
        for (std::size_t i = 16; i-- > 0;)
            gpu.put(process.page(0) + index % 64 * 64 + i * 4, words[i]);
        gpu.put(process.page(1), index + 1);
        gpu.device.write_doorbell(doorbell, index);
    }
    void set_gate(const Process& process, bool open) { gpu.put(process.page(11), open ? 1U : 0U); }
    void run(unsigned slices) {
        for (unsigned i = 0; i < slices; ++i)
            gpu.device.run(1000);
    }
    void unmap_all() {
        unmap(++fences);
        while (gpu.get<std::uint64_t>(test::fence) != fences)
            gpu.device.run(1000);
    }
    std::uint64_t counter(const std::string& name) { return gpu.observer.counters[name]; }
    std::uint64_t while_busy() { return counter("wave_instructions_while_busy/2:1"); }
    std::uint64_t after_stop() { return counter("wave_instructions_after_stop/2:1"); }

    Process server = make_process(1 * mib, 1);
    Process batch = make_process(2 * mib, 2);
    std::uint64_t fences = 0;
};

TEST_F(Contenders, the_batch_executes_alone_beside_and_alone_again) {
    dispatch(batch, batch_doorbell);
    run(10);
    EXPECT_EQ(counter("wave_instructions_by_pasid/2"), 10'000U);
    EXPECT_EQ(while_busy(), 0U);
    dispatch(server, server_doorbell);
    run(10);
    EXPECT_EQ(counter("wave_instructions_by_pasid/1") + while_busy(), 10'000U);
    EXPECT_GT(while_busy(), 4000U);
    set_gate(server, true);
    run(1); // the server's wave ends within it
    const std::uint64_t shared = while_busy();
    run(10);
    EXPECT_EQ(while_busy(), shared);
    EXPECT_EQ(counter("wave_instructions_by_pasid/1") + counter("wave_instructions_by_pasid/2"),
              counter("wave_instructions"));
    EXPECT_EQ(counter("busy_periods/1"), 1U);
}

TEST_F(Contenders, a_stopped_batch_executes_nothing_until_it_is_mapped_again) {
    dispatch(batch, batch_doorbell);
    run(5);
    dispatch(server, server_doorbell);
    run(5);
    unmap_all();
    map(false);
    const std::uint64_t reaction = while_busy();
    EXPECT_GT(reaction, 0U);
    run(10);
    EXPECT_EQ(while_busy(), reaction);
    EXPECT_EQ(counter("busy_periods_stopped/2:1"), 1U);
    // Too early: the server isn't done.
    unmap_all();
    map(true);
    run(10);
    EXPECT_GT(after_stop(), 1000U);
    EXPECT_EQ(while_busy(), reaction + after_stop());
    EXPECT_EQ(counter("busy_periods/1"), 1U);
}

TEST_F(Contenders, a_batch_that_comes_back_in_time_steals_nothing) {
    dispatch(batch, batch_doorbell);
    dispatch(server, server_doorbell);
    run(5);
    unmap_all();
    map(false);
    run(5);
    set_gate(server, true);
    run(5);
    unmap_all();
    map(true);
    run(5);
    set_gate(server, false);
    dispatch(server, server_doorbell);
    run(5);
    EXPECT_EQ(after_stop(), 0U);
    EXPECT_EQ(counter("busy_periods/1"), 2U);
    EXPECT_EQ(counter("busy_periods_shared/2:1"), 2U);
    EXPECT_EQ(counter("busy_periods_stopped/2:1"), 1U);
}

// Half of the GPU is the batch's until it is stopped: the clock has what the server waited for.
TEST_F(Contenders, a_paced_clock_has_what_the_other_process_executed) {
    gpu.device.set_paced(true);
    std::vector<std::pair<std::uint64_t, std::uint64_t>> busy;
    gpu.device.record_intervals(
        [&busy](std::string_view list, std::uint64_t begin, std::uint64_t end) {
            if (list == "busy_intervals/1")
                busy.emplace_back(begin, end);
        });
    dispatch(batch, batch_doorbell);
    dispatch(server, server_doorbell);
    run(10);
    unmap_all();
    map(false);
    run(4);
    set_gate(server, true);
    run(2);
    ASSERT_EQ(busy.size(), 1U);
    // Ten slices, at least one for the save, five until the wave has ended.
    EXPECT_GE(busy[0].second - busy[0].first, 16'000U);
    EXPECT_LE(busy[0].second - busy[0].first, 20'000U);
    EXPECT_GT(while_busy(), 4000U);
    // The GPU is idle, and its clock passes.
    const std::uint64_t before = counter("gpu_clock");
    run(3);
    EXPECT_EQ(counter("gpu_clock") - before, 3000U);
}

TEST_F(Contenders, no_wave_executes_in_a_slice_of_no_length) {
    dispatch(batch, batch_doorbell);
    run(1);
    const std::uint64_t executed = counter("wave_instructions");
    for (unsigned i = 0; i < 5; ++i)
        gpu.device.run(0);
    EXPECT_EQ(counter("wave_instructions"), executed);
}

// The server is off already while the batch is still on its way.
TEST_F(Contenders, a_queue_that_leaves_late_ends_no_period) {
    dispatch(batch, batch_doorbell);
    dispatch(server, server_doorbell);
    run(5);
    gpu.arm("unmap-never:doorbell=0x2000");
    unmap(++fences);
    run(5);
    gpu.faults.disarm_all();
    run(5);
    ASSERT_EQ(gpu.get<std::uint64_t>(test::fence), fences);
    map(true);
    run(5);
    EXPECT_EQ(counter("busy_periods/1"), 1U);
    EXPECT_EQ(after_stop(), 0U);
}

// The driver sends one whenever any process makes or destroys a queue.
TEST_F(Contenders, another_runlist_with_both_is_no_stop) {
    dispatch(batch, batch_doorbell);
    dispatch(server, server_doorbell);
    run(5);
    for (unsigned i = 0; i < 3; ++i) {
        unmap_all();
        map(true);
        run(5);
    }
    EXPECT_EQ(after_stop(), 0U);
    EXPECT_EQ(counter("busy_periods/1"), 1U);
    EXPECT_EQ(counter("busy_periods/2"), 1U);
    EXPECT_EQ(counter("busy_periods_stopped/2:1"), 0U);
}

} // namespace
} // namespace vgpu
