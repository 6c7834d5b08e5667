// SPDX-License-Identifier: MIT
// Scalar operands: SGPRs, the special registers behind them, inline constants and literals.
#pragma once

#include "model/isa/execution.hpp"

#include <cstdint>

namespace vgpu::isa {

// Codes of the 8-bit scalar source field (9 bits in vector instructions, 256 on: VGPRs).
namespace source {
inline constexpr unsigned sgpr_end = 102;
inline constexpr unsigned flat_scratch_lo = 102;
inline constexpr unsigned vcc_lo = 106;
inline constexpr unsigned ttmp0 = 108;
inline constexpr unsigned ttmp15 = 123;
inline constexpr unsigned m0 = 124;
inline constexpr unsigned exec_lo = 126;
inline constexpr unsigned exec_hi = 127;
inline constexpr unsigned zero = 128;
inline constexpr unsigned shared_base = 235;
inline constexpr unsigned half = 240;
inline constexpr unsigned inverse_two_pi = 248;
inline constexpr unsigned sdwa = 249;
inline constexpr unsigned dpp = 250;
inline constexpr unsigned vccz = 251;
inline constexpr unsigned execz = 252;
inline constexpr unsigned scc = 253;
inline constexpr unsigned literal = 255;
inline constexpr unsigned vgpr0 = 256;
inline constexpr unsigned swizzled0 = 512; // ours: see SwizzledSources
} // namespace source

// How a 64-bit operand takes inline constants and literals.
enum class Wide : std::uint8_t { bits, floating };

std::uint32_t read_scalar_slow(Execution& e, unsigned code);
std::uint64_t read_scalar64_slow(Execution& e, unsigned code, Wide wide);
void write_scalar_slow(Execution& e, unsigned code, std::uint32_t value);

inline std::uint32_t read_scalar(Execution& e, unsigned code) {
    if (code < source::sgpr_end && code < e.wave.sgpr.size()) [[likely]] {
        return e.wave.sgpr[code];
    }
    return read_scalar_slow(e, code);
}

inline std::uint64_t read_scalar64(Execution& e, unsigned code, Wide wide = Wide::bits) {
    if (code + 1 < source::sgpr_end && code + 1 < e.wave.sgpr.size()) [[likely]] {
        return e.wave.sgpr[code] | static_cast<std::uint64_t>(e.wave.sgpr[code + 1]) << 32;
    }
    return read_scalar64_slow(e, code, wide);
}

inline void write_scalar(Execution& e, unsigned code, std::uint32_t value) {
    if (code < source::sgpr_end && code < e.wave.sgpr.size()) [[likely]] {
        e.wave.sgpr[code] = value;
        return;
    }
    write_scalar_slow(e, code, value);
}

inline void write_scalar64(Execution& e, unsigned code, std::uint64_t value) {
    write_scalar(e, code, static_cast<std::uint32_t>(value));
    write_scalar(e, code + 1, static_cast<std::uint32_t>(value >> 32));
}

// s_getreg and s_setreg: whole registers by id. False for a register, or a value of one, that isn't
// modelled.
bool read_hwreg(const WaveState& wave, unsigned id, std::uint32_t& value);
bool write_hwreg(WaveState& wave, unsigned id, std::uint32_t value, std::uint32_t mask);

// An SGPR beyond the allocation reads as SGPR 0, and nothing is written there (Vega ISA, "SGPR Out
// of Range"). The driver's own program for a MI100 clears more than it has asked for; in the
// programs of others it is an error to be found.
inline void reach_too_far(Execution& e) {
    if (e.wave.vmid != 0) {
        e.illegal("SGPR beyond the allocation");
    }
}

} // namespace vgpu::isa
