// SPDX-License-Identifier: MIT
// A stale handle never finds the object that has its slot now.
#include "base/handle_table.hpp"

#include <gtest/gtest.h>

namespace {

using Table = xpreempt::HandleTable<int>;

TEST(HandleTable, finds_what_was_inserted) {
    Table table;
    const auto first = table.insert(std::make_shared<int>(1));
    const auto second = table.insert(std::make_shared<int>(2));
    EXPECT_NE(first, second);
    EXPECT_EQ(1, **table.find(first));
    EXPECT_EQ(2, **table.find(second));
    EXPECT_EQ(2U, table.entries().size());
}

TEST(HandleTable, a_removed_handle_is_EBADF_also_when_its_slot_is_used_again) {
    Table table;
    const auto first = table.insert(std::make_shared<int>(1));
    ASSERT_TRUE(table.remove(first));
    EXPECT_EQ(EBADF, table.find(first).error().errno_value);
    EXPECT_EQ(EBADF, table.remove(first).error().errno_value);
    const auto second = table.insert(std::make_shared<int>(2));
    EXPECT_EQ(EBADF, table.find(first).error().errno_value);
    EXPECT_EQ(2, **table.find(second));
}

TEST(HandleTable, zero_and_invented_handles_are_EBADF) {
    Table table;
    EXPECT_FALSE(table.find(0));
    const auto handle = table.insert(std::make_shared<int>(1));
    EXPECT_FALSE(table.find(0));
    EXPECT_FALSE(table.find(handle + 1));
    EXPECT_FALSE(table.find(~std::uint64_t{0}));
}

TEST(HandleTable, an_object_in_use_outlives_its_handle) {
    Table table;
    const auto handle = table.insert(std::make_shared<int>(1));
    const auto used = *table.find(handle);
    ASSERT_TRUE(table.remove(handle));
    EXPECT_EQ(1, *used);
}

} // namespace
