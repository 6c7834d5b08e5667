// SPDX-License-Identifier: MIT
// DPP: the first source comes from other lanes. MI300 ISA, "Data Parallel Processing".
#include "model/isa/vector/vector_alu.hpp"

#include <optional>

namespace vgpu::isa {

namespace {

constexpr unsigned row_size = 16;

// DPP_CTRL. The amount of the shifts and rotations is in the low four bits.
enum Control : unsigned {
    quad_perm_end = 0x100,
    row_shl = 0x100,
    row_shr = 0x110,
    row_ror = 0x120,
    wave_shl = 0x130,
    wave_rol = 0x134,
    wave_shr = 0x138,
    wave_ror = 0x13c,
    row_mirror = 0x140,
    row_half_mirror = 0x141,
    row_bcast15 = 0x142,
    row_bcast31 = 0x143,
    row_newbcast = 0x150,
};

bool is_control(unsigned control) {
    const unsigned amount = control & 15;
    switch (control & ~15U) {
    case row_shl:
    case row_shr:
    case row_ror: return amount != 0;
    case wave_shl: return amount % 4 == 0;
    case row_mirror: return amount < 4;
    case row_newbcast: return true;
    default: return control < quad_perm_end;
    }
}

// In the lane's row, or nothing beyond its ends.
std::optional<unsigned> in_row(unsigned lane, int offset) {
    const int place = static_cast<int>(lane % row_size) + offset;
    if (place < 0 || place >= static_cast<int>(row_size)) {
        return std::nullopt;
    }
    return lane - lane % row_size + static_cast<unsigned>(place);
}

// Within a wave, rows and banks left aside.
std::optional<unsigned> across_rows(unsigned control, unsigned lane) {
    switch (control) {
    case wave_shl: return lane + 1 < lane_count ? std::optional(lane + 1) : std::nullopt;
    case wave_shr: return lane > 0 ? std::optional(lane - 1) : std::nullopt;
    case wave_rol: return (lane + 1) % lane_count;
    case wave_ror: return (lane + lane_count - 1) % lane_count;
    case row_bcast15:
        return lane >= row_size ? std::optional(lane - lane % row_size - 1) : std::nullopt;
    case row_bcast31: return lane >= 32 ? std::optional(31U) : std::nullopt;
    default: return std::nullopt;
    }
}

// The lane that `lane` reads. Shifts to the right bring values from lower lanes.
std::optional<unsigned> source_lane(unsigned control, unsigned lane) {
    const unsigned row = lane - lane % row_size;
    const unsigned place = lane % row_size;
    const unsigned amount = control & 15;
    if (control < quad_perm_end) {
        return lane - lane % 4 + (control >> (2 * (lane % 4)) & 3);
    }
    switch (control & ~15U) {
    case row_shl: return in_row(lane, static_cast<int>(amount));
    case row_shr: return in_row(lane, -static_cast<int>(amount));
    case row_ror: return row + (place + row_size - amount) % row_size;
    case row_newbcast: return row + amount;
    default: break;
    }
    if (control == row_mirror) {
        return row + row_size - 1 - place;
    }
    if (control == row_half_mirror) {
        return row + (place ^ 7U);
    }
    return across_rows(control, lane);
}

// Lanes of the row and bank masks.
u64 write_mask(u32 word) {
    u64 mask = 0;
    for (unsigned lane = 0; lane < lane_count; ++lane) {
        const u32 bank = word >> (24 + lane / 4 % 4) & 1;
        const u32 row = word >> (28 + lane / row_size) & 1;
        mask |= u64{bank & row} << lane;
    }
    return mask;
}

} // namespace

// A lane that reads beyond its row, or from a lane that EXEC has off, gets 0 under BOUND_CTRL and
// isn't written without it.
void run_dpp(Execution& e, unsigned opcode, VectorInstruction i) {
    const VectorOp* op = find_vector_op(e.wave.isa, opcode);
    e.fetch_word1();
    if (e.failed()) {
        return;
    }
    const u32 word = e.word1;
    const unsigned control = word >> 8 & 0x1ff;
    if (op == nullptr || (op->modifiers & takes::no_swizzle) != 0 || !is_control(control) ||
        opcode < 0x100) {
        e.illegal(op == nullptr ? "opcode not modelled" : "DPP control or operation");
        return;
    }
    const unsigned vgpr = word & 0xff;
    const Words* low = vgpr_lanes(e, vgpr);
    if (low == nullptr) {
        return;
    }
    SwizzledSources swizzled;
    swizzled.has_high0 = vgpr + 1 < e.wave.arch_vgprs;
    const Words* high = swizzled.has_high0 ? &e.wave.vgpr[vgpr + 1].lane : low;
    const bool zero_invalid = (word >> 19 & 1) != 0;
    u64 enabled = write_mask(word);
    for (unsigned lane = 0; lane < lane_count; ++lane) {
        const std::optional<unsigned> from = source_lane(control, lane);
        const bool valid = from.has_value() && (e.wave.exec >> *from & 1) != 0;
        swizzled.low[0][lane] = valid ? (*low)[*from] : 0;
        swizzled.high0[lane] = valid ? (*high)[*from] : 0;
        if (!valid && !zero_invalid) {
            enabled &= ~(u64{1} << lane);
        }
    }
    i.src[0] = source::swizzled0;
    i.neg = static_cast<std::uint8_t>((word >> 20 & 1) | (word >> 22 & 1) << 1);
    i.abs = static_cast<std::uint8_t>((word >> 21 & 1) | (word >> 23 & 1) << 1);
    const u64 exec = e.wave.exec;
    e.wave.exec = exec & enabled;
    e.swizzled = &swizzled;
    run_vector(e, opcode, i);
    e.swizzled = nullptr;
    e.wave.exec = exec;
}

} // namespace vgpu::isa
