// SPDX-License-Identifier: MIT
// The page table walker on tables as amdgpu writes them, and on broken ones.
#include "model/gmc/page_table.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace vgpu {
namespace {

constexpr std::uint64_t valid = 1;
constexpr std::uint64_t system_page = 2;
constexpr std::uint64_t executable = 1 << 4;
constexpr std::uint64_t readable = 1 << 5;
constexpr std::uint64_t writable = 1 << 6;
constexpr std::uint64_t pde_is_pte = 1ULL << 54;
constexpr std::uint64_t further = 1ULL << 56;
constexpr std::uint64_t va = 0x7f12'3456'7000;

class PageTable : public ::testing::Test {
protected:
    // Tables at 0x1000 (PDB2), 0x2000 (PDB1), 0x3000 (PDB0), 0x4000 (PTB), all in VRAM.
    void SetUp() override {
        set(0x1000, 39, 0x2000 | valid);
        set(0x2000, 30, 0x3000 | valid);
        set(0x3000, 21, 0x4000 | valid | further);
        set(0x4000, 12, 0xabcd'e000 | valid | readable | writable);
    }
    void set(std::uint64_t table, unsigned shift, std::uint64_t entry) {
        std::memcpy(vram.data() + table + ((va >> shift) & 511) * 8, &entry, sizeof entry);
    }
    Walk walk(std::uint64_t address, Access access = Access::read) {
        return walk_page_table(0x1000 | valid, address, access,
                               [this](PhysicalAddress entry) -> const std::byte* {
                                   if (entry.system || entry.address + 8 > vram.size())
                                       return nullptr;
                                   return vram.data() + entry.address;
                               });
    }

    std::vector<std::byte> vram = std::vector<std::byte>(0x5000);
};

TEST_F(PageTable, four_levels_end_at_a_small_page) {
    const Walk found = walk(va + 0x123);
    EXPECT_EQ(found.status, WalkStatus::ok);
    EXPECT_EQ(found.target.address, 0xabcd'e123U);
    EXPECT_FALSE(found.target.system);
}

TEST_F(PageTable, pdb0_without_further_is_a_2_mib_page) {
    set(0x3000, 21, 0x4000'0000 | valid | readable | system_page);
    const Walk found = walk(va + 0x123);
    EXPECT_EQ(found.status, WalkStatus::ok);
    EXPECT_EQ(found.target.address, 0x4000'0000U + ((va + 0x123) & 0x1f'ffff));
    EXPECT_TRUE(found.target.system);
}

// The driver makes a large page of contiguous system memory that begins at any small page.
TEST_F(PageTable, a_large_page_may_begin_at_any_small_page_of_memory) {
    set(0x3000, 21, 0x400f'f000 | valid | readable | system_page);
    EXPECT_EQ(walk(va & ~0x1f'ffffULL).target.address, 0x400f'f000U);
    EXPECT_EQ(walk(va | 0x1f'ffff).target.address, 0x400f'f000U + 0x1f'ffff);
}

TEST_F(PageTable, pde_as_pte_is_a_1_gib_page) {
    set(0x2000, 30, 0x8'0000'0000 | valid | readable | pde_is_pte);
    const Walk found = walk(va);
    EXPECT_EQ(found.status, WalkStatus::ok);
    EXPECT_EQ(found.target.address, 0x8'0000'0000U + (va & 0x3fff'ffff));
}

TEST_F(PageTable, permissions_are_those_of_the_leaf) {
    EXPECT_EQ(walk(va, Access::write).status, WalkStatus::ok);
    EXPECT_EQ(walk(va, Access::execute).status, WalkStatus::no_permission);
    set(0x4000, 12, 0xabcd'e000 | valid | executable);
    EXPECT_EQ(walk(va, Access::execute).status, WalkStatus::ok);
    EXPECT_EQ(walk(va, Access::read).status, WalkStatus::no_permission);
}

TEST_F(PageTable, invalid_entries_at_every_level_fault) {
    for (const auto& [table, shift] :
         {std::pair{0x4000, 12U}, {0x3000, 21U}, {0x2000, 30U}, {0x1000, 39U}}) {
        set(static_cast<std::uint64_t>(table), shift, 0x2000);
        EXPECT_EQ(walk(va).status, WalkStatus::not_present) << shift;
    }
}

TEST_F(PageTable, tables_outside_memory_are_unreadable) {
    set(0x2000, 30, 0xffff'f000 | valid);
    EXPECT_EQ(walk(va).status, WalkStatus::unreadable);
}

TEST_F(PageTable, flat_table_of_vmid_0) {
    const std::uint64_t entry = 0x1234'5000 | valid | readable | system_page;
    std::memcpy(vram.data() + 0x2000 + 3 * 8, &entry, sizeof entry);
    const auto flat = [this](std::uint64_t address) {
        return walk_flat_table(0x2000 | valid, 0x10'0000, address, Access::read,
                               [this](PhysicalAddress at) { return vram.data() + at.address; });
    };
    EXPECT_EQ(flat(0x10'3456).status, WalkStatus::ok);
    EXPECT_EQ(flat(0x10'3456).target.address, 0x1234'5456U);
    EXPECT_TRUE(flat(0x10'3456).target.system);
    EXPECT_EQ(flat(0x10'4000).status, WalkStatus::not_present);
}

} // namespace
} // namespace vgpu
