// SPDX-License-Identifier: MIT
// Each fault knob on the model: what is struck hangs or is lost, the rest continues.
#include "two_processes.hpp"

#include "model/cp/amd_queue.hpp"

namespace vgpu {
namespace {

using pm4::Opcode;
using test::Process;

class Knobs : public test::TwoProcesses {
protected:
    void SetUp() override {
        TwoProcesses::SetUp();
        gpu.device.write_register(reg::osssys::IH_RB_BASE, 0);
        gpu.device.write_register(reg::osssys::IH_RB_CNTL, 1 | 9 << 1);
    }
};

TEST_F(Knobs, unmap_never_holds_its_queue_and_the_fence) {
    gpu.arm("unmap-never:doorbell=0x2000");
    unmap(1);
    gpu.run();
    EXPECT_FALSE(fenced(1));
    EXPECT_EQ(gpu.read_hqd({1, 0, 2}, reg::gc::CP_HQD_ACTIVE), 0U);
    EXPECT_EQ(gpu.read_hqd({1, 0, 3}, reg::gc::CP_HQD_ACTIVE), 1U);
    gpu.faults.disarm_all();
    gpu.run();
    EXPECT_TRUE(fenced(1));
}

// The driver's steps in reset_queues_on_hws_hang().
TEST_F(Knobs, queue_that_never_leaves_is_reported_and_reset) {
    constexpr std::uint64_t hiq_mqd = 0x50000;
    gpu.select(test::hiq_address);
    gpu.device.write_register(reg::gc::CP_MQD_BASE_ADDR, low_half(test::TestGpu::mc(hiq_mqd)));
    gpu.device.write_register(reg::gc::CP_MQD_BASE_ADDR_HI, high_half(test::TestGpu::mc(hiq_mqd)));
    std::uint64_t now = 0;
    gpu.device.follow_clock([&now] { return now; });
    gpu.arm("unmap-never:doorbell=0x2000");
    unmap(1);
    now = 299'999'999;
    gpu.run();
    EXPECT_FALSE(fenced(1));
    EXPECT_EQ(gpu.device.run(0), Device::Activity::waiting);
    now = 300'000'000;
    gpu.run();
    EXPECT_TRUE(fenced(1));
    EXPECT_EQ(gpu.get<std::uint32_t>(hiq_mqd + 240 * 4), 0x2000U);
    EXPECT_EQ(gpu.get<std::uint32_t>(hiq_mqd + 241 * 4), 0U);
    const HqdAddress hung{1, 0, 3};
    EXPECT_EQ(gpu.read_hqd(hung, reg::gc::CP_HQD_ACTIVE), 1U);
    EXPECT_NE(gpu.read_hqd(hung, reg::gc::CP_HQD_PQ_BASE_HI), 0U);
    gpu.device.write_register(reg::gc::SPI_COMPUTE_QUEUE_RESET, 1);
    EXPECT_EQ(gpu.device.read_register(reg::gc::CP_HQD_ACTIVE), 0U);
    map();
    EXPECT_TRUE(works(first, 0x1000));
    gpu.device.follow_clock({});
}

TEST_F(Knobs, reset_that_does_not_help_leaves_the_pipe_reset) {
    gpu.arm("dequeue-never");
    gpu.arm("queue-reset-never");
    gpu.select({1, 0, 2});
    gpu.device.write_register(reg::gc::CP_HQD_DEQUEUE_REQUEST, 3);
    gpu.device.write_register(reg::gc::SPI_COMPUTE_QUEUE_RESET, 1);
    EXPECT_EQ(gpu.device.read_register(reg::gc::CP_HQD_ACTIVE), 1U);
    gpu.device.write_register(reg::gc::CP_MEC_CNTL, 1U << 17); // of another pipe
    EXPECT_EQ(gpu.device.read_register(reg::gc::CP_HQD_ACTIVE), 1U);
    gpu.device.write_register(reg::gc::CP_MEC_CNTL, 1U << 16);
    EXPECT_EQ(gpu.device.read_register(reg::gc::CP_HQD_ACTIVE), 0U);
    EXPECT_TRUE(works(second, 0x2000)); // which was not asked to leave
}

TEST_F(Knobs, unmap_late_is_as_late_as_told) {
    gpu.faults.set_time_ms(1000);
    gpu.arm("unmap-late:ms=50");
    unmap(1);
    gpu.faults.set_time_ms(1049);
    gpu.run();
    EXPECT_FALSE(fenced(1));
    EXPECT_EQ(gpu.faults.next_deadline_ms(), 1050U);
    gpu.faults.set_time_ms(1050);
    gpu.run();
    EXPECT_TRUE(fenced(1));
}

TEST_F(Knobs, slow_fence_is_written_late_and_what_follows_waits) {
    gpu.faults.set_time_ms(1000);
    gpu.arm("slow-fence:ms=50");
    unmap(1);
    gpu.run();
    EXPECT_FALSE(fenced(1));
    EXPECT_EQ(gpu.read_hqd({1, 0, 2}, reg::gc::CP_HQD_ACTIVE), 0U);
    gpu.faults.set_time_ms(1050);
    gpu.run();
    EXPECT_TRUE(fenced(1));
    map();
    EXPECT_TRUE(works(first, 0x1000));
}

TEST_F(Knobs, lost_interrupt_leaves_no_entry_and_lost_msi_leaves_one) {
    for (const Process& process : {first, second}) {
        gpu.put(process.page(2) + amd_signal::event_mailbox, test::user_va + 0x3000);
        gpu.put(process.page(2) + amd_signal::event_id, 7U);
    }
    gpu.arm("lost-interrupt:source=181,nth=2");
    EXPECT_TRUE(works(first, 0x1000));
    EXPECT_EQ(gpu.host.interrupts, 1U);
    EXPECT_TRUE(works(first, 0x1000));
    EXPECT_EQ(gpu.host.interrupts, 1U);
    EXPECT_EQ(gpu.device.read_register(reg::osssys::IH_RB_WPTR), 32U);
    gpu.arm("lost-msi");
    EXPECT_TRUE(works(second, 0x2000));
    EXPECT_EQ(gpu.host.interrupts, 1U);
    EXPECT_EQ(gpu.device.read_register(reg::osssys::IH_RB_WPTR), 64U);
    EXPECT_TRUE(works(second, 0x2000));
    EXPECT_EQ(gpu.host.interrupts, 2U);
}

TEST_F(Knobs, device_hang_stops_everything_until_the_reset) {
    gpu.arm("device-hang");
    EXPECT_FALSE(works(first, 0x1000));
    unmap(1);
    gpu.run();
    EXPECT_FALSE(fenced(1));
    gpu.device.write_register(reg::nbio::BIF_BX0_BIOS_SCRATCH_3, 1U << 29);
    EXPECT_EQ(gpu.observer.counters["resets"], 1U);
    SetUp();
    EXPECT_TRUE(works(first, 0x1000));
    unmap(2);
    EXPECT_TRUE(fenced(2));
}

TEST_F(Knobs, stuck_sdma_ring_is_neither_run_nor_unmapped_until_the_reset) {
    constexpr std::uint64_t mqd = 0x30000;
    gpu.put(mqd, 10U << 1);
    gpu.put(mqd + 4, (test::user_va + 0x4000) >> 8); // page 4 is the ring
    gpu.put(first.page(4), 5U);                      // FENCE
    gpu.put(first.page(4) + 4, test::user_va + 0x5000);
    gpu.put(first.page(4) + 12, 77U);
    gpu.arm("sdma-stuck:engine=1");
    unmap(1);
    list_process(first);
    list(Opcode::map_queues,
         {1U << 4 | 1U << 2 | 1U << 26, 0x1400U << 2, low_half(test::TestGpu::mc(mqd)),
          high_half(test::TestGpu::mc(mqd)), 0, 0});
    start_runlist();
    gpu.device.write_doorbell(0x1400, 16);
    gpu.run();
    EXPECT_EQ(gpu.get<std::uint32_t>(first.page(5)), 0U);
    unmap(2);
    gpu.run();
    EXPECT_FALSE(fenced(2));
    gpu.faults.disarm_all();
    gpu.run();
    EXPECT_TRUE(fenced(2));
    EXPECT_EQ(gpu.get<std::uint32_t>(first.page(5)), 0U); // it left before its next turn
}

TEST_F(Knobs, stuck_kernel_ring_of_sdma_stands_still_until_the_reset) {
    constexpr std::uint64_t ring = 0x30000;
    constexpr std::uint64_t word = 0x31000;
    const auto run_fence = [&](std::uint32_t value) {
        const std::uint64_t base = test::TestGpu::mc(ring) >> 8;
        gpu.put(ring, 5U); // FENCE
        gpu.put(ring + 4, test::TestGpu::mc(word));
        gpu.put(ring + 12, value);
        gpu.device.write_register(reg::sdma0::SDMA_GFX_RB_BASE, low_half(base));
        gpu.device.write_register(reg::sdma0::SDMA_GFX_RB_BASE_HI, high_half(base));
        gpu.device.write_register(reg::sdma0::SDMA_GFX_RB_WPTR, 4 * 4);
        gpu.device.write_register(reg::sdma0::SDMA_GFX_RB_CNTL, 10U << 1 | 1U);
        gpu.run();
        return gpu.get<std::uint32_t>(word) == value;
    };
    gpu.arm("sdma-stuck"); // of users
    gpu.arm("kernel-sdma-stuck:engine=0");
    EXPECT_FALSE(run_fence(77));
    gpu.device.write_register(reg::nbio::BIF_BX0_BIOS_SCRATCH_3, 1U << 29);
    EXPECT_TRUE(run_fence(78));
}

} // namespace
} // namespace vgpu
