// SPDX-License-Identifier: MIT
// Faults that the GPU doesn't report: an unmap without effect, a doorbell that wasn't seen.
#include "two_processes.hpp"

#include <gmock/gmock.h>

namespace vgpu {
namespace {

using test::Process;
using test::signal_va;
using ::testing::HasSubstr;

constexpr HqdAddress first_slot{1, 0, 2};
constexpr HqdAddress second_slot{1, 0, 3};
constexpr HqdAddress third_slot{1, 0, 4};

class SilentFaults : public test::TwoProcesses {
protected:
    bool active(HqdAddress slot) { return gpu.read_hqd(slot, reg::gc::CP_HQD_ACTIVE) == 1; }
    std::uint32_t write_pointer(HqdAddress slot) {
        return gpu.read_hqd(slot, reg::gc::CP_HQD_PQ_WPTR_LO);
    }
    std::int64_t signal_of(const Process& process) const {
        return gpu.get<std::int64_t>(process.page(2) + 8);
    }
    // Another packet for the first process, with its doorbell.
    void submit() {
        const auto index = gpu.get<std::uint64_t>(first.page(1));
        write_barrier(first, index, 0, signal_va);
        gpu.device.write_doorbell(0x1000, index);
        gpu.run();
    }
    void map_second_only() {
        list_process(second);
        list_queue(0x20000, 0x2000);
        start_runlist();
    }
};

TEST_F(SilentFaults, skipped_unmap_has_its_fence_and_leaves_the_queue_running) {
    gpu.arm("unmap-skipped:doorbell=0x1000");
    unmap(1);
    EXPECT_TRUE(fenced(1));
    EXPECT_EQ(gpu.observer.counters["hung_queues"], 0U);
    EXPECT_TRUE(active(first_slot));
    EXPECT_FALSE(active(second_slot));
    EXPECT_TRUE(works(first, 0x1000));
    EXPECT_FALSE(works(second, 0x2000));
}

TEST_F(SilentFaults, early_fence_comes_while_the_queue_is_in_its_slot_for_some_polls) {
    gpu.arm("early-fence:polls=3,doorbell=0x1000");
    unmap(1);
    EXPECT_TRUE(fenced(1));
    EXPECT_FALSE(active(second_slot));
    EXPECT_TRUE(active(first_slot));
    EXPECT_TRUE(active(first_slot));
    EXPECT_FALSE(active(first_slot));
    map();
    EXPECT_TRUE(works(first, 0x1000));
    unmap(2);
    EXPECT_TRUE(fenced(2));
    EXPECT_FALSE(active(first_slot));
}

TEST_F(SilentFaults, next_unmap_takes_off_what_was_skipped) {
    gpu.arm("unmap-skipped:doorbell=0x1000");
    unmap(1);
    unmap(2);
    EXPECT_TRUE(fenced(2));
    EXPECT_FALSE(active(first_slot));
    EXPECT_FALSE(works(first, 0x1000));
    map();
    EXPECT_EQ(signal_of(first), 9);
}

TEST_F(SilentFaults, runlist_keeps_a_skipped_queue_in_its_slot) {
    gpu.arm("unmap-skipped:doorbell=0x1000,count=2");
    for (std::uint64_t round = 1; round <= 3; ++round) {
        unmap(round);
        EXPECT_TRUE(fenced(round));
        EXPECT_EQ(active(first_slot), round < 3);
        map();
        EXPECT_TRUE(active(first_slot));
        EXPECT_TRUE(active(second_slot));
        EXPECT_FALSE(active(third_slot));
        EXPECT_TRUE(works(first, 0x1000));
        EXPECT_TRUE(works(second, 0x2000));
    }
}

TEST_F(SilentFaults, new_queue_with_the_mqd_of_a_skipped_one_has_its_own_slot) {
    gpu.arm("unmap-skipped:doorbell=0x1000");
    unmap(1);
    gpu.put(0x10000 + 4 * (hqd::mqd_dword + hqd::pq_base), (test::user_va + 0x5000) >> 8);
    map();
    EXPECT_TRUE(active(first_slot));
    EXPECT_TRUE(active(second_slot));
    EXPECT_TRUE(active(third_slot));
}

TEST_F(SilentFaults, skipped_queue_keeps_its_vmid_from_other_processes) {
    gpu.arm("unmap-skipped:doorbell=0x1000");
    unmap(1);
    map_second_only();
    EXPECT_TRUE(active(first_slot));
    EXPECT_TRUE(works(first, 0x1000));
    EXPECT_TRUE(works(second, 0x2000));
    unmap(2);
    map();
    EXPECT_TRUE(works(first, 0x1000));
}

TEST_F(SilentFaults, skipped_queue_that_fills_the_gpu_makes_others_wait) {
    gpu.arm("unmap-skipped:doorbell=0x1000");
    unmap(1);
    const Process third = make_process(3 * test::mib, 0x8003);
    make_mqd(0x30000, 0x3000);
    gpu.put(third.page(2) + 8, std::int64_t{10});
    list_process(second);
    list_queue(0x20000, 0x2000);
    list_process(third);
    list_queue(0x30000, 0x3000);
    start_runlist();
    EXPECT_TRUE(works(second, 0x2000));
    EXPECT_FALSE(works(third, 0x3000)); // two VMIDs for three processes
}

TEST_F(SilentFaults, skipped_queue_leaves_by_dequeue_or_reset) {
    gpu.arm("unmap-skipped:count=2");
    unmap(1);
    gpu.select(first_slot);
    gpu.device.write_register(reg::gc::CP_HQD_DEQUEUE_REQUEST, 3);
    EXPECT_FALSE(active(first_slot));
    EXPECT_TRUE(active(second_slot));
    gpu.device.write_register(reg::gc::SPI_COMPUTE_QUEUE_RESET, 1);
    EXPECT_FALSE(active(second_slot));
    map();
    EXPECT_TRUE(works(first, 0x1000));
}

TEST_F(SilentFaults, lost_doorbell_leaves_an_active_queue_idle_until_the_next_doorbell) {
    gpu.arm("doorbell-lost:doorbell=0x1000");
    unmap(1);
    submit();
    map();
    gpu.run();
    EXPECT_TRUE(active(first_slot));
    EXPECT_EQ(signal_of(first), 10);
    EXPECT_EQ(gpu.device.run(1000), Device::Activity::idle);
    EXPECT_TRUE(works(second, 0x2000));
    // By this a driver can tell: the HQD doesn't know what is in memory.
    EXPECT_EQ(write_pointer(first_slot), 0U);
    submit();
    EXPECT_EQ(signal_of(first), 8);
    EXPECT_EQ(write_pointer(first_slot), 2U * 16);
}

TEST_F(SilentFaults, lost_doorbell_is_made_good_by_the_next_mapping) {
    gpu.arm("doorbell-lost:pasid=0x8001,count=2");
    unmap(1);
    submit();
    for (std::uint64_t round = 2; round <= 3; ++round) {
        map();
        gpu.run();
        EXPECT_EQ(signal_of(first), 10);
        unmap(round);
    }
    map();
    EXPECT_EQ(signal_of(first), 9);
}

TEST_F(SilentFaults, doorbell_is_lost_only_when_packets_came_while_unmapped) {
    gpu.arm("doorbell-lost");
    EXPECT_TRUE(works(first, 0x1000));
    unmap(1);
    map();
    EXPECT_TRUE(works(first, 0x1000));
    EXPECT_THAT(gpu.faults.list(), HasSubstr("seen=0"));
}

} // namespace
} // namespace vgpu
