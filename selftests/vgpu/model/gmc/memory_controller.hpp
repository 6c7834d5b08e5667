// SPDX-License-Identifier: MIT
// Graphics memory controller: apertures, page tables, TLB invalidation and VM faults.
#pragma once

#include "model/base/fault_hooks.hpp"
#include "model/base/host.hpp"
#include "model/base/memory.hpp"
#include "model/base/observer.hpp"
#include "model/gmc/hub_registers.hpp"
#include "model/gmc/page_table.hpp"
#include "model/nbio/doorbell_window.hpp"
#include "model/regs/register_file.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

namespace vgpu {

// MC address of the first byte of VRAM, as FB_LOCATION tells the driver.
inline constexpr std::uint64_t vram_mc_base = 0x80'0000'0000;
inline constexpr unsigned vmid_count = 16;

// A unit that accesses memory: the hub that translates for it and reports its faults, and its id
// there (gfxhub_client_ids and mmhub_client_ids_aldebaran of gmc_v9_0.c). On GC 9.4.3 waves and CP
// are clients of the graphics hub of their XCC, all rings of SDMA of the memory hub of their AID.
struct MemoryClient {
    bool mmhub = false;
    std::uint16_t id = 8; // texture cache: vector memory of waves
    std::uint8_t die = 0; // XCC of the graphics hub, AID of the memory hub
};
constexpr MemoryClient shader_client(unsigned xcc) {
    return {false, 8, static_cast<std::uint8_t>(xcc)};
}
constexpr MemoryClient cp_client(unsigned xcc) {
    return {false, 5, static_cast<std::uint8_t>(xcc)};
}
// An engine by its AID and its place there.
constexpr MemoryClient sdma_client(unsigned aid, unsigned place) {
    return {true, static_cast<std::uint16_t>(256 + place), static_cast<std::uint8_t>(aid)};
}

struct VmFault {
    MemoryClient client;
    unsigned vmid = 0;
    std::uint64_t va = 0;
    Access access = Access::read;
    bool permission = false; // mapped, but not for this access
};

class MemoryController final : public Memory {
public:
    MemoryController(RegisterFile& registers, std::span<std::byte> vram, Host& host,
                     FaultHooks& faults, Observer& observer);

    // Called for a fault of a VMID other than 0, after the hub's registers recorded it.
    void on_fault(std::function<void(const VmFault&)> handler) {
        fault_handler_ = std::move(handler);
    }

    std::byte* translate(unsigned vmid, std::uint64_t va, std::size_t bytes,
                         Access access) override;
    std::uint64_t epoch() const override { return epoch_; }
    void invalidate() {
        ++epoch_;
        told_ = 0;
    }

    // While it lives, accesses are those of this client instead of the shaders'.
    class ClientScope {
    public:
        ClientScope(MemoryController& memory, MemoryClient client)
            : memory_(memory), previous_(memory.client_) {
            memory_.client_ = client;
        }
        ~ClientScope() { memory_.client_ = previous_; }
        ClientScope(const ClientScope&) = delete;
        ClientScope& operator=(const ClientScope&) = delete;

    private:
        MemoryController& memory_;
        MemoryClient previous_;
    };

    // Page table base of a VMID in all hubs, as the CP does for MAP_PROCESS.
    void set_page_table_base(unsigned vmid, std::uint64_t base);
    // PASID of a VMID, from the CP's MAP_PROCESS or the driver's ATC registers.
    std::uint16_t pasid(unsigned vmid) const { return pasids_[vmid]; }
    void set_pasid(unsigned vmid, std::uint16_t pasid) { pasids_[vmid] = pasid; }

    // Whether an access would succeed; not one itself.
    bool is_mapped(unsigned vmid, std::uint64_t va, Access access);

    // Typed access for engines; false or zero after a fault. Ranges may cross pages.
    bool read(unsigned vmid, std::uint64_t va, std::span<std::byte> bytes);
    bool write(unsigned vmid, std::uint64_t va, std::span<const std::byte> bytes);
    std::uint32_t read32(unsigned vmid, std::uint64_t va);
    std::uint64_t read64(unsigned vmid, std::uint64_t va);
    // Single stores that a CPU polls: ordered after everything before them.
    bool store32(unsigned vmid, std::uint64_t va, std::uint32_t value);
    bool store64(unsigned vmid, std::uint64_t va, std::uint64_t value);

    // Writes of waves, packets and SDMA to the doorbell BAR since the last call.
    std::vector<DoorbellWindow::Write> take_doorbells() { return doorbells_.take(); }

    // Registers at their power-on values; translations are void.
    void reset();

private:
    const HubRegisters& hub_of(MemoryClient client) const;
    void connect_invalidation(const HubRegisters& hub);
    void connect_fault_control(const HubRegisters& hub);
    void connect_atc();
    std::byte* physical(PhysicalAddress target, std::size_t bytes);
    Walk walk(unsigned vmid, std::uint64_t va, Access access);
    void record_fault(unsigned vmid, std::uint64_t va, Access access, WalkStatus status);

    RegisterFile& registers_;
    std::span<std::byte> vram_;
    Host& host_;
    FaultHooks& faults_;
    Observer& observer_;
    std::function<void(const VmFault&)> fault_handler_;
    std::vector<HubRegisters>
        hubs_; // the graphics hub of each XCC, then the memory hub of each AID
    std::array<std::uint16_t, vmid_count> pasids_{};
    ReadEntry read_entry_;
    DoorbellWindow doorbells_;
    MemoryClient client_;
    // A VMID whose fault was told isn't told of again before something changed in memory or the
    // driver has cleared the hub's status: a kernel of a thousand waves would flood the driver.
    std::uint16_t told_ = 0;
    std::uint64_t epoch_ = 1;
};

} // namespace vgpu
