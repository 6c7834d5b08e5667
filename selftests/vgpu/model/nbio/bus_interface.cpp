// SPDX-License-Identifier: MIT
// Bus interface: VRAM window, SMN window, HDP flush, straps, and the trigger of a mode 1 reset.
#include "model/nbio/bus_interface.hpp"

#include "model/base/bits.hpp"
#include "registers.hpp"

#include <fmt/format.h>

#include <atomic>

namespace vgpu {
namespace {

namespace nbio = reg::nbio;

constexpr std::uint32_t asic_init_complete = 1U << 9; // BIOS_SCRATCH_7: no posting needed
// BIOS_SCRATCH_7 as the driver finds it before it has seen a VBIOS, with a scratch base of 0. Zero
// says "not initialised", so that it doesn't look for the VBIOS in VRAM.
constexpr std::uint32_t scratch_7_without_vbios = 7;
constexpr std::uint32_t gui_engine_hung = 1U << 29; // BIOS_SCRATCH_3, set before mode 1 reset

} // namespace

BusInterface::BusInterface(RegisterFile& registers, std::span<std::byte> vram, Observer& observer)
    : registers_(registers), vram_(vram), observer_(observer) {
    connect_vram_window();
    connect_smn_window();
    connect_hdp_flush();
    connect_reset_trigger();
    registers_.on_read(scratch_7_without_vbios, [] { return 0U; });
    // The driver asks the bus interfaces of the other AIDs only whether they are in BACO.
    for (unsigned aid = 1; aid < registers_.dies().aids(); ++aid)
        registers_.on_read(nbio::BIF_BX0_BACO_CNTL + Dies::aid_offset(aid), [] { return 0U; });
    registers_.set(nbio::BIF_BX0_BIOS_SCRATCH_7, asic_init_complete);
    reset();
}

std::array<std::uint32_t, 8> BusInterface::scratch() const {
    std::array<std::uint32_t, 8> values{};
    for (std::uint32_t i = 0; i < values.size(); ++i)
        values[i] = registers_.value(nbio::BIF_BX0_BIOS_SCRATCH_0 + i);
    return values;
}

void BusInterface::set_scratch(const std::array<std::uint32_t, 8>& values) {
    for (std::uint32_t i = 0; i < values.size(); ++i)
        registers_.set(nbio::BIF_BX0_BIOS_SCRATCH_0 + i, values[i]);
}

void BusInterface::reset() {
    smn_.clear();
    registers_.set(nbio::RCC_DEV0_EPF0_RCC_CONFIG_MEMSIZE,
                   static_cast<std::uint32_t>(vram_.size() >> 20));
    // External revision 1: gfx942; 0 would be gfx941.
    registers_.set(nbio::RCC_STRAP0_RCC_DEV0_EPF0_STRAP0, 1U << 24);
    // One partition, NPS1; with a single XCC every compute mode is the same.
    registers_.set(nbio::BIF_BX_PF0_PARTITION_COMPUTE_STATUS, 0);
    registers_.set(nbio::BIF_BX_PF0_PARTITION_MEM_STATUS, 1U << 4);
    registers_.set(nbio::BIF_BX_PF0_PARTITION_MEM_CAP, 1);
    // PSP boot loader: ready.
    registers_.set(reg::mp::MP0_SMN_C2PMSG_33, 0x8000'0000);
}

// MM_INDEX bit 31 selects VRAM; the driver reads the discovery table this way before it has
// mapped BAR 0.
std::byte* BusInterface::window_target() {
    const std::uint32_t index = registers_.value(nbio::BIF_BX_PF0_MM_INDEX);
    const std::uint32_t index_high = registers_.value(nbio::BIF_BX_PF0_MM_INDEX_HI);
    const std::uint64_t offset =
        static_cast<std::uint64_t>(index_high) << 31 | (index & 0x7fff'fffc);
    if (!bit(index, 31) || offset + 4 > vram_.size()) {
        observer_.unmodelled("nbio", fmt::format("MM_INDEX window at {:#x}", offset));
        return nullptr;
    }
    return vram_.data() + offset;
}

void BusInterface::connect_vram_window() {
    registers_.on_read(nbio::BIF_BX_PF0_MM_DATA, [this] {
        std::byte* target = window_target();
        return target == nullptr
                   ? ~0U
                   : std::atomic_ref(*reinterpret_cast<std::uint32_t*>(target)).load();
    });
    registers_.on_write(nbio::BIF_BX_PF0_MM_DATA, [this](std::uint32_t value) {
        if (std::byte* target = window_target())
            std::atomic_ref(*reinterpret_cast<std::uint32_t*>(target)).store(value);
    });
}

// System management network: power, fabric and link registers of other blocks. The driver only
// does read-modify-write there when it sets up doorbell routing and clock gating.
void BusInterface::connect_smn_window() {
    const auto address = [this] {
        return join(registers_.value(nbio::BIF_BX0_PCIE_INDEX2),
                    registers_.value(nbio::BIF_BX0_PCIE_INDEX2_HI));
    };
    registers_.on_read(nbio::BIF_BX0_PCIE_DATA2, [this, address] {
        const auto found = smn_.find(address());
        const std::uint32_t value = found == smn_.end() ? 0 : found->second;
        if (observer_.tracing())
            observer_.event("mmio", fmt::format("read smn {:#x} -> {:#x}", address(), value));
        return value;
    });
    registers_.on_write(nbio::BIF_BX0_PCIE_DATA2, [this, address](std::uint32_t value) {
        smn_[address()] = value;
        if (observer_.tracing())
            observer_.event("mmio", fmt::format("write smn {:#x} <- {:#x}", address(), value));
    });
}

void BusInterface::connect_hdp_flush() {
    // Engines write straight to memory, so every flush is done before it is asked for.
    registers_.on_read(nbio::BIF_BX_PF0_GPU_HDP_FLUSH_DONE, [] { return ~0U; });
    // The driver moves the flush registers to a page that user space may map too.
    for (const std::uint32_t remap :
         {nbio::BIF_BX0_REMAP_HDP_MEM_FLUSH_CNTL, nbio::BIF_BX0_REMAP_HDP_REG_FLUSH_CNTL}) {
        registers_.on_write(remap, [this, remap](std::uint32_t value) {
            registers_.set(remap, value);
            const std::uint32_t dword = value / 4;
            if (dword < registers_.dwords() && !registers_.declared(dword))
                registers_.on_write(dword, [](std::uint32_t) {});
        });
    }
}

// Without PSP and SMU blocks no message asks for the reset itself. The driver marks the engine
// as hung in BIOS_SCRATCH_3 right before (amdgpu_device_mode1_reset), and clears it after.
void BusInterface::connect_reset_trigger() {
    registers_.on_write(nbio::BIF_BX0_BIOS_SCRATCH_3, [this](std::uint32_t value) {
        const std::uint32_t before = registers_.value(nbio::BIF_BX0_BIOS_SCRATCH_3);
        registers_.set(nbio::BIF_BX0_BIOS_SCRATCH_3, value);
        if ((value & ~before & gui_engine_hung) != 0 && reset_handler_)
            reset_handler_();
    });
}

} // namespace vgpu
