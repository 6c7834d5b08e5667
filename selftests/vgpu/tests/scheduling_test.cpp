// SPDX-License-Identifier: MIT
// Queues of processes come and go by runlist and by register, with AQL packets in between.
#include "test_gpu.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace vgpu {
namespace {

using pm4::Opcode;
using test::mib;
using test::TestGpu;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr HqdAddress hiq_address{2, 0, 0};
constexpr std::uint64_t fence = 0x3000;             // VRAM offset
constexpr std::uint64_t runlist = 0x8000;           // VRAM offset of the indirect buffer
constexpr std::uint64_t user_va = 0x7f00'0000'0000; // start of the pages every process maps

// One user process: its page table maps 16 pages at user_va to VRAM of its own.
struct Process {
    std::uint64_t tables; // VRAM offset of four tables and 16 pages
    std::uint16_t pasid;

    std::uint64_t page(unsigned index) const { return tables + 0x4000 + index * 0x1000; }
};

// Page 0 is the ring, page 1 holds the pointers, page 2 signals.
constexpr std::uint64_t write_index_va = user_va + 0x1000;
constexpr std::uint64_t read_index_va = user_va + 0x1080;
constexpr std::uint64_t signal_va = user_va + 0x2000;

class Scheduling : public ::testing::Test {
protected:
    void SetUp() override {
        hiq = gpu.load_kernel_queue(hiq_address, 0x1000, 0xc00);
        // VMIDs 8 and 9, queues 2 to 4 of pipe 0.
        gpu.submit(hiq, Opcode::set_resources, {1U << 29 | 0x300, 0x1c, 0, 0, 0, 0, 0});
    }
    void TearDown() override { EXPECT_THAT(gpu.observer.unknown, IsEmpty()); }

    Process make_process(std::uint64_t tables, std::uint16_t pasid) {
        Process process{tables, pasid};
        const auto entry = [&](std::uint64_t table, unsigned shift, std::uint64_t value) {
            gpu.put(table + ((user_va >> shift) & 511) * 8, value);
        };
        entry(tables, 39, (tables + 0x1000) | 1);
        entry(tables + 0x1000, 30, (tables + 0x2000) | 1);
        entry(tables + 0x2000, 21, (tables + 0x3000) | 1 | 1ULL << 56);
        for (unsigned i = 0; i < 16; ++i)
            gpu.put(tables + 0x3000 + i * 8, process.page(i) | 0x71ULL); // valid, r, w, x
        return process;
    }

    // An AQL queue of 64 packets.
    void make_mqd(std::uint64_t mqd, std::uint32_t doorbell) {
        const auto set = [&](std::uint32_t index, std::uint64_t value) {
            gpu.put(mqd + 4 * (hqd::mqd_dword + index), value);
        };
        set(hqd::pq_base, user_va >> 8);
        set(hqd::rptr_report, read_index_va);
        set(hqd::pq_control, 9);
        gpu.put(mqd + 4 * (hqd::mqd_dword + hqd::doorbell), doorbell << 2);
        gpu.put(mqd + 4 * (hqd::mqd_dword + hqd::cntl_stack_offset), 0x1000U);
        gpu.put(mqd + 4 * (hqd::mqd_dword + hqd::cntl_stack_size), 0x1000U);
        gpu.put(mqd + 4 * (hqd::mqd_dword + hqd::aql_control), 1U);
    }

    void list_process(const Process& process) {
        const std::uint64_t root = process.tables | 1;
        list(Opcode::map_process, {process.pasid,
                                   low_half(root),
                                   high_half(root),
                                   0,
                                   0,
                                   0,
                                   0,
                                   0,
                                   0,
                                   0,
                                   0,
                                   0,
                                   0,
                                   0,
                                   0,
                                   0,
                                   0,
                                   0,
                                   0,
                                   0});
    }
    void list_queue(std::uint64_t mqd, std::uint32_t doorbell) {
        list(Opcode::map_queues,
             {1U << 4 | 1U << 29, doorbell << 2, low_half(TestGpu::mc(mqd)),
              high_half(TestGpu::mc(mqd)), low_half(write_index_va), high_half(write_index_va)});
    }
    void start_runlist() {
        gpu.submit(
            hiq, Opcode::run_list,
            {low_half(TestGpu::mc(runlist)), high_half(TestGpu::mc(runlist)), listed | 1U << 23});
        listed = 0;
        gpu.ring_doorbell(hiq);
    }
    // UNMAP_QUEUES of all dynamic queues, then a fence with this value.
    void unmap(std::uint64_t value) {
        gpu.submit(hiq, Opcode::unmap_queues, {3U << 4, 0, 0, 0, 0});
        gpu.submit(hiq, Opcode::query_status,
                   {2U << 30, 0, low_half(TestGpu::mc(fence)), high_half(TestGpu::mc(fence)),
                    low_half(value), high_half(value)});
        gpu.ring_doorbell(hiq);
    }

    void write_barrier(const Process& process, std::uint64_t index, std::uint64_t dependency,
                       std::uint64_t signal, bool any = false, bool barrier_bit = false) {
        const std::uint64_t packet = process.page(0) + index % 64 * 64;
        std::memset(gpu.vram.data() + packet, 0, 64);
        gpu.put(packet + 8, dependency);
        gpu.put(packet + 56, signal);
        gpu.put(packet, (any ? 5U : 3U) | (barrier_bit ? 1U << 8 : 0U));
        gpu.put(process.page(1), index + 1);
    }

    TestGpu gpu;
    TestGpu::KernelQueue hiq;

private:
    void list(Opcode opcode, std::initializer_list<std::uint32_t> body) {
        const auto put = [this](std::uint32_t dword) { gpu.put(runlist + 4 * listed++, dword); };
        put(3U << 30 | (static_cast<std::uint32_t>(body.size()) - 1) << 16 |
            static_cast<std::uint32_t>(opcode) << 8);
        for (const std::uint32_t dword : body)
            put(dword);
    }

    std::uint32_t listed = 0;
};

TEST_F(Scheduling, fence_follows_an_unmap_of_nothing) {
    unmap(100);
    EXPECT_EQ(gpu.get<std::uint64_t>(fence), 100U);
}

TEST_F(Scheduling, barrier_packet_completes_and_rptr_reaches_the_mqd) {
    const Process process = make_process(1 * mib, 0x8001);
    make_mqd(0x10000, 0x1000);
    list_process(process);
    list_queue(0x10000, 0x1000);
    start_runlist();
    gpu.put(process.page(2) + 8, std::int64_t{1});
    write_barrier(process, 0, 0, signal_va);
    gpu.device.write_doorbell(0x1000, 0);
    EXPECT_EQ(gpu.get<std::int64_t>(process.page(2) + 8), 0);
    EXPECT_EQ(gpu.get<std::uint64_t>(process.page(1) + 0x80), 1U);
    EXPECT_EQ(gpu.get<std::uint16_t>(process.page(0)), 1U); // INVALID again
    unmap(1);
    EXPECT_EQ(gpu.get<std::uint64_t>(fence), 1U);
    EXPECT_EQ(gpu.get<std::uint32_t>(0x10000 + 4 * (hqd::mqd_dword + hqd::pq_rptr)), 16U);
    // Nothing was in flight: the control stack stays empty.
    EXPECT_EQ(gpu.get<std::uint32_t>(0x10000 + 4 * (hqd::mqd_dword + hqd::cntl_stack_offset)),
              0x1000U);
}

TEST_F(Scheduling, doorbell_while_unmapped_is_not_lost) {
    const Process process = make_process(1 * mib, 0x8001);
    make_mqd(0x10000, 0x1000);
    gpu.put(process.page(2) + 8, std::int64_t{1});
    write_barrier(process, 0, 0, signal_va);
    gpu.device.write_doorbell(0x1000, 0);
    EXPECT_EQ(gpu.get<std::int64_t>(process.page(2) + 8), 1);
    list_process(process);
    list_queue(0x10000, 0x1000);
    start_runlist();
    EXPECT_EQ(gpu.get<std::int64_t>(process.page(2) + 8), 0);
}

TEST_F(Scheduling, barrier_and_waits_for_its_signal_and_blocks_what_follows) {
    const Process process = make_process(1 * mib, 0x8001);
    make_mqd(0x10000, 0x1000);
    list_process(process);
    list_queue(0x10000, 0x1000);
    start_runlist();
    gpu.put(process.page(2) + 8, std::int64_t{1});        // the dependency
    gpu.put(process.page(2) + 0x40 + 8, std::int64_t{2}); // completion of both
    write_barrier(process, 0, signal_va, signal_va + 0x40);
    write_barrier(process, 1, 0, signal_va + 0x40);
    gpu.device.write_doorbell(0x1000, 1);
    EXPECT_EQ(gpu.get<std::int64_t>(process.page(2) + 0x40 + 8), 2);
    EXPECT_EQ(gpu.device.run(0), Device::Activity::waiting); // somebody must look again
    gpu.put(process.page(2) + 8, std::int64_t{0});
    gpu.run();
    EXPECT_EQ(gpu.get<std::int64_t>(process.page(2) + 0x40 + 8), 0);
    EXPECT_EQ(gpu.device.run(0), Device::Activity::idle);
}

TEST_F(Scheduling, blocked_barrier_survives_an_unmap) {
    const Process process = make_process(1 * mib, 0x8001);
    make_mqd(0x10000, 0x1000);
    list_process(process);
    list_queue(0x10000, 0x1000);
    start_runlist();
    gpu.put(process.page(2) + 8, std::int64_t{1});
    gpu.put(process.page(2) + 0x40 + 8, std::int64_t{1});
    write_barrier(process, 0, signal_va, signal_va + 0x40);
    gpu.device.write_doorbell(0x1000, 0);
    unmap(1);
    gpu.put(process.page(2) + 8, std::int64_t{0});
    gpu.run();
    EXPECT_EQ(gpu.get<std::int64_t>(process.page(2) + 0x40 + 8), 1); // off the hardware
    list_process(process);
    list_queue(0x10000, 0x1000);
    start_runlist();
    EXPECT_EQ(gpu.get<std::int64_t>(process.page(2) + 0x40 + 8), 0);
}

TEST_F(Scheduling, two_processes_have_their_own_memory) {
    const Process first = make_process(1 * mib, 0x8001);
    const Process second = make_process(2 * mib, 0x8002);
    make_mqd(0x10000, 0x1000);
    make_mqd(0x20000, 0x2000);
    list_process(first);
    list_queue(0x10000, 0x1000);
    list_process(second);
    list_queue(0x20000, 0x2000);
    start_runlist();
    gpu.put(first.page(2) + 8, std::int64_t{1});
    gpu.put(second.page(2) + 8, std::int64_t{1});
    write_barrier(second, 0, 0, signal_va);
    gpu.device.write_doorbell(0x2000, 0);
    EXPECT_EQ(gpu.get<std::int64_t>(first.page(2) + 8), 1);
    EXPECT_EQ(gpu.get<std::int64_t>(second.page(2) + 8), 0);
}

TEST_F(Scheduling, more_processes_than_vmids_are_refused) {
    for (std::uint16_t i = 0; i < 3; ++i)
        list_process(make_process((1 + i) * mib, static_cast<std::uint16_t>(0x8001 + i)));
    start_runlist();
    ASSERT_EQ(gpu.observer.unknown.size(), 1U);
    EXPECT_THAT(gpu.observer.unknown[0], HasSubstr("more processes"));
    gpu.observer.unknown.clear();
}

TEST_F(Scheduling, snapshot_marker_is_a_barrier_with_a_label) {
    const Process process = make_process(1 * mib, 0x8001);
    make_mqd(0x10000, 0x1000);
    list_process(process);
    list_queue(0x10000, 0x1000);
    start_runlist();
    write_barrier(process, 0, 0, 0);
    gpu.put(process.page(0) + 4, 0x77U);
    gpu.put(process.page(0) + 48, std::uint64_t{0x5041'4e53'5550'4756});
    gpu.device.write_doorbell(0x1000, 0);
    EXPECT_THAT(gpu.observer.snapshots, ::testing::ElementsAre(0x77U));
}

TEST_F(Scheduling, event_signal_raises_an_end_of_pipe_interrupt) {
    gpu.device.write_register(reg::osssys::IH_RB_BASE, 0);
    gpu.device.write_register(reg::osssys::IH_RB_CNTL, 1 | 9 << 1); // bus address 0, 2 KiB
    const Process process = make_process(1 * mib, 0x8001);
    make_mqd(0x10000, 0x1000);
    list_process(process);
    list_queue(0x10000, 0x1000);
    start_runlist();
    gpu.put(process.page(2) + 8, std::int64_t{1});
    gpu.put(process.page(2) + 16, user_va + 0x3000); // mailbox
    gpu.put(process.page(2) + 24, 42U);              // event id
    write_barrier(process, 0, 0, signal_va);
    gpu.device.write_doorbell(0x1000, 0);
    EXPECT_EQ(gpu.host.interrupts, 1U);
    EXPECT_EQ(gpu.host.get<std::uint32_t>(0) & 0xffff, 181U << 8 | 0x14U);
    EXPECT_EQ(gpu.host.get<std::uint32_t>(0) >> 24, 8U); // VMID
    EXPECT_EQ(gpu.host.get<std::uint32_t>(12), 0x8001U); // PASID
    EXPECT_EQ(gpu.host.get<std::uint32_t>(16), 42U);     // event id
    EXPECT_EQ(gpu.get<std::uint64_t>(process.page(3)), 42U);
}

TEST_F(Scheduling, held_dequeue_stays_latched_until_released) {
    const Process process = make_process(1 * mib, 0x8001);
    make_mqd(0x10000, 0x1000);
    list_process(process);
    list_queue(0x10000, 0x1000);
    start_runlist();
    const HqdAddress slot{1, 0, 2};
    EXPECT_EQ(gpu.read_hqd(slot, reg::gc::CP_HQD_ACTIVE), 1U);
    gpu.faults.hold_dequeues = true;
    gpu.select(slot);
    gpu.device.write_register(reg::gc::CP_HQD_DEQUEUE_REQUEST, 3);
    EXPECT_EQ(gpu.read_hqd(slot, reg::gc::CP_HQD_ACTIVE), 1U);
    EXPECT_EQ(gpu.read_hqd(slot, reg::gc::CP_HQD_DEQUEUE_REQUEST), 3U);
    // Loading the slot again before the answer is an error of the driver.
    gpu.device.write_register(reg::gc::CP_HQD_ACTIVE, 1);
    ASSERT_EQ(gpu.observer.unknown.size(), 1U);
    EXPECT_THAT(gpu.observer.unknown[0], HasSubstr("dequeue is pending"));
    gpu.observer.unknown.clear();
    gpu.faults.hold_dequeues = false;
    EXPECT_EQ(gpu.read_hqd(slot, reg::gc::CP_HQD_ACTIVE), 0U);
}

TEST_F(Scheduling, reset_forgets_queues_but_not_vram) {
    const Process process = make_process(1 * mib, 0x8001);
    make_mqd(0x10000, 0x1000);
    list_process(process);
    list_queue(0x10000, 0x1000);
    start_runlist();
    gpu.device.write_register(reg::nbio::BIF_BX0_BIOS_SCRATCH_3, 1U << 29);
    EXPECT_EQ(gpu.observer.counters["resets"], 1U);
    EXPECT_EQ(gpu.read_hqd({1, 0, 2}, reg::gc::CP_HQD_ACTIVE), 0U);
    EXPECT_EQ(gpu.device.read_register(reg::nbio::BIF_BX0_BIOS_SCRATCH_3), 1U << 29);
    EXPECT_EQ(gpu.get<std::uint32_t>(0x10000 + 4 * (hqd::mqd_dword + hqd::aql_control)), 1U);
}

} // namespace
} // namespace vgpu
