// SPDX-License-Identifier: MIT
// Queues of processes come and go by runlist and by register, with AQL packets in between.
#include "user_queues.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace vgpu {
namespace {

using pm4::Opcode;
using test::fence;
using test::mib;
using test::Process;
using test::signal_va;
using test::TestGpu;
using test::user_va;
using ::testing::HasSubstr;

class Scheduling : public test::UserQueues {};

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
    EXPECT_EQ(gpu.device.run(0), Device::Activity::waiting); // it must be polled again
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
    EXPECT_EQ(gpu.host.get<std::uint32_t>(0) >> 24, 8U);   // VMID
    EXPECT_EQ(gpu.host.get<std::uint32_t>(12), 0x1'8001U); // node of XCC 0, PASID
    EXPECT_EQ(gpu.host.get<std::uint32_t>(16), 42U);       // event id
    EXPECT_EQ(gpu.get<std::uint64_t>(process.page(3)), 42U);
}

TEST_F(Scheduling, queue_that_was_not_dequeued_must_not_be_loaded_over) {
    const Process process = make_process(1 * mib, 0x8001);
    make_mqd(0x10000, 0x1000);
    list_process(process);
    list_queue(0x10000, 0x1000);
    start_runlist();
    gpu.select({1, 0, 2});
    // The driver first writes the registers as the MQD has them: the HQD isn't active there.
    gpu.device.write_register(reg::gc::CP_HQD_ACTIVE, 0);
    ASSERT_EQ(gpu.observer.unknown.size(), 1U);
    EXPECT_THAT(gpu.observer.unknown[0], HasSubstr("loaded under a queue"));
    gpu.observer.unknown.clear();
}

TEST_F(Scheduling, held_dequeue_stays_latched_until_released) {
    const Process process = make_process(1 * mib, 0x8001);
    make_mqd(0x10000, 0x1000);
    list_process(process);
    list_queue(0x10000, 0x1000);
    start_runlist();
    const HqdAddress slot{1, 0, 2};
    EXPECT_EQ(gpu.read_hqd(slot, reg::gc::CP_HQD_ACTIVE), 1U);
    const unsigned fault = gpu.arm("dequeue-never");
    gpu.select(slot);
    gpu.device.write_register(reg::gc::CP_HQD_DEQUEUE_REQUEST, 3);
    EXPECT_EQ(gpu.read_hqd(slot, reg::gc::CP_HQD_ACTIVE), 1U);
    EXPECT_EQ(gpu.read_hqd(slot, reg::gc::CP_HQD_DEQUEUE_REQUEST), 3U);
    // Loading the slot again before the answer is an error of the driver.
    gpu.device.write_register(reg::gc::CP_HQD_ACTIVE, 1);
    ASSERT_EQ(gpu.observer.unknown.size(), 1U);
    EXPECT_THAT(gpu.observer.unknown[0], HasSubstr("dequeue is pending"));
    gpu.observer.unknown.clear();
    gpu.faults.disarm(fault);
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
