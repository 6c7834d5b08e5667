// SPDX-License-Identifier: MIT
// SDWA: sources and destination are bytes or halves of VGPRs. MI300 ISA, "Sub-Dword Addressing".
#include "model/isa/vector/half.hpp"
#include "model/isa/vector/vector_alu.hpp"

namespace vgpu::isa {

namespace {

// Selectors 0-3 are bytes, 4 and 5 halves, 6 the whole.
struct Part {
    unsigned shift = 0;
    u32 mask = ~0U;
};
Part part_of(unsigned selector) {
    if (selector < 4) {
        return {8 * selector, 0xff};
    }
    return selector < 6 ? Part{16 * (selector - 4), 0xffff} : Part{};
}

// Treatment of the destination's bits outside the part that is written.
enum Unused : unsigned { pad, extend_sign, preserve };

u32 extracted(u32 word, Part part, bool extend) {
    const u32 value = word >> part.shift & part.mask;
    const u32 sign = part.mask ^ part.mask >> 1;
    return extend ? (value ^ sign) - sign : value;
}

u32 placed(u32 result, u32 old, Part part, unsigned unused) {
    const u32 window = part.mask << part.shift;
    const u32 value = (result & part.mask) << part.shift;
    switch (unused) {
    case preserve: return (old & ~window) | value;
    case extend_sign: {
        const u32 sign = part.mask ^ part.mask >> 1;
        return (result & sign) != 0 ? value | ~(window | (window - 1)) : value;
    }
    default: return value;
    }
}

// One source: 8 bits of register number, and the byte of its selector and modifiers.
void fetch_part(Execution& e, const VectorOp& op, u32 control, unsigned slot, unsigned code,
                Words& out) {
    const bool half_constant =
        (op.modifiers & takes::half_constants) != 0 && is_float_constant(code);
    Words scratch;
    if (half_constant) {
        scratch.fill(half_constants[code - source::half]);
    }
    const Words& whole = half_constant ? scratch : source32(e, code, slot, scratch);
    const Part part = part_of(control & 7);
    const bool extend = (control >> 3 & 1) != 0;
    for (unsigned lane = 0; lane < lane_count; ++lane) {
        out[lane] = extracted(whole[lane], part, extend);
    }
}

bool is_vopc(unsigned opcode) {
    return opcode < 0x100;
}

// Runs the operation on the parts. The destination is sorted out afterwards.
void run_on_parts(Execution& e, const VectorOp& op, VectorInstruction& i) {
    const u32 word = e.word1;
    SwizzledSources swizzled;
    const auto code = [](u32 number, bool scalar) { return number + (scalar ? 0 : source::vgpr0); };
    fetch_part(e, op, word >> 16, 0, code(word & 0xff, (word >> 23 & 1) != 0), swizzled.low[0]);
    i.src[0] = source::swizzled0;
    if (i.src[1] != 0) { // VOP1 has none
        const bool scalar = (word >> 31 & 1) != 0;
        fetch_part(e, op, word >> 24, 1, code(i.src[1] - source::vgpr0, scalar), swizzled.low[1]);
        i.src[1] = source::swizzled0 + 1;
        i.neg = static_cast<std::uint8_t>(word >> 20 & 1) |
                static_cast<std::uint8_t>((word >> 28 & 1) << 1);
        i.abs = static_cast<std::uint8_t>(word >> 21 & 1) |
                static_cast<std::uint8_t>((word >> 29 & 1) << 1);
    } else {
        i.neg = static_cast<std::uint8_t>(word >> 20 & 1);
        i.abs = static_cast<std::uint8_t>(word >> 21 & 1);
    }
    e.swizzled = &swizzled;
    if (!e.failed()) {
        run_vector(e, op.opcode, i);
    }
    e.swizzled = nullptr;
}

} // namespace

void run_sdwa(Execution& e, unsigned opcode, VectorInstruction i) {
    const VectorOp* op = find_vector_op(e.wave.isa, opcode);
    e.fetch_word1();
    if (e.failed()) {
        return;
    }
    if (op == nullptr || (op->modifiers & takes::no_swizzle) != 0) {
        e.illegal(op == nullptr ? "opcode not modelled" : "SDWA on this operation");
        return;
    }
    const u32 word = e.word1;
    if (is_vopc(opcode)) {
        if ((word >> 15 & 1) != 0) {
            i.sdst = word >> 8 & 0x7f;
        }
        run_on_parts(e, *op, i);
        return;
    }
    i.clamp = (word >> 13 & 1) != 0;
    i.omod = static_cast<std::uint8_t>(word >> 14 & 3);
    const Words* destination = vgpr_lanes(e, indexed_destination(e, i.vdst));
    if (destination == nullptr) {
        return;
    }
    const Words old = *destination;
    run_on_parts(e, *op, i);
    const Part part = part_of(word >> 8 & 7);
    if (e.failed() || part.mask == ~0U) {
        return;
    }
    Words result;
    for (unsigned lane = 0; lane < lane_count; ++lane) {
        result[lane] = placed((*destination)[lane], old[lane], part, word >> 11 & 3);
    }
    store32(e, i.vdst, result);
}

} // namespace vgpu::isa
