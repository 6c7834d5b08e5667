// SPDX-License-Identifier: MIT
// Fields of the vector ALU encodings, lane-wise operands, and the frames operations run in.
#pragma once

#include "model/isa/encodings.hpp"
#include "model/isa/operands.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>

namespace vgpu::isa {

// A decoded VOP1, VOP2, VOPC or VOP3: the short forms are VOP3 with implied fields.
struct VectorInstruction {
    unsigned vdst = 0;
    unsigned sdst = source::vcc_lo; // where comparisons and carries go
    std::array<unsigned, 3> src{};  // 9-bit source codes
    std::uint8_t abs = 0;           // bit per source, floating point only
    std::uint8_t neg = 0;
    std::uint8_t op_sel = 0; // upper halves: bit per source, bit 3 for the destination
    std::uint8_t omod = 0;
    bool clamp = false;
};

// Modifiers that an operation accepts. Others are rejected.
namespace takes {
inline constexpr std::uint8_t sign = 1;  // abs and neg of sources
inline constexpr std::uint8_t scale = 2; // omod
inline constexpr std::uint8_t clamp = 4;
inline constexpr std::uint8_t op_sel = 8;
inline constexpr std::uint8_t floating = sign | scale | clamp;
// Not a modifier: SDWA and DPP are refused.
inline constexpr std::uint8_t no_swizzle = 16;
// Not a modifier: inline constants of the sources are half precision.
inline constexpr std::uint8_t half_constants = 32;
inline constexpr std::uint8_t half = floating | half_constants;
} // namespace takes

using VectorHandler = void (*)(Execution&, const VectorInstruction&);
struct VectorOp {
    std::uint16_t opcode = 0; // in VOP3's opcode space
    std::string_view name;
    VectorHandler execute = nullptr;
    std::uint8_t modifiers = 0; // of `takes`
    std::uint8_t isas = every_isa;
};

using Words = std::array<std::uint32_t, lane_count>;
using DoubleWords = std::array<std::uint64_t, lane_count>;

// Sources that SDWA and DPP have picked apart or shuffled before the operation sees them. Their
// source codes are swizzled0 and swizzled0 + 1.
// NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): hot, written before it is read
struct SwizzledSources {
    alignas(64) std::array<Words, 2> low;
    Words high0; // upper half of a 64-bit first source
    bool has_high0 = false;
};

// Value of a source in every lane: the register itself, or `scratch` filled. MODE.GPR_IDX_EN adds
// M0[7:0] to VGPR numbers of the operands that M0[15:12] selects.
const Words& source32(Execution& e, unsigned code, unsigned slot, Words& scratch);
const DoubleWords& source64(Execution& e, unsigned code, unsigned slot, Wide wide,
                            DoubleWords& scratch);
// Writes the lanes that EXEC has on.
void store32(Execution& e, unsigned vgpr, const Words& value);
void store64(Execution& e, unsigned vgpr, const DoubleWords& value);
// A lane mask result (comparison, carry): lanes off read as 0.
inline void store_mask(Execution& e, unsigned sdst, std::uint64_t mask) {
    write_scalar64(e, sdst, mask & e.wave.exec);
}

// The VGPR's lanes, or nullptr (and `illegal`) when the wave hasn't that many.
Words* vgpr_lanes(Execution& e, unsigned index);
// A destination under MODE.GPR_IDX_EN.
unsigned indexed_destination(const Execution& e, unsigned vgpr);
void merge_lanes(Words& to, const Words& from, std::uint64_t exec);

// Sources of one instruction, fetched.
struct Sources32 {
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): hot, written before it is read
    Sources32(Execution& e, const VectorInstruction& i, unsigned count) {
        for (unsigned slot = 0; slot < count; ++slot) {
            lanes_[slot] = &source32(e, i.src[slot], slot, scratch_[slot]);
        }
    }
    ~Sources32() = default;
    Sources32(const Sources32&) = delete;
    Sources32& operator=(const Sources32&) = delete;
    const Words& operator[](unsigned slot) const { return *lanes_[slot]; }

private:
    std::array<const Words*, 3> lanes_{};
    alignas(64) std::array<Words, 3> scratch_;
};

// The destination when all lanes are written, so that results need no way round: a lane's sources
// are read before it is written, whichever registers they are. Null when lanes are off.
inline Words* whole_destination(Execution& e, unsigned vgpr) {
    const unsigned index = indexed_destination(e, vgpr);
    const bool whole = e.wave.exec == ~0ULL && index < e.wave.arch_vgprs && !e.failed();
    return whole ? &e.wave.vgpr[index].lane : nullptr;
}

template <auto operation> void lanes1(Execution& e, const VectorInstruction& i) {
    const Sources32 in(e, i, 1);
    if (Words* to = whole_destination(e, i.vdst); to != nullptr) [[likely]] {
#pragma GCC ivdep
        for (unsigned lane = 0; lane < lane_count; ++lane) {
            (*to)[lane] = operation(in[0][lane]);
        }
        return;
    }
    alignas(64) Words out;
    for (unsigned lane = 0; lane < lane_count; ++lane) {
        out[lane] = operation(in[0][lane]);
    }
    store32(e, i.vdst, out);
}

template <auto operation> void lanes2(Execution& e, const VectorInstruction& i) {
    const Sources32 in(e, i, 2);
    const Words& a = in[0];
    const Words& b = in[1];
    if (Words* to = whole_destination(e, i.vdst); to != nullptr) [[likely]] {
#pragma GCC ivdep
        for (unsigned lane = 0; lane < lane_count; ++lane) {
            (*to)[lane] = operation(a[lane], b[lane]);
        }
        return;
    }
    alignas(64) Words out;
    for (unsigned lane = 0; lane < lane_count; ++lane) {
        out[lane] = operation(a[lane], b[lane]);
    }
    store32(e, i.vdst, out);
}

template <auto operation> void lanes3(Execution& e, const VectorInstruction& i) {
    const Sources32 in(e, i, 3);
    const Words& a = in[0];
    const Words& b = in[1];
    const Words& c = in[2];
    if (Words* to = whole_destination(e, i.vdst); to != nullptr) [[likely]] {
#pragma GCC ivdep
        for (unsigned lane = 0; lane < lane_count; ++lane) {
            (*to)[lane] = operation(a[lane], b[lane], c[lane]);
        }
        return;
    }
    alignas(64) Words out;
    for (unsigned lane = 0; lane < lane_count; ++lane) {
        out[lane] = operation(a[lane], b[lane], c[lane]);
    }
    store32(e, i.vdst, out);
}

// Integer operations whose exact result CLAMP moves to the nearest number that T has.
template <typename T> std::uint32_t clamped_to(std::int64_t value) {
    return static_cast<std::uint32_t>(std::clamp<std::int64_t>(value, std::numeric_limits<T>::min(),
                                                               std::numeric_limits<T>::max()));
}
template <typename T, auto operation> void saturating2(Execution& e, const VectorInstruction& i) {
    constexpr auto cut = [](std::uint32_t a, std::uint32_t b) {
        return static_cast<std::uint32_t>(operation(a, b));
    };
    constexpr auto clamp = [](std::uint32_t a, std::uint32_t b) {
        return clamped_to<T>(operation(a, b));
    };
    return i.clamp ? lanes2<clamp>(e, i) : lanes2<cut>(e, i);
}
template <typename T, auto operation> void saturating3(Execution& e, const VectorInstruction& i) {
    constexpr auto cut = [](std::uint32_t a, std::uint32_t b, std::uint32_t c) {
        return static_cast<std::uint32_t>(operation(a, b, c));
    };
    constexpr auto clamp = [](std::uint32_t a, std::uint32_t b, std::uint32_t c) {
        return clamped_to<T>(operation(a, b, c));
    };
    return i.clamp ? lanes3<clamp>(e, i) : lanes3<cut>(e, i);
}

template <auto relation> void compare32_lanes(Execution& e, const VectorInstruction& i) {
    const Sources32 in(e, i, 2);
    std::uint64_t mask = 0;
    for (unsigned lane = 0; lane < lane_count; ++lane) {
        mask |= static_cast<std::uint64_t>(relation(in[0][lane], in[1][lane]) ? 1 : 0) << lane;
    }
    store_mask(e, i.sdst, mask);
}

template <auto relation> void compare64_lanes(Execution& e, const VectorInstruction& i) {
    DoubleWords scratch_a;
    DoubleWords scratch_b;
    const DoubleWords& a = source64(e, i.src[0], 0, Wide::bits, scratch_a);
    const DoubleWords& b = source64(e, i.src[1], 1, Wide::bits, scratch_b);
    std::uint64_t mask = 0;
    for (unsigned lane = 0; lane < lane_count; ++lane) {
        mask |= static_cast<std::uint64_t>(relation(a[lane], b[lane]) ? 1 : 0) << lane;
    }
    store_mask(e, i.sdst, mask);
}

// VOP3 opcode space, tables of the four encodings merged. Null when not modelled.
const VectorOp* find_vector_op(Isa isa, unsigned opcode);
void run_vector(Execution& e, unsigned opcode, const VectorInstruction& i);
// With SDWA's or DPP's second word behind the instruction.
void run_sdwa(Execution& e, unsigned opcode, VectorInstruction i);
void run_dpp(Execution& e, unsigned opcode, VectorInstruction i);

std::span<const VectorOp> vop1_ops();
std::span<const VectorOp> vop2_ops();
std::span<const VectorOp> vopc_ops();
std::span<const VectorOp> vop3_ops();
std::span<const VectorOp> byte_ops();
std::span<const VectorOp> word_ops();  // 16-bit integers
std::span<const VectorOp> float_ops(); // single and double precision
std::span<const VectorOp> half_ops();
std::span<const VectorOp> transcendental_ops();
std::span<const VectorOp> division_ops();
std::span<const VectorOp> conversion_ops();
std::span<const VectorOp> float8_ops();
std::span<const VectorOp> float_compare_ops();
std::span<const VectorOp> dot_ops();

} // namespace vgpu::isa
