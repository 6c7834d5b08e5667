// SPDX-License-Identifier: MIT
// Runlists with more processes than VMIDs or more queues than slots take turns.
#include "user_queues.hpp"

#include <vector>

namespace vgpu {
namespace {

using test::fence;
using test::mib;
using test::Process;
using test::signal_va;
using ::testing::HasSubstr;
using ::testing::SizeIs;

// The GPU of UserQueues has 2 VMIDs and 3 slots. Each process here has one queue, whose doorbell
// is 0x1000 and up, and a completion signal that counts its packets.
class TimeSlices : public test::UserQueues {
protected:
    void make(unsigned count) {
        for (unsigned i = 0; i < count; ++i) {
            processes.push_back(
                make_process((1 + i) * mib, static_cast<std::uint16_t>(0x8001 + i)));
            make_mqd(mqd(i), doorbell(i));
            gpu.put(processes[i].page(2) + 8, std::int64_t{1000});
        }
    }
    static std::uint64_t mqd(unsigned i) { return 0x10000 + i * 0x4000ULL; }
    static std::uint32_t doorbell(unsigned i) { return 0x1000 + i * 0x400; }

    void submit_list() {
        for (unsigned i = 0; i < processes.size(); ++i) {
            list_process(processes[i]);
            list_queue(mqd(i), doorbell(i));
        }
        list_chain();
        start_runlist();
    }
    void send_packet(unsigned i) {
        write_barrier(processes[i], sent[i]++, 0, signal_va);
        gpu.device.write_doorbell(doorbell(i), sent[i] - 1);
    }
    std::uint64_t completed(unsigned i) const {
        return 1000 - static_cast<std::uint64_t>(gpu.get<std::int64_t>(processes[i].page(2) + 8));
    }
    bool all_completed() const {
        for (unsigned i = 0; i < processes.size(); ++i)
            if (completed(i) != sent[i])
                return false;
        return true;
    }
    // Each call is at most one slice long.
    unsigned slices_until_all_completed(unsigned most) {
        for (unsigned slices = 0; slices < most; ++slices) {
            if (all_completed())
                return slices;
            gpu.device.run(1000);
        }
        return most;
    }

    std::vector<Process> processes;
    std::array<std::uint64_t, 16> sent{};
};

TEST_F(TimeSlices, every_process_has_its_turn_within_a_round) {
    make(7);
    submit_list();
    for (unsigned round = 0; round < 5; ++round) {
        for (unsigned i = 0; i < 7; ++i)
            send_packet(i);
        EXPECT_FALSE(all_completed());
        // 7 processes, 2 at a time; a slice ends and the next begins in two calls at most.
        EXPECT_LE(slices_until_all_completed(20), 10U) << "round " << round;
    }
    EXPECT_GT(gpu.observer.counters["time_slices"], 5U);
}

TEST_F(TimeSlices, queues_of_one_process_share_its_slots) {
    make(1);
    for (unsigned i = 1; i < 5; ++i)
        make_mqd(mqd(i), doorbell(i));
    list_process(processes[0]);
    for (unsigned i = 0; i < 5; ++i)
        list_queue(mqd(i), doorbell(i));
    list_chain();
    start_runlist();
    // All five read one ring here: whoever is mapped with doorbell 4 has had its turn.
    const auto mapped = [this](unsigned i) {
        for (unsigned queue = 2; queue < 5; ++queue)
            if (gpu.read_hqd({1, 0, queue}, reg::gc::CP_HQD_ACTIVE) == 1 &&
                bits(gpu.read_hqd({1, 0, queue}, reg::gc::CP_HQD_PQ_DOORBELL_CONTROL), 27, 2) ==
                    doorbell(i))
                return true;
        return false;
    };
    std::array<unsigned, 5> turns{};
    for (unsigned slice = 0; slice < 40; ++slice) {
        for (unsigned i = 0; i < 5; ++i)
            turns.at(i) += mapped(i) ? 1 : 0;
        gpu.device.run(1000);
    }
    for (unsigned i = 0; i < 5; ++i)
        EXPECT_GE(turns.at(i), 15U) << "queue " << i;
}

// The driver sends a new runlist for every queue that comes or goes.
TEST_F(TimeSlices, nobody_starves_when_the_runlist_is_renewed_all_the_time) {
    make(7);
    submit_list();
    for (unsigned i = 0; i < 7; ++i)
        send_packet(i);
    for (unsigned renewals = 0; renewals < 6; ++renewals) {
        unmap(100 + renewals);
        EXPECT_EQ(gpu.get<std::uint64_t>(fence), 100 + renewals);
        submit_list();
    }
    EXPECT_TRUE(all_completed());
}

TEST_F(TimeSlices, unmap_takes_off_what_waits_too) {
    make(4);
    submit_list();
    unmap(1);
    EXPECT_EQ(gpu.get<std::uint64_t>(fence), 1U);
    send_packet(3);
    for (unsigned i = 0; i < 20; ++i)
        gpu.device.run(1000);
    EXPECT_EQ(completed(3), 0U);
    EXPECT_EQ(gpu.device.run(1000), Device::Activity::idle);
    submit_list();
    EXPECT_LT(slices_until_all_completed(20), 20U);
}

TEST_F(TimeSlices, unmap_in_the_middle_of_a_switch_has_its_fence) {
    make(4);
    submit_list();
    gpu.arm("unmap-never:count=10");
    while (gpu.observer.counters["time_slices"] == 0)
        gpu.device.run(1000); // the slice ends, and its queues don't leave yet
    unmap(1);
    EXPECT_EQ(gpu.get<std::uint64_t>(fence), 0U);
    gpu.faults.disarm_all();
    gpu.run();
    EXPECT_EQ(gpu.get<std::uint64_t>(fence), 1U);
    for (unsigned i = 0; i < 4; ++i)
        send_packet(i);
    submit_list();
    EXPECT_LT(slices_until_all_completed(20), 20U);
}

// Nothing waits any more, but the others are on their way out already.
TEST_F(TimeSlices, those_stopped_come_back_when_the_last_one_waiting_is_unmapped) {
    make(3);
    submit_list();
    gpu.arm("unmap-never:count=10");
    while (gpu.observer.counters["time_slices"] == 0)
        gpu.device.run(1000);
    gpu.submit(hiq, test::Opcode::unmap_queues, {1U << 4, processes[2].pasid, 0, 0, 0});
    gpu.ring_doorbell(hiq);
    gpu.faults.disarm_all();
    gpu.run();
    send_packet(0);
    send_packet(1);
    EXPECT_TRUE(all_completed());
}

TEST_F(TimeSlices, one_of_them_may_be_unmapped_by_its_pasid) {
    make(3);
    submit_list();
    gpu.submit(hiq, test::Opcode::unmap_queues, {1U << 4, processes[1].pasid, 0, 0, 0});
    gpu.ring_doorbell(hiq);
    for (unsigned i = 0; i < 3; ++i)
        send_packet(i);
    for (unsigned i = 0; i < 20; ++i)
        gpu.device.run(1000);
    EXPECT_EQ(completed(0), 1U);
    EXPECT_EQ(completed(1), 0U);
    EXPECT_EQ(completed(2), 1U);
}

TEST_F(TimeSlices, list_that_does_not_fit_must_be_chained) {
    make(1);
    for (unsigned i = 1; i < 4; ++i)
        make_mqd(mqd(i), doorbell(i));
    list_process(processes[0]);
    for (unsigned i = 0; i < 4; ++i)
        list_queue(mqd(i), doorbell(i));
    start_runlist();
    ASSERT_THAT(gpu.observer.unknown, SizeIs(1));
    EXPECT_THAT(gpu.observer.unknown[0], HasSubstr("more queues"));
    gpu.observer.unknown.clear();
}

} // namespace
} // namespace vgpu
