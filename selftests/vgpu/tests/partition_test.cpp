// SPDX-License-Identifier: MIT
// One queue on four XCCs: who runs which workgroup, when a packet is complete, and queues that
// come and go XCC by XCC.
#include "sq/support/assembler.hpp"
#include "sq/support/trap_handler.hpp"
#include "user_queues.hpp"

#include "model/cp/amd_queue.hpp"
#include "model/regs/dies.hpp"
#include "tables/discovery.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace vgpu {
namespace {

using test::fence;
using test::mib;
using test::Process;
using test::signal_va;
using test::user_va;
using ::testing::HasSubstr;

constexpr unsigned xccs = 4;
constexpr Dies dies(xccs);
constexpr std::uint64_t mqd = 0x10000;
constexpr std::uint64_t mqd_stride = 0x2000; // the MQD and its control stack
constexpr std::uint32_t doorbell = 0x1000;
constexpr HqdAddress slot{1, 0, 2}; // the first that the runlist may use

// Arguments: a counter for each workgroup, a gate for each workgroup. It waits for its gate to
// open and adds 256 + XCC_ID to its counter.
constexpr const char* gated_kernel = R"(
    s_load_dwordx4 s[4:7], s[0:1], 0x0
    s_mov_b64 exec, 1
    s_getreg_b32 s8, hwreg(20)
    s_add_u32 s8, s8, 0x100
    s_lshl_b32 s9, s2, 2
    v_mov_b32 v0, s9
    v_mov_b32 v1, s8
    s_waitcnt lgkmcnt(0)
wait:
    global_load_dword v2, v0, s[6:7] sc0 sc1
    s_waitcnt vmcnt(0)
    v_readfirstlane_b32 s10, v2
    s_cmp_eq_u32 s10, 0
    s_cbranch_scc1 wait
    global_atomic_add v0, v1, s[4:5] sc1
    s_waitcnt vmcnt(0)
    s_endpgm
)";

// Each workgroup tells where its scratch lies.
constexpr const char* scratch_kernel = R"(
    s_load_dwordx2 s[4:5], s[0:1], 0x0
    s_mov_b64 exec, 1
    s_lshl_b32 s9, s2, 2
    v_mov_b32 v0, s9
    v_mov_b32 v1, flat_scratch_lo
    s_waitcnt lgkmcnt(0)
    global_store_dword v0, v1, s[4:5]
    s_endpgm
)";

class Partition : public test::UserQueues {
protected:
    Partition() : UserQueues({.xccs = xccs}) {}

    void SetUp() override {
        UserQueues::SetUp();
        for (unsigned xcc = 0; xcc < xccs; ++xcc) {
            const std::uint64_t own = mqd + xcc * mqd_stride;
            make_mqd(own, doorbell);
            gpu.put(own + 4 * 39, (xcc + 1) % xccs); // logical XCC: any rotation is as good
            gpu.put(own + 4 * 41, 1U);               // workgroups in a chunk
            gpu.put(own + 4 * 226, static_cast<std::uint32_t>(mqd_stride));
            // Wave data begins behind the 4 KiB of the control stack: in page 3 and the next.
            const std::uint64_t area = user_va + 0x2000 + xcc * 0x1000ULL;
            gpu.put(own + 4 * (hqd::mqd_dword + hqd::ctx_save_base), area);
            gpu.put(own + 4 * (hqd::mqd_dword + hqd::ctx_save_size), 0x2000U);
        }
        const auto handler = test::trap_handler();
        std::memcpy(gpu.vram.data() + process.page(12), handler.data(), handler.size_bytes());
        load_kernel(gated_kernel);
        gpu.put(process.page(2) + 8, std::int64_t{100});
        map();
    }

    void load_kernel(const char* text, std::uint32_t private_segment = 0) {
        const std::uint64_t object = process.page(8);
        gpu.put(object + 16, std::uint64_t{256});                  // code
        gpu.put(object + 44, 1U);                                  // 8 VGPRs, none of them AccVGPRs
        gpu.put(object + 48, 6U << 6);                             // SGPRs
        gpu.put(object + 52, private_segment | 2U << 1 | 1U << 7); // user SGPRs, workgroup id
        gpu.put(object + 56, std::uint16_t{1U << 3});
        std::uint64_t at = object + 256;
        for (const std::uint32_t word : test::assemble(text)) {
            gpu.put(at, word);
            at += 4;
        }
        gpu.put(process.page(9), counters_va);
        gpu.put(process.page(9) + 8, gates_va);
    }
    void map() {
        list_process(process, trap_va);
        list_queue(mqd, doorbell);
        start_runlist();
    }
    void open_gate(unsigned workgroup) { gpu.put(process.page(11) + 4 * workgroup, 1U); }
    void open_all_gates() {
        for (unsigned i = 0; i < 64; ++i)
            open_gate(i);
    }
    std::uint32_t counter(unsigned workgroup) const {
        return gpu.get<std::uint32_t>(process.page(10) + 4 * workgroup);
    }
    void dispatch(std::uint32_t workgroups, bool barrier = false, std::uint32_t private_bytes = 0) {
        const std::uint32_t words[] = {2U | (barrier ? 1U << 8 : 0U) | 1U << 16,
                                       64U | 1U << 16,
                                       1,
                                       64 * workgroups,
                                       1,
                                       1,
                                       private_bytes,
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
            gpu.put(process.page(0) + sent % 64 * 64 + i * 4, words[i]);
        gpu.put(process.page(1), ++sent);
        gpu.device.write_doorbell(doorbell, sent - 1);
    }
    std::int64_t completed() const { return 100 - gpu.get<std::int64_t>(process.page(2) + 8); }
    std::uint64_t read_index() const { return gpu.get<std::uint64_t>(process.page(1) + 0x80); }
    // A gate that is closed keeps its wave busy for ever.
    void run_for_a_while() {
        for (unsigned i = 0; i < 20; ++i)
            gpu.device.run(4000);
    }

    // As the driver does without a hardware scheduler.
    void write(unsigned xcc, std::uint32_t dword, std::uint32_t value) {
        gpu.device.write_register(dies.xcc_offset(xcc) + dword, value);
    }
    void select(unsigned xcc) {
        write(xcc, reg::gc::GRBM_GFX_CNTL, slot.me << 2 | slot.queue << 8);
    }
    bool active(unsigned xcc) {
        select(xcc);
        return gpu.device.read_register(dies.xcc_offset(xcc) + reg::gc::CP_HQD_ACTIVE) == 1;
    }
    void dequeue(unsigned xcc, std::uint32_t type) {
        select(xcc);
        write(xcc, reg::gc::CP_HQD_DEQUEUE_REQUEST, type);
    }
    void load(unsigned xcc) {
        const std::uint64_t own = mqd + xcc * mqd_stride;
        select(xcc);
        for (std::uint32_t index = 0; index < hqd::count; ++index)
            if (index != hqd::active && index != hqd::dequeue_request)
                write(xcc, hqd::first + index,
                      gpu.get<std::uint32_t>(own + 4 * (hqd::mqd_dword + index)));
        write(xcc, reg::gc::CP_MQD_BASE_ADDR, low_half(TestGpu::mc(own)));
        write(xcc, reg::gc::CP_MQD_BASE_ADDR + 1, high_half(TestGpu::mc(own)));
        write(xcc, reg::gc::CP_HQD_VMID, 8);
        write(xcc, reg::gc::CP_HQD_PQ_WPTR_POLL_ADDR, low_half(test::write_index_va));
        write(xcc, reg::gc::CP_HQD_PQ_WPTR_POLL_ADDR + 1, high_half(test::write_index_va));
        write(xcc, reg::gc::CP_HQD_ACTIVE, 1);
    }

    using TestGpu = test::TestGpu;
    static constexpr std::uint64_t trap_va = user_va + 0xc000;
    static constexpr std::uint64_t counters_va = user_va + 0xa000;
    static constexpr std::uint64_t gates_va = user_va + 0xb000;
    Process process = make_process(1 * mib, 0x8001);
    std::uint64_t sent = 0;
};

constexpr std::uint32_t drain = 1;
constexpr std::uint32_t reset = 2;
constexpr std::uint32_t save = 3;

TEST_F(Partition, workgroups_go_round_the_xccs) {
    open_all_gates();
    dispatch(10);
    run_for_a_while();
    EXPECT_EQ(completed(), 1);
    // Logical XCC 0 is physical XCC 3 here.
    for (unsigned i = 0; i < 10; ++i)
        EXPECT_EQ(counter(i), 0x100 + (i + 3) % xccs) << "workgroup " << i;
    EXPECT_EQ(counter(10), 0U);
    for (unsigned xcc = 0; xcc < xccs; ++xcc)
        EXPECT_EQ(gpu.observer.counters["dispatches_by_xcc/" + std::to_string(xcc)], 1U);
    EXPECT_EQ(gpu.observer.counters["dispatches"], 1U);
}

TEST_F(Partition, dispatch_smaller_than_the_partition_completes) {
    open_all_gates();
    for (unsigned i = 0; i < 9; ++i)
        dispatch(1);
    run_for_a_while();
    EXPECT_EQ(completed(), 9);
    EXPECT_EQ(read_index(), 9U);
    EXPECT_EQ(counter(0), 9U * 0x103);
}

// ROCr sizes the ring for all XCCs, and COMPUTE_TMPRING_SIZE for one of them.
TEST_F(Partition, each_xcc_has_its_part_of_the_scratch) {
    constexpr std::uint32_t ring_waves = 5;
    constexpr std::uint32_t part_bytes = ring_waves * 2048;
    constexpr std::uint32_t base = 0x4000'0000;
    load_kernel(scratch_kernel, 1);
    unmap(1);
    gpu.put(process.page(1) + amd_queue::compute_tmpring_size, ring_waves | 2U << 12);
    gpu.put(process.page(1) + amd_queue::scratch_backing_memory_location, std::uint64_t{base});
    gpu.put(process.page(1) + amd_queue::scratch_wave64_lane_byte_size, 2048U / 64);
    map();
    dispatch(xccs, false, 32);
    run_for_a_while();
    ASSERT_EQ(completed(), 1);
    std::vector<std::uint32_t> places;
    for (unsigned workgroup = 0; workgroup < xccs; ++workgroup)
        places.push_back(counter(workgroup) - base);
    EXPECT_THAT(places,
                ::testing::UnorderedElementsAre(0, part_bytes, 2 * part_bytes, 3 * part_bytes));
}

// Also the XCCs that get no workgroup: those that do may begin after the queue was unmapped.
TEST_F(Partition, each_xcc_says_which_packet_used_scratch_last) {
    open_all_gates();
    unmap(1);
    const std::uint64_t queue = process.page(1);
    gpu.put(queue + amd_queue::caps, 1U << amd_queue::cap_sw_async_reclaim);
    gpu.put(queue + amd_queue::scratch_max_use_index, ~0ULL);
    gpu.put(queue + amd_queue::scratch_wave64_lane_byte_size, 2048U / 64);
    gpu.put(queue + amd_queue::compute_tmpring_size, 5U | 2U << 12);
    map();
    dispatch(1);
    dispatch(1, false, 32); // one workgroup, which isn't for the leader
    run_for_a_while();
    ASSERT_EQ(completed(), 2);
    for (unsigned xcc = 0; xcc < xccs; ++xcc)
        EXPECT_EQ(gpu.get<std::uint64_t>(queue + amd_queue::scratch_last_used_index +
                                         xcc * amd_queue::last_used_stride),
                  1U)
            << "XCC " << xcc;
}

TEST_F(Partition, packet_completes_with_its_last_xcc_and_barriers_wait_for_it) {
    for (const unsigned open : {0U, 1U, 3U})
        open_gate(open);
    dispatch(4);
    dispatch(1, true);
    run_for_a_while();
    EXPECT_EQ(completed(), 0);
    EXPECT_EQ(read_index(), 0U);
    EXPECT_EQ(counter(0), 0x103U); // the packet with the barrier bit hasn't begun
    open_gate(2);
    run_for_a_while();
    EXPECT_EQ(completed(), 2);
    EXPECT_EQ(read_index(), 2U);
    EXPECT_EQ(counter(0), 0x206U);
}

TEST_F(Partition, packet_without_barrier_bit_may_complete_first) {
    open_gate(0);
    open_gate(1);
    dispatch(3);
    dispatch(2);
    run_for_a_while();
    EXPECT_EQ(completed(), 1);
    EXPECT_EQ(read_index(), 0U);
    open_gate(2);
    run_for_a_while();
    EXPECT_EQ(completed(), 2);
    EXPECT_EQ(read_index(), 2U);
}

TEST_F(Partition, barrier_packet_completes_once) {
    write_barrier(process, sent++, 0, signal_va);
    gpu.device.write_doorbell(doorbell, sent - 1);
    EXPECT_EQ(completed(), 1);
    EXPECT_EQ(read_index(), 1U);
}

TEST_F(Partition, xcc_that_is_last_completes_what_others_have_left) {
    for (const unsigned open : {0U, 1U, 3U})
        open_gate(open);
    dispatch(4); // workgroup 2 is on XCC 1
    run_for_a_while();
    for (unsigned xcc = 0; xcc < xccs; ++xcc)
        dequeue(xcc, drain);
    run_for_a_while();
    for (unsigned xcc = 0; xcc < xccs; ++xcc)
        EXPECT_EQ(active(xcc), xcc == 1) << "XCC " << xcc;
    EXPECT_EQ(completed(), 0);
    open_gate(2);
    run_for_a_while();
    EXPECT_FALSE(active(1));
    EXPECT_EQ(completed(), 1);
    EXPECT_EQ(read_index(), 1U);
}

TEST_F(Partition, waves_of_each_xcc_are_saved_in_its_own_area) {
    dispatch(4);
    run_for_a_while();
    unmap(1);
    run_for_a_while();
    EXPECT_EQ(gpu.get<std::uint64_t>(fence), 1U);
    EXPECT_EQ(gpu.observer.counters["waves_saved"], 4U);
    for (unsigned xcc = 0; xcc < xccs; ++xcc) {
        const std::uint64_t own = mqd + xcc * mqd_stride;
        EXPECT_LT(gpu.get<std::uint32_t>(own + 4 * (hqd::mqd_dword + hqd::cntl_stack_offset)),
                  0x1000U);
        EXPECT_EQ(gpu.get<std::uint32_t>(process.page(3 + xcc) + 256), 0x100 + xcc); // v1
    }
    open_all_gates();
    map();
    run_for_a_while();
    EXPECT_EQ(completed(), 1);
    for (unsigned i = 0; i < 4; ++i)
        EXPECT_EQ(counter(i), 0x100 + (i + 3) % xccs) << "workgroup " << i;
}

// Packet 1 is done on XCC 1, which is then saved with a wave of packet 0. XCC 2 ends packet 1
// meanwhile and can't know that it is the last.
TEST_F(Partition, packet_done_out_of_order_is_completed_when_its_xcc_comes_back) {
    for (const unsigned open : {0U, 1U, 2U, 4U, 5U})
        open_gate(open);
    dispatch(7); // workgroup 3 waits on XCC 2, workgroup 6 on XCC 1
    dispatch(4); // workgroup 3 waits on XCC 2
    run_for_a_while();
    dequeue(1, save);
    run_for_a_while();
    EXPECT_FALSE(active(1));
    open_gate(3);
    run_for_a_while();
    EXPECT_EQ(completed(), 0);
    load(1);
    run_for_a_while();
    EXPECT_EQ(completed(), 1);
    EXPECT_EQ(read_index(), 0U);
    open_gate(6);
    run_for_a_while();
    EXPECT_EQ(completed(), 2);
    EXPECT_EQ(read_index(), 2U);
    for (unsigned i = 0; i < 4; ++i)
        EXPECT_EQ(counter(i) >> 8, 2U) << "workgroup " << i;
}

TEST_F(Partition, queue_loaded_xcc_by_xcc_goes_on_where_it_was) {
    open_all_gates();
    dispatch(6);
    run_for_a_while();
    for (unsigned xcc = 0; xcc < xccs; ++xcc)
        dequeue(xcc, drain);
    run_for_a_while();
    dispatch(6); // no queue is there
    for (unsigned xcc = 0; xcc < xccs; ++xcc) {
        EXPECT_EQ(completed(), 1) << "before XCC " << xcc;
        load(xcc);
        run_for_a_while();
    }
    EXPECT_EQ(completed(), 2);
    for (unsigned i = 0; i < 6; ++i)
        EXPECT_EQ(counter(i), 2 * (0x100 + (i + 3) % xccs)) << "workgroup " << i;
}

TEST_F(Partition, packet_dropped_by_one_xcc_never_completes_and_the_queue_goes_on) {
    dispatch(4);
    run_for_a_while();
    dequeue(0, reset);
    open_all_gates();
    run_for_a_while(); // the others end their share
    EXPECT_EQ(completed(), 0);
    for (unsigned xcc = 1; xcc < xccs; ++xcc)
        dequeue(xcc, reset);
    run_for_a_while();
    for (unsigned xcc = 0; xcc < xccs; ++xcc)
        load(xcc);
    dispatch(4);
    run_for_a_while();
    EXPECT_EQ(completed(), 1);
    EXPECT_EQ(read_index(), 2U);
}

TEST_F(Partition, fence_of_the_hiq_waits_for_all_xccs) {
    gpu.arm("unmap-never:xcc=2");
    unmap(7);
    run_for_a_while();
    EXPECT_EQ(gpu.get<std::uint64_t>(fence), 0U);
    EXPECT_FALSE(active(0));
    EXPECT_TRUE(active(2));
    gpu.faults.disarm_all();
    run_for_a_while();
    EXPECT_EQ(gpu.get<std::uint64_t>(fence), 7U);
    EXPECT_FALSE(active(2));
}

TEST_F(Partition, xcc_that_skips_an_unmap_runs_its_workgroups_on) {
    dispatch(4);
    run_for_a_while();
    gpu.arm("unmap-skipped:xcc=2");
    unmap(7);
    run_for_a_while();
    EXPECT_EQ(gpu.get<std::uint64_t>(fence), 7U);
    for (unsigned xcc = 0; xcc < xccs; ++xcc)
        EXPECT_EQ(active(xcc), xcc == 2) << "XCC " << xcc;
    open_all_gates();
    run_for_a_while();
    for (unsigned i = 0; i < 4; ++i)
        EXPECT_EQ(counter(i), (i + 3) % xccs == 2 ? 0x102U : 0U) << "workgroup " << i;
    map();
    run_for_a_while();
    EXPECT_EQ(completed(), 1);
    for (unsigned i = 0; i < 4; ++i)
        EXPECT_EQ(counter(i), 0x100 + (i + 3) % xccs) << "workgroup " << i;
    unmap(8);
    EXPECT_FALSE(active(2));
}

// As set_grace_period() of the driver's packet manager does.
TEST_F(Partition, hiq_writes_the_wait_times_of_each_xcc_but_the_one_that_misses_them) {
    constexpr std::uint32_t wait_time = reg::gc::CP_IQ_WAIT_TIME2;
    const std::uint32_t usual = gpu.device.read_register(wait_time);
    const auto write_by_hiq = [this](std::uint32_t value) {
        gpu.submit(hiq, pm4::Opcode::write_data, {1U << 16, wait_time, 0, value});
        gpu.ring_doorbell(hiq);
    };
    const auto value_on = [this](unsigned xcc) {
        return gpu.device.read_register(dies.xcc_offset(xcc) + wait_time);
    };
    write_by_hiq(0x4040'0140);
    for (unsigned xcc = 0; xcc < xccs; ++xcc)
        EXPECT_EQ(value_on(xcc), 0x4040'0140U) << "XCC " << xcc;
    gpu.arm("grace-lost:xcc=3");
    write_by_hiq(usual);
    for (unsigned xcc = 0; xcc < xccs; ++xcc)
        EXPECT_EQ(value_on(xcc), xcc == 3 ? 0x4040'0140U : usual) << "XCC " << xcc;
    write_by_hiq(usual);
    EXPECT_EQ(value_on(3), usual);
}

TEST_F(Partition, each_xcc_has_its_registers) {
    for (unsigned xcc = 0; xcc < xccs; ++xcc)
        write(xcc, reg::gc::SCRATCH_REG0, 0x100 + xcc);
    for (unsigned xcc = 0; xcc < xccs; ++xcc)
        EXPECT_EQ(gpu.device.read_register(dies.xcc_offset(xcc) + reg::gc::SCRATCH_REG0),
                  0x100 + xcc);
    // VIRTUAL_XCC_ID, NUM_XCC_IN_XCP
    EXPECT_EQ(gpu.device.read_register(dies.xcc_offset(3) + reg::gc::CP_HYP_XCP_CTL), 3U | 4U << 3);
    EXPECT_THAT(gpu.observer.events.back(), HasSubstr("xcc3.gc.CP_HYP_XCP_CTL"));
}

// A kernel queue of XCC 2 names its own registers by their low 16 bits.
TEST_F(Partition, packets_of_an_xcc_reach_its_own_registers) {
    constexpr unsigned xcc = 2;
    write(xcc, reg::gc::GRBM_GFX_CNTL, 1U << 2 | 1U << 8); // ME 1, queue 1
    const std::uint64_t base = TestGpu::mc(0x4000) >> 8;
    write(xcc, reg::gc::CP_HQD_PQ_BASE, low_half(base));
    write(xcc, reg::gc::CP_HQD_PQ_BASE_HI, high_half(base));
    write(xcc, reg::gc::CP_HQD_PQ_CONTROL, 9);
    write(xcc, reg::gc::CP_HQD_PQ_DOORBELL_CONTROL, 0x800 << 2);
    write(xcc, reg::gc::CP_HQD_ACTIVE, 1);
    TestGpu::KernelQueue queue{0x4000, 0x800, 0};
    gpu.submit(queue, pm4::Opcode::set_uconfig_reg, {reg::gc::SCRATCH_REG0 - 0xc000, 0xdead'beef});
    gpu.ring_doorbell(queue);
    EXPECT_EQ(gpu.device.read_register(dies.xcc_offset(xcc) + reg::gc::SCRATCH_REG0), 0xdead'beefU);
    EXPECT_EQ(gpu.device.read_register(reg::gc::SCRATCH_REG0), 0U);
}

// Stops and resumes, one after the other; a schedule chooses when each of them is done on each XCC.
class Stops : public Partition {
public:
    struct Outcome {
        unsigned early = 0; // fences that were written while the queue was in its slot
        bool right = false; // every workgroup of every dispatch ran once
        std::vector<std::string> events;
    };

    static Outcome of(std::optional<std::uint64_t> seed, std::string_view fault = {}) {
        Stops stops;
        if (seed)
            stops.gpu.device.follow_schedule(*seed);
        if (!fault.empty())
            stops.gpu.arm(fault);
        stops.SetUp();
        return stops.make();
    }

private:
    static constexpr unsigned rounds = 12;

    void TestBody() override {}

    // False when it doesn't come about.
    template <class Condition> bool run_until(Condition condition) {
        for (unsigned i = 0; i < 5000; ++i) {
            if (condition())
                return true;
            gpu.device.run(400);
        }
        return condition();
    }
    Outcome make() {
        Outcome outcome;
        bool proceeds = true;
        for (unsigned round = 1; round <= rounds && proceeds; ++round) {
            dispatch(xccs); // a CWSR area has room for one wave
            for (unsigned i = 0; i < round; ++i)
                gpu.device.run(400);
            for (unsigned i = 0; i < round % xccs; ++i)
                open_gate(i);
            unmap(round);
            proceeds = run_until([&] { return gpu.get<std::uint64_t>(fence) == round; });
            bool in_slot = false;
            for (unsigned xcc = 0; xcc < xccs; ++xcc)
                in_slot |= active(xcc);
            outcome.early += in_slot ? 1 : 0;
            map();
            open_all_gates();
            proceeds &= run_until([&] { return completed() == round && read_index() == round; });
            std::memset(gpu.vram.data() + process.page(11), 0, 4 * xccs);
        }
        outcome.right = proceeds && gpu.observer.unknown.empty();
        for (unsigned i = 0; i < xccs; ++i)
            outcome.right &= counter(i) == rounds * (0x100 + (i + 3) % xccs);
        outcome.events = std::move(gpu.observer.events);
        return outcome;
    }
};

TEST(PartitionSchedule, no_order_loses_or_repeats_work) {
    for (std::uint64_t seed = 1; seed <= 50; ++seed) {
        const auto outcome = Stops::of(seed);
        EXPECT_TRUE(outcome.right) << "seed " << seed;
        EXPECT_EQ(outcome.early, 0U) << "seed " << seed;
    }
}

TEST(PartitionSchedule, seed_replays_exactly) {
    const auto first = Stops::of(3);
    EXPECT_EQ(Stops::of(3).events, first.events);
    EXPECT_NE(Stops::of(4).events, first.events);
}

// Without a seed a queue is stored as soon as its waves are saved: the fault can't strike.
TEST(PartitionSchedule, only_a_seed_finds_a_fence_before_the_end_of_a_save) {
    constexpr std::string_view fault = "early-fence:count=1000";
    EXPECT_EQ(Stops::of({}, fault).early, 0U);
    EXPECT_TRUE(Stops::of({}, fault).right);
    EXPECT_GT(Stops::of(1, fault).early, 0U);
}

} // namespace
} // namespace vgpu
