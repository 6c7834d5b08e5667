// SPDX-License-Identifier: MIT
// The gfx9 page table walker, without any state of its own.
#include "model/gmc/page_table.hpp"

#include "model/base/bits.hpp"

#include <cstring>

namespace vgpu {
namespace {

// Bits of an entry, AMDGPU_PTE_* and AMDGPU_PDE_* of amdgpu_vm.h.
constexpr unsigned valid_bit = 0;
constexpr unsigned system_bit = 1;
constexpr unsigned execute_bit = 4;
constexpr unsigned read_bit = 5;
constexpr unsigned write_bit = 6;
constexpr unsigned pde_is_pte_bit = 54;
constexpr unsigned further_bit = 56;

constexpr std::uint64_t table_address_mask = 0x0000'ffff'ffff'ffc0; // of the next table
constexpr std::uint64_t page_address_mask = 0x0000'ffff'ffff'f000;  // of a page

bool permitted(std::uint64_t entry, Access access) {
    switch (access) {
    case Access::read: return bit(entry, read_bit);
    case Access::write: return bit(entry, write_bit);
    case Access::execute: return bit(entry, execute_bit);
    }
    return false;
}

// An entry at `shift` bits that maps memory rather than pointing to the next table. At PDB0 the
// further bit says that the walk continues; above it, AMDGPU_PDE_PTE says that it doesn't.
bool is_leaf(std::uint64_t entry, unsigned shift) {
    if (shift == 12)
        return true;
    if (shift == 21)
        return !bit(entry, further_bit);
    return bit(entry, pde_is_pte_bit);
}

Walk finish(std::uint64_t entry, std::uint64_t page_bytes, std::uint64_t va, Access access) {
    if (!permitted(entry, access))
        return {WalkStatus::no_permission, {}};
    const std::uint64_t offset = page_bytes - 1;
    // Added, not merged: amdgpu aligns a large page by its virtual address alone
    // (amdgpu_vm_pte_fragment), and contiguous system memory may begin anywhere.
    return {WalkStatus::ok, {(entry & page_address_mask) + (va & offset), bit(entry, system_bit)}};
}

} // namespace

Walk walk_page_table(std::uint64_t root, std::uint64_t va, Access access,
                     const ReadEntry& read_entry) {
    std::uint64_t entry = root;
    for (unsigned shift = 39; shift >= 12; shift -= 9) {
        const std::uint64_t table = entry & table_address_mask & ~std::uint64_t{0xfff};
        const std::uint64_t index = (va >> shift) & 511;
        const std::byte* bytes = read_entry({table + index * 8, bit(entry, system_bit)});
        if (bytes == nullptr)
            return {WalkStatus::unreadable, {}};
        std::memcpy(&entry, bytes, sizeof entry);
        if (!bit(entry, valid_bit))
            return {WalkStatus::not_present, {}};
        if (is_leaf(entry, shift))
            return finish(entry, std::uint64_t{1} << shift, va, access);
    }
    return {WalkStatus::not_present, {}};
}

Walk walk_flat_table(std::uint64_t base, std::uint64_t start, std::uint64_t va, Access access,
                     const ReadEntry& read_entry) {
    const std::uint64_t index = (va - start) >> 12;
    const std::byte* bytes = read_entry({(base & page_address_mask) + index * 8, false});
    if (bytes == nullptr)
        return {WalkStatus::unreadable, {}};
    std::uint64_t entry = 0;
    std::memcpy(&entry, bytes, sizeof entry);
    if (!bit(entry, valid_bit))
        return {WalkStatus::not_present, {}};
    return finish(entry, 4096, va, access);
}

} // namespace vgpu
