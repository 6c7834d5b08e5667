// SPDX-License-Identifier: MIT
// The VRAM that this process has allocated through /dev/kfd: a queue's ring may lie in it.
#pragma once

#include <cstdint>

namespace xpreempt::hook {

struct VramAllocation {
    std::uint64_t handle; // KFD's, unique while the allocation exists
    std::uint64_t begin;
    std::uint64_t bytes;
};

void add_vram(const VramAllocation& allocation);

// Returns false if the handle isn't one of VRAM. The caller frees the memory afterwards: KFD gives
// the handle and the address to another thread at once.
bool drop_vram(std::uint64_t handle, VramAllocation& out);

// Returns whether any byte of the range is in VRAM, also when the table lost an allocation.
bool in_vram(std::uint64_t begin, std::uint64_t bytes);

// After fork the child has no memory of the GPU.
void forget_vram();

} // namespace xpreempt::hook
