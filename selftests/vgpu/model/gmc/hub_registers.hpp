// SPDX-License-Identifier: MIT
// The registers of a VM hub. The graphics hub and the memory hub have the same ones.
#pragma once

#include "registers.hpp"

#include <cstdint>

namespace vgpu {

struct HubRegisters {
    std::uint32_t vram_base, vram_top;
    // Registers of context 0. The page table bases of contexts 1 to 15 follow its own.
    std::uint32_t table_base, table_start, table_end;
    // Registers of invalidation engine 0. Those of the other engines follow.
    std::uint32_t invalidate_request, invalidate_acknowledge, invalidate_semaphore;
    std::uint32_t fault_status, fault_address, fault_control;
};

// `offset` from the registers of the first hub of its kind.
constexpr HubRegisters graphics_hub(std::uint32_t offset) {
    namespace gc = reg::gc;
    return {.vram_base = gc::MC_VM_FB_LOCATION_BASE + offset,
            .vram_top = gc::MC_VM_FB_LOCATION_TOP + offset,
            .table_base = gc::VM_CONTEXT0_PAGE_TABLE_BASE_ADDR_LO32 + offset,
            .table_start = gc::VM_CONTEXT0_PAGE_TABLE_START_ADDR_LO32 + offset,
            .table_end = gc::VM_CONTEXT0_PAGE_TABLE_END_ADDR_LO32 + offset,
            .invalidate_request = gc::VM_INVALIDATE_ENG0_REQ + offset,
            .invalidate_acknowledge = gc::VM_INVALIDATE_ENG0_ACK + offset,
            .invalidate_semaphore = gc::VM_INVALIDATE_ENG0_SEM + offset,
            .fault_status = gc::VM_L2_PROTECTION_FAULT_STATUS + offset,
            .fault_address = gc::VM_L2_PROTECTION_FAULT_ADDR_LO32 + offset,
            .fault_control = gc::VM_L2_PROTECTION_FAULT_CNTL + offset};
}
constexpr HubRegisters memory_hub(std::uint32_t offset) {
    namespace mmhub = reg::mmhub;
    return {.vram_base = mmhub::MC_VM_FB_LOCATION_BASE + offset,
            .vram_top = mmhub::MC_VM_FB_LOCATION_TOP + offset,
            .table_base = mmhub::VM_CONTEXT0_PAGE_TABLE_BASE_ADDR_LO32 + offset,
            .table_start = mmhub::VM_CONTEXT0_PAGE_TABLE_START_ADDR_LO32 + offset,
            .table_end = mmhub::VM_CONTEXT0_PAGE_TABLE_END_ADDR_LO32 + offset,
            .invalidate_request = mmhub::VM_INVALIDATE_ENG0_REQ + offset,
            .invalidate_acknowledge = mmhub::VM_INVALIDATE_ENG0_ACK + offset,
            .invalidate_semaphore = mmhub::VM_INVALIDATE_ENG0_SEM + offset,
            .fault_status = mmhub::VM_L2_PROTECTION_FAULT_STATUS + offset,
            .fault_address = mmhub::VM_L2_PROTECTION_FAULT_ADDR_LO32 + offset,
            .fault_control = mmhub::VM_L2_PROTECTION_FAULT_CNTL + offset};
}

} // namespace vgpu
