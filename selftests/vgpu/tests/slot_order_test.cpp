// SPDX-License-Identifier: MIT
// Tests of the HQD slots that the queues of a runlist get, and of the state left in a free slot.
#include "user_queues.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace vgpu {
namespace {

using pm4::Opcode;
using test::mib;
using test::Process;
using test::signal_va;
using test::user_va;
using ::testing::ElementsAre;

// Queues 2 to 7 of the four pipes of ME 1, which is what the driver gives the HIQ.
constexpr std::uint32_t mask_of_the_driver = 0xfcfcfcfc;

class HqdSlots : public test::UserQueues {
protected:
    explicit HqdSlots(DeviceOptions options = {}) : UserQueues(options) {}

    void SetUp() override {
        UserQueues::SetUp();
        gpu.submit(hiq, Opcode::set_resources,
                   {1U << 29 | 0x300, mask_of_the_driver, 0, 0, 0, 0, 0});
        for (unsigned i = 0; i < queues; ++i)
            make_mqd(mqd(i), doorbell(i));
    }

    static constexpr unsigned queues = 5;
    static std::uint64_t mqd(unsigned queue) { return 0x10000 + queue * 0x4000ULL; }
    static std::uint32_t doorbell(unsigned queue) { return 0x1000 + 2 * queue; }

    // The driver lists the newest queue first.
    void map_newest_first(unsigned count = queues) {
        list_process(process);
        for (unsigned i = count; i-- > 0;)
            list_queue(mqd(i), doorbell(i));
        start_runlist();
    }
    std::uint32_t in_slot(HqdAddress address, std::uint32_t index) {
        return gpu.read_hqd(address, hqd::first + index);
    }
    // "pipe.queue" of the slot that each queue is active in, the oldest queue first.
    std::vector<std::string> slots_of_queues() {
        std::vector<std::string> found(queues, "none");
        for (unsigned slot = 0; slot < hqd_slots; ++slot) {
            const HqdAddress address = address_of(slot);
            const std::uint32_t offset = bits(in_slot(address, hqd::doorbell), 27, 2);
            if (address.me == 1 && in_slot(address, hqd::active) == 1)
                found.at((offset - 0x1000) / 2) = fmt::format("{}.{}", address.pipe, address.queue);
        }
        return found;
    }

    const Process process = make_process(1 * mib, 0x8001);
};

TEST_F(HqdSlots, go_round_the_pipes_in_the_order_of_the_runlist) {
    map_newest_first();
    EXPECT_THAT(slots_of_queues(), ElementsAre("0.3", "3.2", "2.2", "1.2", "0.2"));
}

TEST_F(HqdSlots, of_a_queue_changes_when_another_queue_comes) {
    map_newest_first(1);
    EXPECT_EQ(slots_of_queues()[0], "0.2");
    unmap(1);
    map_newest_first(2);
    EXPECT_THAT(slots_of_queues(), ElementsAre("1.2", "0.2", "none", "none", "none"));
}

TEST_F(HqdSlots, that_a_queue_left_name_no_doorbell_and_keep_the_rest) {
    constexpr HqdAddress slot{1, 0, 2};
    constexpr std::uint32_t bif_drop = 2;
    gpu.put(mqd(0) + 4 * (hqd::mqd_dword + hqd::doorbell), doorbell(0) << 2 | bif_drop);
    map_newest_first(1);
    gpu.put(process.page(2) + 8, std::int64_t{1});
    write_barrier(process, 0, 0, signal_va);
    gpu.device.write_doorbell(doorbell(0), 0);
    constexpr std::uint32_t enabled = 1U << 30;
    constexpr std::uint32_t hit_by_scheduler = 1U << 29;
    EXPECT_EQ(in_slot(slot, hqd::doorbell),
              enabled | hit_by_scheduler | doorbell(0) << 2 | bif_drop);
    EXPECT_EQ(in_slot(slot, hqd::pq_rptr), 16U);
    unmap(1);
    EXPECT_EQ(in_slot(slot, hqd::active), 0U);
    EXPECT_EQ(in_slot(slot, hqd::doorbell), bif_drop);
    EXPECT_EQ(in_slot(slot, hqd::pq_rptr), 0U);
    EXPECT_EQ(in_slot(slot, hqd::pq_wptr), 0U);
    EXPECT_EQ(in_slot(slot, hqd::mqd_base), low_half(test::TestGpu::mc(mqd(0))));
    EXPECT_EQ(in_slot(slot, hqd::pq_base), low_half(user_va >> 8));
    EXPECT_EQ(in_slot(slot, hqd::vmid) & 15, 8U);
}

class SeededHqdSlots : public HqdSlots {
protected:
    explicit SeededHqdSlots(std::uint64_t seed = 7) : HqdSlots({.xccs = 1, .slot_seed = seed}) {}

    std::vector<std::vector<std::string>> slots_of_runlists(unsigned runlists) {
        std::vector<std::vector<std::string>> slots;
        for (unsigned i = 0; i < runlists; ++i) {
            map_newest_first();
            slots.push_back(slots_of_queues());
            unmap(i + 1);
        }
        return slots;
    }
};

class OtherSeededHqdSlots : public SeededHqdSlots {
public:
    OtherSeededHqdSlots() : SeededHqdSlots(8) {}
    using SeededHqdSlots::SetUp;
    using SeededHqdSlots::slots_of_runlists;
    void TestBody() override {}
};

class SameSeededHqdSlots : public SeededHqdSlots {
public:
    using SeededHqdSlots::SetUp;
    using SeededHqdSlots::slots_of_runlists;
    void TestBody() override {}
};

TEST_F(SeededHqdSlots, differ_from_runlist_to_runlist_within_the_mask) {
    auto slots = slots_of_runlists(20);
    for (const auto& of_queues : slots)
        for (const std::string& slot : of_queues) {
            EXPECT_NE(slot, "none");
            EXPECT_GE(slot.back(), '2') << slot;
        }
    std::ranges::sort(slots);
    EXPECT_EQ(std::ranges::unique(slots).begin(), slots.end()) << "one order came twice";
}

TEST_F(SeededHqdSlots, follow_from_the_seed) {
    const auto slots = slots_of_runlists(5);
    SameSeededHqdSlots same;
    same.SetUp();
    EXPECT_EQ(same.slots_of_runlists(5), slots);
    OtherSeededHqdSlots other;
    other.SetUp();
    EXPECT_NE(other.slots_of_runlists(5), slots);
}

} // namespace
} // namespace vgpu
