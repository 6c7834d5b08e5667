// SPDX-License-Identifier: MIT
// The choice of format. MI300 ISA, "Microcode Formats".
#include "model/isa/interpreter.hpp"

#include "model/isa/encodings.hpp"
#include "model/isa/operands.hpp"

namespace vgpu::isa {

namespace {

enum class Format : std::uint8_t {
    sop1,
    sop2,
    sopc,
    sopk,
    sopp,
    smem,
    vop1,
    vop2,
    vopc,
    vop3,
    vop3p,
    ds,
    mubuf,
    flat,
    unknown,
};

Format scalar_format(std::uint32_t word) {
    switch (word >> 23) {
    case 0b1'0111'1101: return Format::sop1;
    case 0b1'0111'1110: return Format::sopc;
    case 0b1'0111'1111: return Format::sopp;
    default: return word >> 28 == 0b1011 ? Format::sopk : Format::sop2;
    }
}

Format short_vector_format(std::uint32_t word) {
    switch (word >> 25) {
    case 0b011'1111: return Format::vop1;
    case 0b011'1110: return Format::vopc;
    default: return Format::vop2;
    }
}

Format format_of(std::uint32_t word) {
    if (word >> 31 == 0) {
        return short_vector_format(word);
    }
    if (word >> 30 == 0b10) {
        return scalar_format(word);
    }
    switch (word >> 26) {
    case 0b110000: return Format::smem;
    case 0b110100: return word >> 23 == 0b1'1010'0111 ? Format::vop3p : Format::vop3;
    case 0b110110: return Format::ds;
    case 0b110111: return Format::flat;
    case 0b111000: return Format::mubuf;
    default: return Format::unknown;
    }
}

bool is_vector(Format format) {
    return format >= Format::vop1 && format <= Format::flat;
}

// MODE.VSKIP: vector instructions are stepped over, second word or literal included.
void skip_vector(Execution& e, Format format) {
    const std::uint32_t src0 = e.word0 & 0x1ff;
    const bool literal = src0 == source::literal || src0 == source::sdwa || src0 == source::dpp;
    const std::uint32_t vop2_opcode = e.word0 >> 25 & 0x3f;
    const bool constant = format == Format::vop2 && (vop2_opcode == 23 || vop2_opcode == 24);
    if (format >= Format::vop3 || literal || constant) {
        e.wave.pc += 4;
    }
}

} // namespace

void step(Execution& e) {
    e.word0 = e.fetch();
    if (e.failed()) [[unlikely]] {
        return;
    }
    const Format format = format_of(e.word0);
    if ((e.wave.mode & mode::vskip) != 0 && is_vector(format)) [[unlikely]] {
        skip_vector(e, format);
        return;
    }
    switch (format) {
    case Format::sop1: return execute_sop1(e);
    case Format::sop2: return execute_sop2(e);
    case Format::sopc: return execute_sopc(e);
    case Format::sopk: return execute_sopk(e);
    case Format::sopp: return execute_sopp(e);
    case Format::smem: return execute_smem(e);
    case Format::vop1: return execute_vop1(e);
    case Format::vop2: return execute_vop2(e);
    case Format::vopc: return execute_vopc(e);
    case Format::vop3: return execute_vop3(e);
    case Format::vop3p: return execute_vop3p(e);
    case Format::ds: return execute_ds(e);
    case Format::mubuf: return execute_mubuf(e);
    case Format::flat: return execute_flat(e);
    case Format::unknown: return e.illegal("format not modelled");
    }
}

namespace {

template <typename Names>
std::string name_in(const Names& names, std::uint32_t opcode, std::string_view format) {
    for (const OpName& op : names) {
        if (op.opcode == opcode) {
            return std::string(op.name);
        }
    }
    return std::string(format) + " opcode " + std::to_string(opcode);
}

} // namespace

std::string describe(std::uint32_t word) {
    const auto field = [word](unsigned shift, std::uint32_t mask) { return word >> shift & mask; };
    switch (format_of(word)) {
    case Format::sop1: return name_in(sop1_names(), field(8, 0xff), "SOP1");
    case Format::sop2: return name_in(sop2_names(), field(23, 0x7f), "SOP2");
    case Format::sopc: return name_in(sopc_names(), field(16, 0x7f), "SOPC");
    case Format::sopk: return name_in(sopk_names(), field(23, 0x1f), "SOPK");
    case Format::sopp: return name_in(sopp_names(), field(16, 0x7f), "SOPP");
    case Format::smem: return name_in(smem_names(), field(18, 0xff), "SMEM");
    case Format::vop1: return name_in(vector_names(), 0x140 + field(9, 0xff), "VOP1 as VOP3");
    case Format::vop2: return name_in(vector_names(), 0x100 + field(25, 0x3f), "VOP2 as VOP3");
    case Format::vopc: return name_in(vector_names(), field(17, 0xff), "VOPC");
    case Format::vop3: return name_in(vector_names(), field(16, 0x3ff), "VOP3");
    case Format::vop3p: return name_in(vop3p_names(), field(16, 0x7f), "VOP3P");
    case Format::ds: return name_in(ds_names(), field(17, 0xff), "DS");
    case Format::mubuf: return name_in(mubuf_names(), field(18, 0x7f), "MUBUF");
    case Format::flat:
        return name_in(flat_names(static_cast<Segment>(field(14, 3))), field(18, 0x7f), "FLAT");
    case Format::unknown: break;
    }
    return "format " + std::to_string(word >> 26);
}

} // namespace vgpu::isa
