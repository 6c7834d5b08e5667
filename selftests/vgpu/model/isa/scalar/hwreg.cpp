// SPDX-License-Identifier: MIT
// The registers of s_getreg and s_setreg. Ids: MI300 ISA, "Hardware Register Values".
#include "model/isa/operands.hpp"

namespace vgpu::isa {

namespace {

enum HwRegister : unsigned {
    hw_mode = 1,
    hw_status = 2,
    hw_trapsts = 3,
    hw_hw_id = 4,
    hw_gpr_alloc = 5,
    hw_lds_alloc = 6,
    hw_ib_sts = 7,
    hw_sh_mem_bases = 15,
    hw_tba_lo = 16,
    hw_tba_hi = 17,
    hw_tma_lo = 18,
    hw_tma_hi = 19,
    hw_xcc_id = 20,
};

// Bits of STATUS that s_setreg can't change: the sequencer's own view of the wave. Comments in the
// trap handler confirm it for EXECZ and VCCZ, and it restores a STATUS that was read with PRIV set.
constexpr std::uint32_t status_read_only = status::priv | status::trap_en | status::execz |
                                           status::vccz | status::in_tg | status::in_barrier |
                                           status::valid;

std::uint32_t status_of(const WaveState& wave) {
    std::uint32_t value = wave.status;
    value |= wave.scc ? status::scc : 0;
    value |= wave.priv ? status::priv : 0;
    value |= wave.exec == 0 ? status::execz : 0;
    value |= wave.vcc() == 0 ? status::vccz : 0;
    return value;
}

std::uint32_t merge(std::uint32_t old, std::uint32_t value, std::uint32_t mask) {
    return (old & ~mask) | (value & mask);
}

} // namespace

bool read_hwreg(const WaveState& wave, unsigned id, std::uint32_t& value) {
    switch (id) {
    case hw_mode: value = wave.mode; return true;
    case hw_status: value = status_of(wave); return true;
    case hw_trapsts: value = wave.trapsts; return true;
    case hw_hw_id: value = wave.hw_id; return true;
    case hw_gpr_alloc: value = wave.gpr_alloc; return true;
    case hw_lds_alloc: value = wave.lds_alloc; return true;
    case hw_ib_sts: value = wave.ib_sts; return true;
    case hw_sh_mem_bases: value = wave.sh_mem_bases; return true;
    // TBA and TMA are kept in units of 256 bytes; the handler shifts them back.
    case hw_tba_lo: value = static_cast<std::uint32_t>(wave.tba >> 8); return true;
    case hw_tba_hi: value = static_cast<std::uint32_t>(wave.tba >> 40); return true;
    case hw_tma_lo: value = static_cast<std::uint32_t>(wave.tma >> 8); return true;
    case hw_tma_hi: value = static_cast<std::uint32_t>(wave.tma >> 40); return true;
    case hw_xcc_id: value = wave.xcc_id; return true;
    default: return false;
    }
}

bool write_hwreg(WaveState& wave, unsigned id, std::uint32_t value, std::uint32_t mask) {
    switch (id) {
    case hw_mode:
        // No instruction raises an exception. The trap handler only restores the bits of before.
        if (!wave.priv && (value & mask & mode::excp_en_float) != 0) {
            return false;
        }
        wave.mode = merge(wave.mode, value, mask);
        return true;
    case hw_status:
        // Outside the trap handler a program may only touch SCC through STATUS.
        if ((mask & status::scc) != 0) {
            wave.scc = (value & status::scc) != 0;
        }
        if (wave.priv) {
            mask &= ~(status_read_only | status::scc);
            wave.status = merge(wave.status, value, mask);
        }
        return true;
    case hw_trapsts:
        mask &= wave.priv ? ~0U : trapsts::excp;
        wave.trapsts = merge(wave.trapsts, value, mask);
        return true;
    case hw_ib_sts:
        if (wave.priv) {
            wave.ib_sts = merge(wave.ib_sts, value, mask);
        }
        return true;
    default: return false;
    }
}

} // namespace vgpu::isa
