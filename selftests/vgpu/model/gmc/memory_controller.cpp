// SPDX-License-Identifier: MIT
// Graphics memory controller: apertures, page tables, TLB invalidation and VM faults.
#include "model/gmc/memory_controller.hpp"

#include "model/base/bits.hpp"
#include "registers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>

namespace vgpu {
namespace {

constexpr unsigned invalidation_engines = 18;
constexpr std::uint64_t va_mask = 0x0000'ffff'ffff'ffff; // 48-bit, kernel addresses wrap to it

constexpr std::uint16_t client_instruction_cache = 9; // of the graphics hub

const char* access_name(Access access) {
    switch (access) {
    case Access::read: return "read";
    case Access::write: return "write";
    case Access::execute: return "execute";
    }
    return "?";
}

} // namespace

MemoryController::MemoryController(RegisterFile& registers, std::span<std::byte> vram, Host& host,
                                   FaultHooks& faults, Observer& observer)
    : registers_(registers), vram_(vram), host_(host), faults_(faults), observer_(observer),
      read_entry_([this](PhysicalAddress entry) { return physical(entry, 8); }) {
    const Dies& dies = registers_.dies();
    for (unsigned xcc = 0; xcc < dies.xccs(); ++xcc)
        hubs_.push_back(graphics_hub(dies.xcc_offset(xcc)));
    for (unsigned aid = 0; aid < dies.aids(); ++aid)
        hubs_.push_back(memory_hub(Dies::aid_offset(aid)));
    for (const HubRegisters& hub : hubs_) {
        connect_invalidation(hub);
        connect_fault_control(hub);
    }
    connect_atc();
    reset();
}

// Nothing is cached here, so an invalidation is done as soon as it is asked for; the epoch tells
// engines that cache translations themselves.
void MemoryController::connect_invalidation(const HubRegisters& hub) {
    for (unsigned engine = 0; engine < invalidation_engines; ++engine) {
        const std::uint32_t request = hub.invalidate_request + engine;
        registers_.on_write(request, [this, request](std::uint32_t value) {
            registers_.set(request, value);
            invalidate();
        });
        registers_.on_read(hub.invalidate_acknowledge + engine,
                           [this, request] { return registers_.value(request) & 0xffff; });
        // The engine's semaphore: always granted.
        registers_.on_read(hub.invalidate_semaphore + engine, [] { return 1U; });
    }
}

// CLEAR_PROTECTION_FAULT_STATUS_ADDR (bit 0): the driver has read what it wanted to know.
void MemoryController::connect_fault_control(const HubRegisters& hub) {
    registers_.on_write(hub.fault_control, [this, hub](std::uint32_t value) {
        registers_.set(hub.fault_control, value & ~1U);
        if (!bit(value, 0))
            return;
        registers_.set(hub.fault_status, 0);
        registers_.set(hub.fault_address, 0);
        registers_.set(hub.fault_address + 1, 0);
        told_ = 0;
    });
}

void MemoryController::connect_atc() {
    for (unsigned vmid = 0; vmid < vmid_count; ++vmid) {
        const std::uint32_t mapping = reg::athub::ATC_VMID0_PASID_MAPPING + vmid;
        registers_.on_write(mapping, [this, mapping, vmid](std::uint32_t value) {
            registers_.set(mapping, value);
            set_pasid(vmid, static_cast<std::uint16_t>(value));
        });
    }
    // Where the driver looks by mistake (see blocks/athub.regs): it finds no VMID there.
    for (unsigned vmid = 0; vmid < vmid_count; ++vmid)
        registers_.on_read(reg::athub::ATC_PERFCOUNTER2_CFG + vmid, [] { return 0U; });
    // The upper half is for the VMIDs of the memory hub, which the driver of a MI250 sets as well.
    registers_.on_read(reg::athub::ATC_VMID_PASID_MAPPING_UPDATE_STATUS,
                       [] { return 0xffff'ffffU; });
}

void MemoryController::reset() {
    pasids_.fill(0);
    const auto last = vram_mc_base + vram_.size() - 1;
    for (const HubRegisters& hub : hubs_) {
        registers_.set(hub.vram_base, static_cast<std::uint32_t>(vram_mc_base >> 24));
        registers_.set(hub.vram_top, static_cast<std::uint32_t>(last >> 24));
    }
    doorbells_.clear();
    invalidate();
}

// The driver assigns VMIDs 1 and 2 per hub (amdgpu_ids.c): one VMID may be two processes in two
// hubs.
const HubRegisters& MemoryController::hub_of(MemoryClient client) const {
    return hubs_[client.mmhub ? registers_.dies().xccs() + client.die : client.die];
}

void MemoryController::set_page_table_base(unsigned vmid, std::uint64_t base) {
    for (const HubRegisters& hub : hubs_) {
        const std::uint32_t first = hub.table_base + 2 * vmid;
        registers_.set(first, low_half(base));
        registers_.set(first + 1, high_half(base));
    }
    invalidate();
}

std::byte* MemoryController::physical(PhysicalAddress target, std::size_t bytes) {
    if (target.system) {
        if (std::byte* memory = host_.system_memory(target.address, bytes))
            return memory;
        const auto doorbell = host_.doorbell_offset(target.address);
        return doorbell ? doorbells_.at(*doorbell, bytes) : nullptr;
    }
    // Entries carry either an MC address or, with FB_OFFSET zero, an offset into VRAM.
    const std::uint64_t offset =
        target.address >= vram_mc_base ? target.address - vram_mc_base : target.address;
    if (offset > vram_.size() || bytes > vram_.size() - offset)
        return nullptr;
    return vram_.data() + offset;
}

Walk MemoryController::walk(unsigned vmid, std::uint64_t va, Access access) {
    const HubRegisters& hub = hub_of(client_);
    const std::uint64_t root = registers_.value64(hub.table_base + 2 * vmid);
    if (vmid != 0)
        return walk_page_table(root, va, access, read_entry_);
    if (va >= vram_mc_base && va - vram_mc_base < vram_.size())
        return {WalkStatus::ok, {va, false}};
    const std::uint64_t start = registers_.value64(hub.table_start) << 12;
    const std::uint64_t end = registers_.value64(hub.table_end) << 12 | 0xfff;
    if (va < start || va > end)
        return {WalkStatus::not_present, {}};
    return walk_flat_table(root, start, va, access, read_entry_);
}

bool MemoryController::is_mapped(unsigned vmid, std::uint64_t va, Access access) {
    return walk(vmid, va & va_mask, access).status == WalkStatus::ok;
}

std::byte* MemoryController::translate(unsigned vmid, std::uint64_t va, std::size_t bytes,
                                       Access access) {
    va &= va_mask;
    // The CP looks at its queues again and again: its accesses aren't counted.
    if (vmid != 0 && client_.id != cp_client(0).id && faults_.fault_access(vmid, pasids_[vmid])) {
        record_fault(vmid, va, access, WalkStatus::not_present);
        return nullptr;
    }
    const Walk result = walk(vmid, va, access);
    if (result.status != WalkStatus::ok) {
        record_fault(vmid, va, access, result.status);
        return nullptr;
    }
    std::byte* host = physical(result.target, bytes);
    if (host == nullptr)
        record_fault(vmid, va, access, WalkStatus::unreadable);
    return host;
}

void MemoryController::record_fault(unsigned vmid, std::uint64_t va, Access access,
                                    WalkStatus status) {
    observer_.count("vm_faults", 1);
    if (observer_.tracing())
        observer_.event("gmc",
                        fmt::format("fault vmid {} va {:#x} {} {}", vmid, va, access_name(access),
                                    status == WalkStatus::no_permission ? "not permitted"
                                    : status == WalkStatus::not_present ? "not mapped"
                                                                        : "no memory"));
    if (vmid == 0) {
        // The kernel's own address space: the model or the driver is wrong, never a user.
        observer_.unmodelled("gmc", fmt::format("VMID 0 access to {:#x}", va));
        return;
    }
    MemoryClient client = client_;
    if (access == Access::execute)
        client.id = client_instruction_cache;
    // VM_L2_PROTECTION_FAULT_STATUS of gfx9: MORE_FAULTS 0, PERMISSION_FAULTS [7:4], CID [17:9],
    // RW 18, VMID [23:20]; bits of PERMISSION_FAULTS: valid 0, read 1, write 2, execute 3. The
    // first fault stays until the driver clears it.
    const bool permission = status == WalkStatus::no_permission;
    const std::uint32_t denied = !permission                 ? 1U
                                 : access == Access::write   ? 4U
                                 : access == Access::execute ? 8U
                                                             : 2U;
    const HubRegisters& hub = hub_of(client);
    if (const std::uint32_t earlier = registers_.value(hub.fault_status); earlier != 0) {
        registers_.set(hub.fault_status, earlier | 1U);
    } else {
        registers_.set(hub.fault_status, denied << 4 | static_cast<std::uint32_t>(client.id) << 9 |
                                             (access == Access::write ? 1U << 18 : 0U) |
                                             vmid << 20);
        registers_.set(hub.fault_address, low_half(va >> 12));
        registers_.set(hub.fault_address + 1, high_half(va >> 12));
    }
    if (bit(told_, vmid))
        return;
    told_ = static_cast<std::uint16_t>(told_ | 1U << vmid);
    if (fault_handler_)
        fault_handler_({client, vmid, va, access, permission});
}

bool MemoryController::read(unsigned vmid, std::uint64_t va, std::span<std::byte> bytes) {
    while (!bytes.empty()) {
        const std::size_t part = std::min<std::size_t>(bytes.size(), 4096 - (va & 4095));
        const std::byte* host = translate(vmid, va, part, Access::read);
        if (host == nullptr)
            return false;
        std::memcpy(bytes.data(), host, part);
        bytes = bytes.subspan(part);
        va += part;
    }
    return true;
}

bool MemoryController::write(unsigned vmid, std::uint64_t va, std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const std::size_t part = std::min<std::size_t>(bytes.size(), 4096 - (va & 4095));
        std::byte* host = translate(vmid, va, part, Access::write);
        if (host == nullptr)
            return false;
        std::memcpy(host, bytes.data(), part);
        bytes = bytes.subspan(part);
        va += part;
    }
    return true;
}

std::uint32_t MemoryController::read32(unsigned vmid, std::uint64_t va) {
    std::byte* host = translate(vmid, va & ~std::uint64_t{3}, 4, Access::read);
    if (host == nullptr)
        return 0;
    return std::atomic_ref(*reinterpret_cast<std::uint32_t*>(host)).load(std::memory_order_acquire);
}

std::uint64_t MemoryController::read64(unsigned vmid, std::uint64_t va) {
    std::byte* host = translate(vmid, va & ~std::uint64_t{7}, 8, Access::read);
    if (host == nullptr)
        return 0;
    return std::atomic_ref(*reinterpret_cast<std::uint64_t*>(host)).load(std::memory_order_acquire);
}

bool MemoryController::store32(unsigned vmid, std::uint64_t va, std::uint32_t value) {
    std::byte* host = translate(vmid, va & ~std::uint64_t{3}, 4, Access::write);
    if (host == nullptr)
        return false;
    std::atomic_ref(*reinterpret_cast<std::uint32_t*>(host)).store(value);
    return true;
}

bool MemoryController::store64(unsigned vmid, std::uint64_t va, std::uint64_t value) {
    std::byte* host = translate(vmid, va & ~std::uint64_t{7}, 8, Access::write);
    if (host == nullptr)
        return false;
    std::atomic_ref(*reinterpret_cast<std::uint64_t*>(host)).store(value);
    return true;
}

} // namespace vgpu
