// SPDX-License-Identifier: MIT
// How many queues the hook lets HIP make, from what drivers report.
#include "hook/queue_slots.hpp"
#include "kfd/queue_slots.hpp"
#include "kfd_tree.hpp"

#include <gtest/gtest.h>

namespace {

using xpreempt::hook::compute_slots;
using xpreempt::kfd::usable_queue_slots;

TEST(QueueSlots, what_one_xcc_can_hold_is_believed) {
    EXPECT_EQ(usable_queue_slots(24, 1), 24U);
    EXPECT_EQ(usable_queue_slots(24, 8), 24U);
    EXPECT_EQ(usable_queue_slots(32, 1), 32U);
    EXPECT_EQ(usable_queue_slots(0, 4), 0U);
}

TEST(QueueSlots, the_sum_of_all_xccs_is_bounded_by_one_of_them) {
    EXPECT_EQ(usable_queue_slots(120, 4), 24U);
    EXPECT_EQ(usable_queue_slots(192, 8), 24U);
    EXPECT_EQ(usable_queue_slots(64, 4), 16U);
    EXPECT_EQ(usable_queue_slots(120, 0), 24U);
    EXPECT_EQ(usable_queue_slots(4294967295U, 1), 24U);
}

class QueueSlotsOfTopology : public testing::Test {
protected:
    void add(const std::string& node, std::string_view properties) const {
        tree.write("nodes/" + node + "/properties", properties);
    }
    [[nodiscard]] unsigned slots() const { return compute_slots((tree.root() / "nodes").c_str()); }

    test::KfdTree tree;
};

TEST_F(QueueSlotsOfTopology, the_gpu_with_the_fewest_decides_and_a_cpu_has_none) {
    EXPECT_EQ(slots(), 0U);
    add("0", "cpu_cores_count 64\nnum_cp_queues 0\n");
    EXPECT_EQ(slots(), 0U);
    add("1", "num_cp_queues 120\nnum_xcc 4\n");
    EXPECT_EQ(slots(), 24U);
    add("2", "num_xcc 1\nnum_cp_queues 8\n");
    EXPECT_EQ(slots(), 8U);
}

} // namespace
