// SPDX-License-Identifier: MIT
// Shader registers that exist once for each VMID, selected by GRBM_GFX_CNTL.VMID.
#include "model/cp/vmid_registers.hpp"

#include "registers.hpp"

namespace vgpu {

VmidRegisters::VmidRegisters(const XccRegisters& registers) {
    namespace gc = reg::gc;
    bank(registers, gc::SH_MEM_BASES, &VmidState::sh_mem_bases);
    bank(registers, gc::SH_MEM_CONFIG, &VmidState::sh_mem_config);
    bank(registers, gc::SQ_SHADER_TBA_LO, &VmidState::tba_low);
    bank(registers, gc::SQ_SHADER_TBA_HI, &VmidState::tba_high);
    bank(registers, gc::SQ_SHADER_TMA_LO, &VmidState::tma_low);
    bank(registers, gc::SQ_SHADER_TMA_HI, &VmidState::tma_high);
    bank(registers, gc::SPI_GDBG_PER_VMID_CNTL, &VmidState::debug_control);
}

void VmidRegisters::bank(const XccRegisters& registers, std::uint32_t dword,
                         std::uint32_t VmidState::* field) {
    const auto selected = [registers] {
        return bits(registers.value(reg::gc::GRBM_GFX_CNTL), 7, 4);
    };
    registers.on_read(dword, [this, selected, field] { return states_[selected()].*field; });
    registers.on_write(dword, [this, selected, field](std::uint32_t value) {
        states_[selected()].*field = value;
    });
}

} // namespace vgpu
