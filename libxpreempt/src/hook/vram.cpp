// SPDX-License-Identifier: MIT
// A hash table by KFD's handle. Its memory is mapped, not allocated: the first allocations come
// inside hsa_init, and a program that maps its memory in pieces of 2 MiB has 100,000 of them.
#include "hook/vram.hpp"

#include "base/caller_state.hpp"
#include "hook/mutex_lock.hpp"

#include <cstddef>
#include <pthread.h>
#include <sys/mman.h>

namespace xpreempt::hook {

namespace {

constexpr std::size_t first_capacity = 1024;

pthread_mutex_t vram_mutex = PTHREAD_MUTEX_INITIALIZER;
VramAllocation* slots; // a slot with bytes 0 is empty
std::size_t capacity;  // a power of two
std::size_t used;
bool lost; // an allocation that found no room

// Handles are a gpu_id and a small number that counts up.
std::size_t home_of(std::uint64_t handle) {
    return static_cast<std::size_t>((handle * 0x9e3779b97f4a7c15U) >> 32U) & (capacity - 1);
}

// The slot of that handle, or the empty one where it belongs.
std::size_t slot_of(std::uint64_t handle) {
    std::size_t slot = home_of(handle);
    while (slots[slot].bytes != 0 && slots[slot].handle != handle)
        slot = (slot + 1) & (capacity - 1);
    return slot;
}

bool grow() {
    const KeptErrno kept;
    const std::size_t wanted = capacity == 0 ? first_capacity : 2 * capacity;
    void* mapped = mmap(nullptr, wanted * sizeof *slots, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED)
        return false;
    VramAllocation* const old = slots;
    const std::size_t old_capacity = capacity;
    slots = static_cast<VramAllocation*>(mapped);
    capacity = wanted;
    for (std::size_t i = 0; i < old_capacity; ++i)
        if (old[i].bytes != 0)
            slots[slot_of(old[i].handle)] = old[i];
    if (old != nullptr)
        munmap(old, old_capacity * sizeof *slots);
    return true;
}

// Puts the entries behind the emptied slot in their places again: a search ends at an empty slot.
void empty(std::size_t slot) {
    slots[slot].bytes = 0;
    for (std::size_t next = (slot + 1) & (capacity - 1); slots[next].bytes != 0;
         next = (next + 1) & (capacity - 1)) {
        const VramAllocation moved = slots[next];
        slots[next].bytes = 0;
        slots[slot_of(moved.handle)] = moved;
    }
}

} // namespace

void add_vram(const VramAllocation& allocation) {
    if (allocation.bytes == 0)
        return;
    const MutexLock lock(vram_mutex);
    if (2 * (used + 1) > capacity && !grow()) {
        lost = true;
        return;
    }
    const std::size_t slot = slot_of(allocation.handle);
    used += slots[slot].bytes == 0 ? 1U : 0U;
    slots[slot] = allocation;
}

bool drop_vram(std::uint64_t handle, VramAllocation& out) {
    const MutexLock lock(vram_mutex);
    if (used == 0)
        return false;
    const std::size_t slot = slot_of(handle);
    if (slots[slot].bytes == 0)
        return false;
    out = slots[slot];
    empty(slot);
    --used;
    return true;
}

bool in_vram(std::uint64_t begin, std::uint64_t bytes) {
    const MutexLock lock(vram_mutex);
    for (std::size_t i = 0; i < capacity; ++i) {
        const VramAllocation& known = slots[i];
        if (known.bytes != 0 && begin < known.begin + known.bytes && known.begin < begin + bytes)
            return true;
    }
    return lost;
}

void forget_vram() {
    vram_mutex = PTHREAD_MUTEX_INITIALIZER;
    if (slots != nullptr)
        munmap(slots, capacity * sizeof *slots);
    slots = nullptr;
    capacity = used = 0;
    lost = false;
}

} // namespace xpreempt::hook
