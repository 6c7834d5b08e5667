// SPDX-License-Identifier: MIT
// Vector operands and the decoding of VOP1, VOP2, VOPC and VOP3. MI300 ISA, "Vector ALU".
#include "model/isa/vector/vector_alu.hpp"

#include <vector>

namespace vgpu::isa {

namespace {

constexpr unsigned destination_slot = 3;

bool slot_is_indexed(const WaveState& wave, unsigned slot) {
    return (wave.mode & mode::gpr_idx_en) != 0 && (wave.m0 >> (12 + slot) & 1) != 0;
}

unsigned indexed(const WaveState& wave, unsigned vgpr, unsigned slot) {
    return slot_is_indexed(wave, slot) ? vgpr + (wave.m0 & 0xff) : vgpr;
}

constexpr unsigned opcode_count = 1024;
constexpr unsigned vop2_base = 0x100;
constexpr unsigned vop1_base = 0x140;

auto families() {
    return std::array{vop1_ops(),     vop2_ops(),         vopc_ops(),   vop3_ops(),
                      byte_ops(),     word_ops(),         float_ops(),  half_ops(),
                      division_ops(), conversion_ops(),   float8_ops(), transcendental_ops(),
                      dot_ops(),      float_compare_ops()};
}

using VectorTable = std::array<const VectorOp*, opcode_count>;

VectorTable merged_table(Isa isa) {
    VectorTable table{};
    for (const auto ops : families()) {
        for (const VectorOp& op : ops) {
            if (has(op.isas, isa)) {
                table.at(op.opcode) = &op;
            }
        }
    }
    return table;
}

const VectorTable& vector_table(Isa isa) {
    static const PerIsa<VectorTable> tables(merged_table);
    return tables[isa];
}

// Where a VOP2 finds the operand that its encoding has no room for.
enum class Third : std::uint8_t { none, vcc, destination, literal_last, literal_second };

constexpr std::array<Third, vop1_base - vop2_base> third_operands() {
    std::array<Third, vop1_base - vop2_base> third{};
    third[0] = Third::vcc; // v_cndmask_b32
    for (const unsigned carry_in : {28, 29, 30}) {
        third[carry_in] = Third::vcc;
    }
    third[4] = Third::destination;  // v_fmac_f64
    third[22] = Third::destination; // v_mac_f32
    third[35] = Third::destination; // v_mac_f16
    for (unsigned opcode = 55; opcode <= 60; ++opcode) {
        third[opcode] = Third::destination; // v_dot2c_f32_f16 to v_fmac_f32 and v_pk_fmac_f16
    }
    third[23] = third[36] = Third::literal_second; // v_fmamk_f32 or v_madmk_f32, v_madmk_f16
    third[24] = third[37] = Third::literal_last;   // v_fmaak_f32 or v_madak_f32, v_madak_f16
    return third;
}
constexpr auto third_of_vop2 = third_operands();

bool accumulates(unsigned opcode) {
    return opcode >= vop2_base && opcode < vop1_base &&
           third_of_vop2[opcode - vop2_base] == Third::destination;
}

} // namespace

Words* vgpr_lanes(Execution& e, unsigned index) {
    // The driver's trap handler restores registers four by four and begins behind the first four
    // even where there are no more of them. In the one file that all registers are in, the next
    // ones belong to the wave as long as it has AccVGPRs.
    if (index >= e.wave.arch_vgprs && !(e.wave.priv && index < e.wave.vgpr.size())) [[unlikely]] {
        e.illegal("VGPR beyond the allocation");
        return nullptr;
    }
    return &e.wave.vgpr[index].lane;
}

unsigned indexed_destination(const Execution& e, unsigned vgpr) {
    return indexed(e.wave, vgpr, destination_slot);
}

const Words& source32(Execution& e, unsigned code, unsigned slot, Words& scratch) {
    if (code >= source::vgpr0) {
        const unsigned vgpr = indexed(e.wave, code - source::vgpr0, slot);
        if (vgpr < e.wave.arch_vgprs) [[likely]] {
            return e.wave.vgpr[vgpr].lane;
        }
        // A wave has at most 256: our own codes always come here.
        if (code >= source::swizzled0 && e.swizzled != nullptr) {
            return e.swizzled->low[code - source::swizzled0];
        }
        e.illegal("VGPR beyond the allocation");
        scratch.fill(0);
        return scratch;
    }
    scratch.fill(read_scalar(e, code));
    return scratch;
}

const DoubleWords& source64(Execution& e, unsigned code, unsigned slot, Wide wide,
                            DoubleWords& scratch) {
    if (code < source::vgpr0) {
        scratch.fill(read_scalar64(e, code, wide));
        return scratch;
    }
    const unsigned vgpr = indexed(e.wave, code - source::vgpr0, slot);
    const bool swizzled = code >= source::swizzled0 && e.swizzled != nullptr;
    if (swizzled && (code != source::swizzled0 || !e.swizzled->has_high0)) {
        e.illegal("SDWA or DPP on this 64-bit operand");
        scratch.fill(0);
        return scratch;
    }
    const Words* low = swizzled ? e.swizzled->low.data() : vgpr_lanes(e, vgpr);
    const Words* high = swizzled ? &e.swizzled->high0 : vgpr_lanes(e, vgpr + 1);
    if (low == nullptr || high == nullptr) {
        scratch.fill(0);
        return scratch;
    }
    for (unsigned lane = 0; lane < lane_count; ++lane) {
        scratch[lane] = (*low)[lane] | static_cast<std::uint64_t>((*high)[lane]) << 32;
    }
    return scratch;
}

void merge_lanes(Words& to, const Words& from, std::uint64_t exec) {
    if (exec == ~0ULL) [[likely]] {
        to = from;
        return;
    }
    for (; exec != 0; exec &= exec - 1) {
        const auto lane = static_cast<unsigned>(std::countr_zero(exec));
        to[lane] = from[lane];
    }
}

void store32(Execution& e, unsigned vgpr, const Words& value) {
    Words* lanes = vgpr_lanes(e, indexed_destination(e, vgpr));
    if (lanes != nullptr && !e.failed()) [[likely]] {
        merge_lanes(*lanes, value, e.wave.exec);
    }
}

void store64(Execution& e, unsigned vgpr, const DoubleWords& value) {
    alignas(64) Words low;
    alignas(64) Words high;
    for (unsigned lane = 0; lane < lane_count; ++lane) {
        low[lane] = static_cast<std::uint32_t>(value[lane]);
        high[lane] = static_cast<std::uint32_t>(value[lane] >> 32);
    }
    store32(e, vgpr, low);
    store32(e, vgpr + 1, high);
}

const VectorOp* find_vector_op(Isa isa, unsigned opcode) {
    return opcode < opcode_count ? vector_table(isa)[opcode] : nullptr;
}

void run_vector(Execution& e, unsigned opcode, const VectorInstruction& i) {
    const VectorOp* op = find_vector_op(e.wave.isa, opcode);
    if (op == nullptr) {
        e.illegal("opcode not modelled");
        return;
    }
    const unsigned given = ((i.abs | i.neg) != 0 ? takes::sign : 0U) |
                           (i.omod != 0 ? takes::scale : 0U) | (i.clamp ? takes::clamp : 0U) |
                           (i.op_sel != 0 ? takes::op_sel : 0U);
    if ((given & ~unsigned{op->modifiers}) != 0) {
        e.illegal("modifier that the operation does not take");
        return;
    }
    op->execute(e, i);
}

namespace {

// The 32-bit encodings: plain, or with SDWA's or DPP's second word.
void run_short(Execution& e, unsigned opcode, const VectorInstruction& i) {
    if (i.src[0] == source::sdwa) [[unlikely]] {
        run_sdwa(e, opcode, i);
    } else if (i.src[0] == source::dpp) [[unlikely]] {
        run_dpp(e, opcode, i);
    } else if (const VectorOp* op = find_vector_op(e.wave.isa, opcode); op != nullptr) [[likely]] {
        op->execute(e, i); // no modifiers to check
    } else {
        e.illegal("opcode not modelled");
    }
}

} // namespace

void execute_vop1(Execution& e) {
    VectorInstruction i;
    i.src[0] = e.word0 & 0x1ff;
    i.vdst = e.word0 >> 17 & 0xff;
    i.sdst = i.vdst; // v_readfirstlane_b32 has its SGPR in VDST
    run_short(e, vop1_base + (e.word0 >> 9 & 0xff), i);
}

void execute_vop2(Execution& e) {
    const unsigned opcode = vop2_base + (e.word0 >> 25 & 0x3f);
    VectorInstruction i;
    i.src[0] = e.word0 & 0x1ff;
    i.src[1] = source::vgpr0 + (e.word0 >> 9 & 0xff);
    i.vdst = e.word0 >> 17 & 0xff;
    switch (third_of_vop2[opcode - vop2_base]) {
    case Third::none: break;
    case Third::vcc: i.src[2] = source::vcc_lo; break;
    case Third::destination: i.src[2] = source::vgpr0 + i.vdst; break;
    case Third::literal_last: i.src[2] = source::literal; break;
    case Third::literal_second:
        i.src[2] = i.src[1];
        i.src[1] = source::literal;
        break;
    }
    run_short(e, opcode, i);
}

void execute_vopc(Execution& e) {
    VectorInstruction i;
    i.src[0] = e.word0 & 0x1ff;
    i.src[1] = source::vgpr0 + (e.word0 >> 9 & 0xff);
    run_short(e, e.word0 >> 17 & 0xff, i);
}

namespace {

// VOP3B: an SGPR destination where VOP3A has abs and op_sel.
bool has_carry_out(unsigned opcode) {
    constexpr unsigned v_add_co_u32 = vop2_base + 25;
    constexpr unsigned v_subbrev_co_u32 = vop2_base + 30;
    constexpr unsigned v_div_scale_f32 = 0x1e0;
    constexpr unsigned v_div_scale_f64 = 0x1e1;
    constexpr unsigned v_mad_u64_u32 = 0x1e8;
    constexpr unsigned v_mad_i64_i32 = 0x1e9;
    return (opcode >= v_add_co_u32 && opcode <= v_subbrev_co_u32) || opcode == v_div_scale_f32 ||
           opcode == v_div_scale_f64 || opcode == v_mad_u64_u32 || opcode == v_mad_i64_i32;
}

} // namespace

void execute_vop3(Execution& e) {
    e.fetch_word1();
    if (e.failed()) {
        return;
    }
    const unsigned opcode = e.word0 >> 16 & 0x3ff;
    VectorInstruction i;
    i.vdst = e.word0 & 0xff;
    i.sdst = i.vdst; // VOPC as VOP3 and v_readlane have their SGPR in VDST
    i.src = {e.word1 & 0x1ff, e.word1 >> 9 & 0x1ff, e.word1 >> 18 & 0x1ff};
    i.neg = static_cast<std::uint8_t>(e.word1 >> 29);
    i.omod = static_cast<std::uint8_t>(e.word1 >> 27 & 3);
    i.clamp = (e.word0 >> 15 & 1) != 0;
    if (has_carry_out(opcode)) {
        i.sdst = e.word0 >> 8 & 0x7f;
    } else {
        i.abs = static_cast<std::uint8_t>(e.word0 >> 8 & 7);
        i.op_sel = static_cast<std::uint8_t>(e.word0 >> 11 & 15);
    }
    if (accumulates(opcode)) {
        i.src[2] = source::vgpr0 + i.vdst;
    }
    for (const unsigned code : i.src) {
        if (code == source::literal) {
            e.illegal("VOP3 takes no literal");
            return;
        }
    }
    run_vector(e, opcode, i);
}

std::vector<OpName> vector_names() {
    return names_of_families(families());
}

} // namespace vgpu::isa
