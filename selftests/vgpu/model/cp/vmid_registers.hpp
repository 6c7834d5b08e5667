// SPDX-License-Identifier: MIT
// Shader registers that exist once for each VMID, selected by GRBM_GFX_CNTL.VMID.
#pragma once

#include "model/base/bits.hpp"
#include "model/gmc/memory_controller.hpp"
#include "model/regs/register_file.hpp"

#include <array>
#include <cstdint>

namespace vgpu {

struct VmidState {
    std::uint32_t sh_mem_bases = 0;
    std::uint32_t sh_mem_config = 0;
    std::uint32_t tba_low = 0; // trap handler address >> 8, as the registers hold it
    std::uint32_t tba_high = 0;
    std::uint32_t tma_low = 0;
    std::uint32_t tma_high = 0;
    std::uint32_t debug_control = 0; // SPI_GDBG_PER_VMID_CNTL

    // Byte addresses; a VA has 48 bits, so 8 of the high register count.
    std::uint64_t tba() const { return join(tba_low, tba_high & 0xff) << 8; }
    std::uint64_t tma() const { return join(tma_low, tma_high & 0xff) << 8; }
};

class VmidRegisters {
public:
    explicit VmidRegisters(const XccRegisters& registers);

    VmidState& operator[](unsigned vmid) { return states_[vmid]; }
    const VmidState& operator[](unsigned vmid) const { return states_[vmid]; }
    void reset() { states_ = {}; }

private:
    void bank(const XccRegisters& registers, std::uint32_t dword, std::uint32_t VmidState::* field);

    std::array<VmidState, vmid_count> states_{};
};

} // namespace vgpu
