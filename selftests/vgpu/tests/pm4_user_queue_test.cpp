// SPDX-License-Identifier: MIT
// A user's PM4 queue: dispatches by registers, and what a queue that left brings back.
#include "sq/support/assembler.hpp"
#include "sq/support/trap_handler.hpp"
#include "user_queues.hpp"

#include "model/cp/compute_registers.hpp"

#include <string>

namespace vgpu {
namespace {

using pm4::Opcode;
using test::fence;
using test::mib;
using test::Process;
using test::user_va;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::uint64_t mqd = 0x10000;
constexpr std::uint64_t mqd_stride = 0x3000; // the MQD and its control stack
constexpr std::uint32_t doorbell = 0x1000;

// Places in the pages of the process.
constexpr std::uint64_t flag_va = user_va + 0x3000;
constexpr std::uint64_t buffer_va = user_va + 0x7000; // indirect buffer
constexpr std::uint64_t code_va = user_va + 0x8000;
constexpr std::uint64_t counters_va = user_va + 0xa000;
constexpr std::uint64_t gates_va = user_va + 0xb000;
constexpr std::uint64_t trap_va = user_va + 0xc000;

constexpr std::uint32_t shader_enable = 1;
constexpr std::uint32_t partial_workgroups = 2;
constexpr std::uint32_t force_start_at_000 = 4;
constexpr std::uint32_t use_thread_dimensions = 0x20;

// User data: counters, gates. The workgroup waits for its gate to open and adds its work-items to
// its counter.
constexpr const char* gated_kernel = R"(
    s_bcnt1_i32_b64 s8, exec
    s_mov_b64 exec, 1
    s_lshl_b32 s9, s4, 2
    v_mov_b32 v0, s9
    v_mov_b32 v1, s8
wait:
    global_load_dword v2, v0, s[2:3] sc0 sc1
    s_waitcnt vmcnt(0)
    v_readfirstlane_b32 s10, v2
    s_cmp_eq_u32 s10, 0
    s_cbranch_scc1 wait
    global_atomic_add v0, v1, s[0:1] sc1
    s_waitcnt vmcnt(0)
    s_endpgm
)";

using Words = std::vector<std::uint32_t>;

class Pm4Queue : public test::UserQueues {
protected:
    explicit Pm4Queue(unsigned xcc_count = 1) : UserQueues({.xccs = xcc_count}), xccs(xcc_count) {}

    void SetUp() override {
        UserQueues::SetUp();
        for (unsigned xcc = 0; xcc < xccs; ++xcc) {
            const std::uint64_t own = mqd + xcc * mqd_stride;
            make_mqd(own, doorbell);
            set_hqd(own, hqd::aql_control, 0U);
            set_hqd(own, hqd::ctx_save_base, user_va + 0x2000);
            set_hqd(own, hqd::ctx_save_size, 0x4000U);
            gpu.put(own + 4 * 225, 0U); // the XCC that executes the packets
            gpu.put(own + 4 * 226, static_cast<std::uint32_t>(mqd_stride));
        }
        const auto handler = test::trap_handler();
        std::memcpy(gpu.vram.data() + page_of(trap_va), handler.data(), handler.size_bytes());
        std::uint64_t at = page_of(code_va);
        for (const std::uint32_t word : test::assemble(gated_kernel)) {
            gpu.put(at, word);
            at += 4;
        }
        map();
    }
    template <class T> void set_hqd(std::uint64_t own, std::uint32_t index, T value) {
        gpu.put(own + 4 * (hqd::mqd_dword + index), value);
    }
    std::uint32_t mqd_dword(std::uint32_t dword) const {
        return gpu.get<std::uint32_t>(mqd + 4 * dword);
    }
    std::uint64_t page_of(std::uint64_t va) const {
        return process.page(static_cast<unsigned>((va - user_va) >> 12)) + (va & 0xfff);
    }
    void map() {
        list_process(process, trap_va);
        list_queue(mqd, doorbell);
        start_runlist();
    }
    // Another process with a queue comes first, and gets the VMID that was ours.
    void map_behind_another() {
        make_mqd(0x30000, 0x2000);
        list_process(other);
        list_queue(0x30000, 0x2000);
        map();
        EXPECT_EQ(vmid_of(doorbell), 9U);
    }
    void unmap_and_run() {
        unmap(++fences);
        gpu.run();
        ASSERT_EQ(gpu.get<std::uint64_t>(fence), fences);
    }

    static Words packet(Opcode opcode, const Words& body) {
        Words words = {3U << 30 | (static_cast<std::uint32_t>(body.size()) - 1) << 16 |
                       static_cast<std::uint32_t>(opcode) << 8};
        words.insert(words.end(), body.begin(), body.end());
        return words;
    }
    static Words set_sh(std::uint32_t dword, const Words& values) {
        Words body = {dword - 0x2c00};
        body.insert(body.end(), values.begin(), values.end());
        return packet(Opcode::set_sh_reg, body);
    }
    static Words write_data(std::uint64_t va, std::uint32_t value) {
        return packet(Opcode::write_data, {5U << 8, low_half(va), high_half(va), value});
    }
    static Words wait_equal(std::uint64_t va, std::uint32_t value) {
        return packet(Opcode::wait_reg_mem,
                      {3U | 1U << 4, low_half(va), high_half(va), value, ~0U, 4});
    }
    static Words release_mem(std::uint64_t va, std::uint64_t data, std::uint32_t int_sel) {
        return packet(Opcode::release_mem, {0x14 | 5U << 8, int_sel << 24 | 2U << 29, low_half(va),
                                            high_half(va), low_half(data), high_half(data), 7});
    }
    static Words indirect_buffer(std::uint32_t dwords) {
        return packet(Opcode::indirect_buffer, {low_half(buffer_va), high_half(buffer_va), dwords});
    }
    static Words dispatch(std::uint32_t x, std::uint32_t initiator = shader_enable) {
        return packet(Opcode::dispatch_direct, {x, 1, 1, initiator});
    }
    // Registers of the gated kernel, with 64 work-items a workgroup.
    static Words registers() {
        Words words;
        for (const Words& part :
             {set_sh(reg::gc::COMPUTE_START_X, {0, 0, 0, 64, 1, 1}),
              set_sh(reg::gc::COMPUTE_PGM_LO, {low_half(code_va >> 8), high_half(code_va >> 8)}),
              set_sh(reg::gc::COMPUTE_PGM_RSRC1, {6U << 6, 4U << 1 | 1U << 7}),
              set_sh(reg::gc::COMPUTE_PGM_RSRC3, {1}),
              set_sh(reg::gc::COMPUTE_USER_DATA_0, {low_half(counters_va), high_half(counters_va),
                                                    low_half(gates_va), high_half(gates_va)})})
            words.insert(words.end(), part.begin(), part.end());
        return words;
    }

    void write(const Words& words) {
        for (const std::uint32_t word : words)
            gpu.put(process.page(0) + written++ % 1024 * 4, word);
    }
    void submit() {
        gpu.put(process.page(1), written);
        gpu.device.write_doorbell(doorbell, written);
    }
    std::uint32_t write_buffer(const std::vector<Words>& packets) {
        std::uint32_t dwords = 0;
        for (const Words& words : packets)
            for (const std::uint32_t word : words)
                gpu.put(page_of(buffer_va) + 4ULL * dwords++, word);
        return dwords;
    }
    // A gate that is closed keeps its wave busy for ever.
    void run_for_a_while() {
        for (unsigned i = 0; i < 20; ++i)
            gpu.device.run(2000);
    }
    void open_gates() {
        for (unsigned i = 0; i < 64; ++i)
            gpu.put(page_of(gates_va) + 4 * i, 1U);
    }
    std::uint32_t counter(unsigned workgroup) const {
        return gpu.get<std::uint32_t>(page_of(counters_va) + 4 * workgroup);
    }
    Words counters(unsigned count) const {
        Words all;
        for (unsigned i = 0; i < count; ++i)
            all.push_back(counter(i));
        return all;
    }
    std::uint32_t flag() const { return gpu.get<std::uint32_t>(page_of(flag_va)); }
    std::uint32_t read_pointer() const { return gpu.get<std::uint32_t>(process.page(1) + 0x80); }
    // The VMID of the queue with this doorbell, on XCC 0.
    unsigned vmid_of(std::uint32_t dword) {
        constexpr std::uint32_t offset = 0x0ffffffc; // in CP_HQD_PQ_DOORBELL_CONTROL
        for (unsigned pipe = 0; pipe < 4; ++pipe)
            for (unsigned queue = 2; queue < 8; ++queue) {
                const HqdAddress at{1, pipe, queue};
                if (gpu.read_hqd(at, reg::gc::CP_HQD_ACTIVE) == 1 &&
                    (gpu.read_hqd(at, reg::gc::CP_HQD_PQ_DOORBELL_CONTROL) & offset) >> 2 == dword)
                    return gpu.read_hqd(at, reg::gc::CP_HQD_VMID) & 15;
            }
        return 0;
    }
    void expect_unmodelled(const char* text) {
        EXPECT_THAT(gpu.observer.unknown, ElementsAre(HasSubstr(text)));
        gpu.observer.unknown.clear();
    }

    unsigned xccs;
    Process process = make_process(1 * mib, 0x8001);
    Process other = make_process(2 * mib, 0x8002);
    std::uint64_t written = 0;
    std::uint64_t fences = 0;
};

TEST_F(Pm4Queue, workgroups_run_from_start_to_the_dimension) {
    open_gates();
    write(registers());
    write(set_sh(reg::gc::COMPUTE_START_X, {2}));
    write(dispatch(5));
    submit();
    run_for_a_while();
    EXPECT_THAT(counters(6), ElementsAre(0, 0, 64, 64, 64, 0));
    write(dispatch(2, shader_enable | force_start_at_000));
    submit();
    run_for_a_while();
    EXPECT_THAT(counters(6), ElementsAre(64, 64, 64, 64, 64, 0));
}

TEST_F(Pm4Queue, dimensions_are_work_items_when_the_initiator_says_so) {
    open_gates();
    write(registers());
    write(dispatch(65, shader_enable | use_thread_dimensions));
    submit();
    run_for_a_while();
    EXPECT_THAT(counters(3), ElementsAre(64, 64, 0));
}

TEST_F(Pm4Queue, last_workgroup_is_partial_when_the_initiator_says_so) {
    open_gates();
    write(registers());
    write(set_sh(reg::gc::COMPUTE_NUM_THREAD_X, {64 | 5U << 16}));
    write(dispatch(2));
    write(dispatch(3, shader_enable | partial_workgroups));
    submit();
    run_for_a_while();
    EXPECT_THAT(counters(4), ElementsAre(128, 128, 5, 0));
}

TEST_F(Pm4Queue, dispatch_without_workgroups_is_no_dispatch) {
    open_gates();
    write(registers());
    write(dispatch(0));
    write(dispatch(1, 0)); // COMPUTE_SHADER_EN is off
    write(release_mem(flag_va, 1, 3));
    submit();
    run_for_a_while();
    EXPECT_EQ(counter(0), 0U);
    EXPECT_EQ(flag(), 1U);
}

TEST_F(Pm4Queue, indirect_dispatch_takes_its_dimensions_from_memory) {
    open_gates();
    gpu.put(page_of(flag_va) + 16, 2U);
    gpu.put(page_of(flag_va) + 20, 1U);
    gpu.put(page_of(flag_va) + 24, 1U);
    write(registers());
    write(packet(Opcode::dispatch_indirect,
                 {low_half(flag_va + 16), high_half(flag_va + 16), shader_enable}));
    submit();
    run_for_a_while();
    EXPECT_THAT(counters(3), ElementsAre(64, 64, 0));
}

TEST_F(Pm4Queue, more_dispatches_than_the_array_tracks_wait) {
    write(registers());
    for (unsigned i = 0; i < 10; ++i)
        write(dispatch(1));
    write(write_data(flag_va, 1));
    submit();
    run_for_a_while();
    EXPECT_EQ(flag(), 0U);
    open_gates();
    run_for_a_while();
    EXPECT_EQ(flag(), 1U);
    EXPECT_EQ(counter(0), 640U);
}

TEST_F(Pm4Queue, flush_waits_for_dispatches_and_write_data_does_not) {
    write(registers());
    write(dispatch(1));
    write(write_data(flag_va, 1));
    write(packet(Opcode::event_write, {7U | 4U << 8}));
    write(write_data(flag_va, 2));
    submit();
    run_for_a_while();
    EXPECT_EQ(flag(), 1U);
    open_gates();
    run_for_a_while();
    EXPECT_EQ(flag(), 2U);
    EXPECT_EQ(read_pointer(), written);
}

TEST_F(Pm4Queue, release_mem_interrupts_only_when_int_sel_says_so) {
    gpu.device.write_register(reg::osssys::IH_RB_BASE, 0);
    gpu.device.write_register(reg::osssys::IH_RB_CNTL, 1 | 9 << 1);
    write(registers());
    write(dispatch(1));
    write(release_mem(flag_va, 1, 3));
    write(release_mem(flag_va, 2, 2));
    submit();
    run_for_a_while();
    EXPECT_EQ(flag(), 0U);
    open_gates();
    run_for_a_while();
    EXPECT_EQ(flag(), 2U);
    EXPECT_EQ(gpu.host.interrupts, 1U);
    EXPECT_EQ(gpu.host.get<std::uint32_t>(16), 7U); // context id
}

TEST_F(Pm4Queue, registers_go_to_the_mqd_and_come_back_in_another_vmid) {
    open_gates();
    write(registers());
    submit();
    unmap_and_run();
    EXPECT_EQ(mqd_dword(8), 64U);                     // compute_num_thread_x
    EXPECT_EQ(mqd_dword(13), low_half(code_va >> 8)); // compute_pgm_lo
    EXPECT_EQ(mqd_dword(46), 1U);                     // COMPUTE_PGM_RSRC3
    EXPECT_EQ(mqd_dword(65), low_half(counters_va));  // compute_user_data_0
    EXPECT_EQ(mqd_dword(hqd::mqd_dword + hqd::pq_rptr), written);
    write(dispatch(2));
    submit();
    map_behind_another();
    run_for_a_while();
    EXPECT_THAT(counters(3), ElementsAre(64, 64, 0));
}

// Another queue in the same slot must not see them.
TEST_F(Pm4Queue, registers_are_those_of_the_queue) {
    open_gates();
    write(registers());
    submit();
    unmap_and_run();
    constexpr std::uint64_t second = 0x20000;
    std::memcpy(gpu.vram.data() + second, gpu.vram.data() + mqd, 4096);
    std::memset(gpu.vram.data() + second + 4, 0, 4 * ComputeRegisters::count);
    write(dispatch(1));
    list_process(process, trap_va);
    list_queue(second, doorbell);
    start_runlist();
    submit();
    run_for_a_while();
    EXPECT_EQ(counter(0), 0U);
    EXPECT_FALSE(gpu.observer.unknown.empty()); // a dispatch of no threads
    gpu.observer.unknown.clear();
}

TEST_F(Pm4Queue, running_dispatch_is_saved_and_restored_in_another_vmid) {
    write(registers());
    write(dispatch(3));
    write(release_mem(flag_va, 1, 3));
    submit();
    run_for_a_while();
    unmap_and_run();
    EXPECT_EQ(gpu.observer.counters["waves_saved"], 3U);
    EXPECT_LT(mqd_dword(hqd::mqd_dword + hqd::cntl_stack_offset), 0x1000U);
    open_gates();
    run_for_a_while();
    EXPECT_EQ(counter(0), 0U);
    map_behind_another();
    run_for_a_while();
    EXPECT_THAT(counters(4), ElementsAre(64, 64, 64, 0));
    EXPECT_EQ(flag(), 1U);
    EXPECT_EQ(read_pointer(), written);
}

TEST_F(Pm4Queue, waiting_packet_of_an_indirect_buffer_is_where_the_queue_goes_on) {
    const std::uint32_t first = write_buffer({write_data(flag_va, 1)});
    const std::uint32_t dwords = write_buffer(
        {write_data(flag_va, 1), wait_equal(flag_va + 8, 1), write_data(flag_va + 4, 5)});
    write(indirect_buffer(dwords));
    write(write_data(flag_va + 12, 6));
    submit();
    run_for_a_while();
    EXPECT_EQ(flag(), 1U);
    unmap_and_run();
    EXPECT_EQ(mqd_dword(hqd::mqd_dword + hqd::pq_rptr), 0U);
    EXPECT_EQ(mqd_dword(hqd::mqd_dword + hqd::ib_base), low_half(buffer_va));
    EXPECT_EQ(mqd_dword(hqd::mqd_dword + hqd::ib_rptr), first);
    gpu.put(page_of(flag_va), 0U);
    gpu.put(page_of(flag_va) + 8, 1U);
    map();
    run_for_a_while();
    EXPECT_EQ(flag(), 0U); // not done again
    EXPECT_EQ(gpu.get<std::uint32_t>(page_of(flag_va) + 4), 5U);
    EXPECT_EQ(gpu.get<std::uint32_t>(page_of(flag_va) + 12), 6U);
    unmap_and_run();
    EXPECT_EQ(mqd_dword(hqd::mqd_dword + hqd::ib_base), 0U);
    EXPECT_EQ(mqd_dword(hqd::mqd_dword + hqd::ib_rptr), 0U);
}

TEST_F(Pm4Queue, packet_runs_when_all_of_it_is_in_the_ring) {
    const Words words = write_data(flag_va, 3);
    write({words[0], words[1], words[2]});
    submit();
    run_for_a_while();
    EXPECT_EQ(read_pointer(), 0U);
    write({words[3], words[4]});
    submit();
    run_for_a_while();
    EXPECT_EQ(flag(), 3U);
    EXPECT_EQ(read_pointer(), written);
}

TEST_F(Pm4Queue, ring_wraps_in_the_middle_of_a_packet) {
    for (unsigned i = 0; i < 250; ++i) {
        write(write_data(flag_va, i));
        submit();
        ASSERT_EQ(flag(), i);
    }
    EXPECT_EQ(read_pointer(), written % 1024);
}

TEST_F(Pm4Queue, what_a_user_may_not_or_the_model_cannot_do_is_reported) {
    write(packet(Opcode::set_resources, {1U << 29, 0, 0, 0, 0, 0, 0}));
    submit();
    run_for_a_while();
    expect_unmodelled("SET_RESOURCES");
    write(packet(Opcode::event_write, {0x19})); // PIPELINESTAT_START
    submit();
    run_for_a_while();
    expect_unmodelled("EVENT_WRITE");
    write(registers());
    write(dispatch(1, shader_enable | 1U << 14)); // RESTORE
    submit();
    run_for_a_while();
    expect_unmodelled("dispatch initiator");
}

TEST_F(Pm4Queue, indirect_buffer_in_another_is_reported) {
    write(indirect_buffer(write_buffer({indirect_buffer(4)})));
    submit();
    run_for_a_while();
    expect_unmodelled("INDIRECT_BUFFER in an indirect buffer");
}

TEST_F(Pm4Queue, chained_indirect_buffer_is_reported) {
    write(indirect_buffer(write_buffer({write_data(flag_va, 7)}) | 1U << 20));
    submit();
    run_for_a_while();
    expect_unmodelled("INDIRECT_BUFFER that is chained");
    EXPECT_NE(flag(), 7);
}

TEST_F(Pm4Queue, reset_drops_the_dispatch) {
    write(registers());
    write(dispatch(1));
    submit();
    run_for_a_while();
    gpu.submit(hiq, Opcode::unmap_queues, {1U | 3U << 4, 0, 0, 0, 0});
    gpu.ring_doorbell(hiq);
    gpu.run();
    EXPECT_EQ(mqd_dword(hqd::mqd_dword + hqd::cntl_stack_offset), 0x1000U);
    open_gates();
    map();
    run_for_a_while();
    EXPECT_EQ(counter(0), 0U);
}

class Pm4QueueOnFourXccs : public Pm4Queue {
protected:
    Pm4QueueOnFourXccs() : Pm4Queue(4) {}
};

TEST_F(Pm4QueueOnFourXccs, one_xcc_executes_the_packets) {
    write(registers());
    write(dispatch(3));
    write(release_mem(flag_va, 1, 3));
    submit();
    run_for_a_while();
    unmap_and_run();
    EXPECT_EQ(gpu.observer.counters["waves_saved"], 3U);
    open_gates();
    map_behind_another();
    run_for_a_while();
    EXPECT_THAT(counters(4), ElementsAre(64, 64, 64, 0));
    EXPECT_EQ(flag(), 1U);
    EXPECT_EQ(gpu.observer.counters["dispatches_by_xcc/0"], 1U);
    EXPECT_EQ(gpu.observer.counters["dispatches"], 1U);
}

} // namespace
} // namespace vgpu
