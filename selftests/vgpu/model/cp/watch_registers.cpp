// SPDX-License-Identifier: MIT
// TCP_WATCHn: the driver writes the address, and the firmware the control, with the VMID that a
// process got (MAP_PROCESS).
#include "model/cp/command_processor.hpp"

#include <fmt/format.h>

namespace vgpu {
namespace {

constexpr std::uint32_t stride = reg::gc::TCP_WATCH1_CNTL - reg::gc::TCP_WATCH0_CNTL;
constexpr std::uint32_t valid = 1U << 31;

// SPI_GDBG_PER_VMID_CNTL: TRAP_EN, the exceptions of address watch and memory violation in EXCP_EN,
// EXCP_REPLACE. Waves enter the trap handler on a memory violation anyway.
constexpr std::uint32_t modelled_debug_control = 1U << 3 | 3U << 11 | 1U << 13;

} // namespace

void CommandProcessor::connect_watch_registers() {
    for (unsigned i = 0; i < sq::address_watches; ++i) {
        const auto apply = [this, i] {
            const XccRegisters& registers = unit_.registers;
            const std::uint32_t high = registers.value(reg::gc::TCP_WATCH0_ADDR_H + i * stride);
            const std::uint32_t low = registers.value(reg::gc::TCP_WATCH0_ADDR_L + i * stride);
            unit_.shaders.set_watch(i, join(low, high),
                                    registers.value(reg::gc::TCP_WATCH0_CNTL + i * stride));
        };
        for (const std::uint32_t first :
             {reg::gc::TCP_WATCH0_ADDR_H, reg::gc::TCP_WATCH0_ADDR_L, reg::gc::TCP_WATCH0_CNTL}) {
            const std::uint32_t dword = first + i * stride;
            unit_.registers.on_write(dword, [this, dword, apply](std::uint32_t value) {
                unit_.registers.set(dword, value);
                apply();
            });
        }
    }
}

void CommandProcessor::set_watches(unsigned vmid, const pm4::MapProcess& packet) {
    if ((packet.debug_control & ~modelled_debug_control) != 0)
        unit_.observer.unmodelled(
            "cp", fmt::format("SPI_GDBG_PER_VMID_CNTL {:#x} in MAP_PROCESS", packet.debug_control));
    for (unsigned i = 0; i < sq::address_watches; ++i)
        if ((packet.watch_controls[i] & valid) != 0)
            write_own_register(reg::gc::TCP_WATCH0_CNTL + i * stride,
                               packet.watch_controls[i] | vmid << 24);
}

void CommandProcessor::clear_watches(unsigned vmid) {
    for (unsigned i = 0; i < sq::address_watches; ++i) {
        const std::uint32_t dword = reg::gc::TCP_WATCH0_CNTL + i * stride;
        const std::uint32_t control = unit_.registers.value(dword);
        if ((control & valid) != 0 && bits(control, 27, 24) == vmid)
            write_own_register(dword, 0);
    }
}

} // namespace vgpu
