// SPDX-License-Identifier: MIT
// The architectural state of one wave: what MI300 instructions can read and write.
#pragma once

#include "model/base/integers.hpp"
#include "model/isa/isa.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace vgpu::isa {

inline constexpr unsigned lane_count = 64;

// One vector register.
struct alignas(64) Lanes {
    std::array<std::uint32_t, lane_count> lane{};
};

// SQ_WAVE_STATUS, names and positions of gc_9_4_3_sh_mask.h.
namespace status {
inline constexpr std::uint32_t scc = 1U << 0;
inline constexpr std::uint32_t priv = 1U << 5;
inline constexpr std::uint32_t trap_en = 1U << 6;
inline constexpr std::uint32_t execz = 1U << 9;
inline constexpr std::uint32_t vccz = 1U << 10;
inline constexpr std::uint32_t in_tg = 1U << 11;
inline constexpr std::uint32_t in_barrier = 1U << 12;
inline constexpr std::uint32_t halt = 1U << 13;
inline constexpr std::uint32_t valid = 1U << 16;
} // namespace status

// SQ_WAVE_MODE.
namespace mode {
inline constexpr unsigned round32_shift = 0;
inline constexpr unsigned round64_shift = 2;
inline constexpr unsigned denorm32_shift = 4;
inline constexpr unsigned denorm64_shift = 6;
inline constexpr std::uint32_t dx10_clamp = 1U << 8;
inline constexpr std::uint32_t ieee = 1U << 9;
inline constexpr std::uint32_t debug_en = 1U << 11; // trap after each instruction
inline constexpr unsigned excp_en_shift = 12;
inline constexpr std::uint32_t excp_en_float = 0x7fU << excp_en_shift;
inline constexpr std::uint32_t excp_en_addr_watch = 1U << 19;
inline constexpr std::uint32_t fp16_ovfl = 1U << 23;
inline constexpr std::uint32_t gpr_idx_en = 1U << 27;
inline constexpr std::uint32_t vskip = 1U << 28;
} // namespace mode

// SQ_WAVE_TRAPSTS.
namespace trapsts {
inline constexpr std::uint32_t excp = 0x1ff;
inline constexpr std::uint32_t mem_viol = 1U << 8;
inline constexpr std::uint32_t addr_watch = 1U << 7 | 7U << 12; // watch 0, and 1 to 3 in EXCP_HI
inline constexpr std::uint32_t savectx = 1U << 10;
inline constexpr std::uint32_t illegal_inst = 1U << 11;
inline constexpr std::uint32_t trap_after_inst = 1U << 25; // of a gfx942
inline constexpr std::uint32_t xnack_error = 1U << 28;
} // namespace trapsts

struct WaveState {
    Isa isa = Isa::gfx942;
    std::uint64_t pc = 0;
    std::uint64_t exec = 0;
    std::uint32_t m0 = 0;
    bool scc = false;
    bool priv = false; // in the trap handler

    // Registers of s_getreg. STATUS holds neither SCC, PRIV, EXECZ nor VCCZ: they are computed.
    std::uint32_t status = 0;
    std::uint32_t mode = 0;
    std::uint32_t trapsts = 0;
    std::uint32_t ib_sts = 0;
    std::uint32_t gpr_alloc = 0;
    std::uint32_t lds_alloc = 0;
    std::uint32_t hw_id = 0;
    std::uint32_t xcc_id = 0;
    std::uint32_t sh_mem_bases = 0;
    std::uint64_t tba = 0;
    std::uint64_t tma = 0;

    std::array<std::uint32_t, 16> ttmp{};
    // As allocated. FLAT_SCRATCH, XNACK_MASK and VCC are the last six, so that the trap handler's
    // s_movrel over all of them saves those too.
    std::vector<std::uint32_t> sgpr;
    // Architectural VGPRs first, accumulation VGPRs from arch_vgprs on: one unified file.
    std::vector<Lanes> vgpr;
    unsigned arch_vgprs = 0;

    std::span<std::byte> lds;
    unsigned vmid = 0;

    std::uint64_t vcc() const {
        const std::size_t size = sgpr.size();
        return sgpr[size - 2] | static_cast<std::uint64_t>(sgpr[size - 1]) << 32;
    }
    std::uint64_t flat_scratch() const {
        const std::size_t size = sgpr.size();
        return sgpr[size - 6] | static_cast<std::uint64_t>(sgpr[size - 5]) << 32;
    }
    unsigned acc_vgprs() const { return static_cast<unsigned>(vgpr.size()) - arch_vgprs; }
};

// Smallest allocation that the layout of `sgpr` allows.
inline constexpr unsigned sgpr_granule = 16;

} // namespace vgpu::isa
