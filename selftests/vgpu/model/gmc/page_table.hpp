// SPDX-License-Identifier: MIT
// The gfx9 page table walker, without any state of its own.
#pragma once

#include "model/base/memory.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>

namespace vgpu {

// Where a translation ends: a page in VRAM (offset) or in the guest's memory (bus address).
struct PhysicalAddress {
    std::uint64_t address = 0;
    bool system = false;
};

enum class WalkStatus : std::uint8_t {
    ok,
    not_present,   // an entry on the way isn't valid
    no_permission, // the page may not be read, written or executed
    unreadable,    // an entry lies outside memory
};

struct Walk {
    WalkStatus status = WalkStatus::not_present;
    PhysicalAddress target; // of the byte at the virtual address, when ok
};

// Entries are read through this; nullptr when the address is outside memory.
using ReadEntry = std::function<const std::byte*(PhysicalAddress)>;

// Four levels with "translate further" as amdgpu programs them for gfx9 (depth 2, block size 9):
// PDB2 [47:39], PDB1 [38:30], PDB0 [29:21], PTB [20:12]. `root` is VM_CONTEXTn_PAGE_TABLE_BASE.
Walk walk_page_table(std::uint64_t root, std::uint64_t va, Access access,
                     const ReadEntry& read_entry);

// VMID 0: one flat table of 8-byte entries for [start, end], in VRAM.
Walk walk_flat_table(std::uint64_t base, std::uint64_t start, std::uint64_t va, Access access,
                     const ReadEntry& read_entry);

} // namespace vgpu
