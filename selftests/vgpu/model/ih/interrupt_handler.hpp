// SPDX-License-Identifier: MIT
// Interrupt handler: the ring of 32-byte entries in memory, its pointers, and the MSI.
#pragma once

#include "model/base/clock.hpp"
#include "model/base/fault_hooks.hpp"
#include "model/base/host.hpp"
#include "model/base/observer.hpp"
#include "model/base/schedule.hpp"
#include "model/gmc/memory_controller.hpp"
#include "model/regs/register_file.hpp"

#include <array>
#include <cstdint>
#include <deque>

namespace vgpu {

// Clients and sources of drivers/gpu/drm/amd/include/{soc15_ih_clientid,ivsrcid/*}.h.
namespace ih {
// Engines of an AID; a MI250 and a MI100 have more on their one die.
inline constexpr std::array<std::uint8_t, 8> clients_sdma = {0x08, 0x09, 0x01, 0x04,
                                                             0x05, 0x11, 0x13, 0x18};
inline constexpr std::uint8_t client_se0sh = 0x0a;
inline constexpr std::uint8_t client_vmc = 0x12;
inline constexpr std::uint8_t client_grbm_cp = 0x14;
inline constexpr std::uint8_t client_utcl2 = 0x1b;
inline constexpr std::uint8_t source_vm_fault = 0;
inline constexpr std::uint8_t source_cp_kiq = 178;
inline constexpr std::uint8_t source_cp_end_of_pipe = 181;
inline constexpr std::uint8_t source_cp_bad_opcode = 183;
inline constexpr std::uint8_t source_sdma_trap = 224;
inline constexpr std::uint8_t source_sq_message = 239;
} // namespace ih

struct Interrupt {
    std::uint8_t client = 0;
    std::uint8_t source = 0;
    std::uint8_t ring = 0; // for the CP: queue << 4 | me << 2 | pipe
    std::uint8_t vmid = 0;
    std::uint16_t pasid = 0;
    std::array<std::uint32_t, 4> context{}; // context ids of the entry
    std::uint8_t node = 0;                  // which die it comes from: 0 is the first AID
};

class InterruptHandler {
public:
    InterruptHandler(RegisterFile& registers, MemoryController& memory, Host& host,
                     const Clock& clock, FaultHooks& faults, Schedule& schedule,
                     Observer& observer);

    // Appends an entry, stores the new write pointer and raises the MSI. Lost, as on hardware,
    // while the driver has the ring disabled.
    // A schedule may delay either; entries keep their order, and one MSI may announce several.
    void raise(const Interrupt& interrupt);
    // Does what was delayed until now. True when something was done.
    bool run();
    // Forgets it.
    void reset();

    // True when the doorbell was the ring's read pointer.
    bool doorbell(std::uint32_t dword, std::uint64_t value);

private:
    struct Late {
        Interrupt interrupt;
        Schedule::Step at = 0;
    };

    void write_entry(const Interrupt& interrupt);
    std::byte* ring_memory(std::uint64_t address, std::size_t bytes);

    RegisterFile& registers_;
    MemoryController& memory_;
    Host& host_;
    const Clock& clock_;
    FaultHooks& faults_;
    Schedule& schedule_;
    Observer& observer_;
    std::deque<Late> late_;
    bool msi_pending_ = false;
    Schedule::Step msi_at_ = 0;
};

// The interrupts of one XCC.
class XccInterrupts {
public:
    XccInterrupts(InterruptHandler& handler, std::uint8_t node) : handler_(handler), node_(node) {}
    void raise(Interrupt interrupt) const {
        interrupt.node = node_;
        handler_.raise(interrupt);
    }

private:
    InterruptHandler& handler_;
    std::uint8_t node_;
};

} // namespace vgpu
