// SPDX-License-Identifier: MIT
// Encodings of every opcode, and what LLVM says to them.
#include "tests/isa/opcode_sweep.hpp"

#include "tests/sq/support/assembler.hpp"

#include <gtest/gtest.h>

namespace vgpu::test {

namespace {

template <typename Names> std::vector<isa::OpName> list(const Names& names) {
    return {names.begin(), names.end()};
}

void add_scalar_formats(std::vector<Format>& all) {
    all.push_back({"SOP1", 256,
                   [](std::uint32_t op) {
                       return std::vector<MachineCode>{{0xbe80'0000U | 4U << 16 | op << 8 | 6},
                                                       {0xbe80'0000U | 4U << 16 | op << 8},
                                                       {0xbe80'0000U | op << 8 | 6}};
                   },
                   list(isa::sop1_names()), ""});
    // From 96 on the bits are those of SOPK.
    all.push_back({"SOP2", 96,
                   [](std::uint32_t op) {
                       return std::vector<MachineCode>{
                           {0x8000'0000U | op << 23 | 4U << 16 | 6U << 8 | 8}};
                   },
                   list(isa::sop2_names()), ""});
    all.push_back({"SOPC", 128,
                   [](std::uint32_t op) {
                       return std::vector<MachineCode>{{0xbf00'0000U | op << 16 | 6U << 8 | 8}};
                   },
                   list(isa::sopc_names()), ""});
    // From 29 on the bits are those of SOP1, SOPC and SOPP.
    all.push_back({"SOPK", 29,
                   [](std::uint32_t op) {
                       const std::uint32_t head = 0xb000'0000U | op << 23 | 0xf801;
                       return std::vector<MachineCode>{
                           {head | 4U << 16}, {head | 4U << 16, 0x1234}, {head, 0x1234}};
                   },
                   list(isa::sopk_names()), ""});
    all.push_back({"SOPP", 128,
                   [](std::uint32_t op) {
                       return std::vector<MachineCode>{{0xbf80'0000U | op << 16 | 1},
                                                       {0xbf80'0000U | op << 16}};
                   },
                   list(isa::sopp_names()), ""});
    all.push_back({"SMEM", 256,
                   [](std::uint32_t op) {
                       return std::vector<MachineCode>{
                           {0xc002'0000U | op << 18 | 16U << 6 | 4, 0x10},
                           {0xc000'0000U | op << 18 | 16U << 6, 0},
                           {0xc000'0000U | op << 18, 0}};
                   },
                   list(isa::smem_names()), ""});
}

std::vector<MachineCode> vector_encodings(std::uint32_t op) {
    // src0 v0, src1 v2, src2 v4; carries in and out by s[6:7]; then with SGPR 6 as last source.
    const std::uint32_t head = 0xd000'0000U | op << 16;
    const std::uint32_t sources = 0x100U | 0x102U << 9;
    std::vector<MachineCode> encodings;
    for (const std::uint32_t sdst : {0U, 6U << 8}) {
        for (const std::uint32_t src2 : {0U, 6U, 0x104U}) {
            encodings.push_back({head | sdst | 4, sources | src2 << 18});
        }
        encodings.push_back({head | sdst | 4, 0x100U});           // one source
        encodings.push_back({head | sdst | 4, 0x100U | 6U << 9}); // lane from an SGPR
        encodings.push_back({head | sdst | 4, 6U | 8U << 9});     // scalars
        encodings.push_back({head | sdst, 0});                    // none
    }
    // VOP1 and VOP2 that have no VOP3 form.
    if (op >= 0x140 && op < 0x1c0) {
        encodings.push_back({0x7e00'0000U | 4U << 17 | (op - 0x140) << 9 | 0x100});
    } else if (op >= 0x100 && op < 0x13e) {
        encodings.push_back({4U << 17 | (op - 0x100) << 25 | 2U << 9 | 0x100});
        encodings.push_back({4U << 17 | (op - 0x100) << 25 | 2U << 9 | 0x100, 0x1234});
    }
    return encodings;
}

void add_vector_formats(std::vector<Format>& all) {
    // From 0x380 on the bits are those of VOP3P.
    all.push_back(
        {"VOP1, VOP2, VOPC, VOP3", 0x380, vector_encodings, list(isa::vector_names()), ""});
    all.push_back({"VOP3P", 128,
                   [](std::uint32_t op) {
                       const std::uint32_t head = 0xd380'0000U | op << 16 | 4;
                       return std::vector<MachineCode>{
                           {head | 0x4000, 0x1800'0106},
                           {head, 0x1800'0100U | 0x104 << 9 | 0x110 << 18}};
                   },
                   list(isa::vop3p_names()), ""});
}

void add_memory_formats(std::vector<Format>& all) {
    all.push_back({"DS", 256,
                   [](std::uint32_t op) {
                       const std::uint32_t head = 0xd800'0000U | op << 17;
                       return std::vector<MachineCode>{{head, 2U | 4U << 8 | 8U << 16 | 12U << 24},
                                                       {head, 2U | 4U << 8 | 12U << 24},
                                                       {head, 2U | 4U << 8 | 8U << 16},
                                                       {head, 2U | 4U << 8},
                                                       {head, 2U | 12U << 24},
                                                       {head, 0},
                                                       {head | 1U << 16, 2U},
                                                       {head | 1U << 16, 0}};
                   },
                   isa::ds_names(), ""});
    all.push_back({"MUBUF", 128,
                   [](std::uint32_t op) {
                       return std::vector<MachineCode>{
                           {0xe000'1000U | op << 18, 2U | 4U << 8 | 2U << 16 | 6U << 24},
                           {0xe000'8000U | op << 18, 0},
                           {0xe000'0000U | op << 18, 0}};
                   },
                   isa::mubuf_names(), ""});
    all.push_back({"MTBUF",
                   16,
                   [](std::uint32_t op) {
                       return std::vector<MachineCode>{
                           {0xe880'1000U | op << 15, 2U | 4U << 8 | 2U << 16 | 6U << 24}};
                   },
                   {},
                   ""});
    const char* segments[] = {"flat_", "scratch_", "global_"};
    for (std::uint32_t segment = 0; segment < 3; ++segment) {
        all.push_back({std::string(segments[segment]), 128,
                       [segment](std::uint32_t op) {
                           const std::uint32_t head = 0xdc00'0000U | segment << 14 | op << 18;
                           const std::uint32_t saddr = segment == 0 ? 0 : 0x7fU << 16;
                           return std::vector<MachineCode>{
                               {head, saddr | 2U | 4U << 8},
                               {head, saddr | 2U | 12U << 24},
                               {head | 1U << 16, saddr | 2U | 4U << 8 | 12U << 24},
                               {head, saddr | 2U},
                               {head, saddr}};
                       },
                       isa::flat_names(static_cast<isa::Segment>(segment)), segments[segment]});
    }
}

std::string mnemonic(const std::string& line) {
    std::string word = line.substr(0, line.find_first_of(" \t"));
    for (const char* suffix : {"_e32", "_e64"}) {
        if (word.ends_with(suffix)) {
            word.resize(word.size() - 4);
        }
    }
    return word;
}

} // namespace

std::vector<Format> formats() {
    std::vector<Format> all;
    add_scalar_formats(all);
    add_vector_formats(all);
    add_memory_formats(all);
    return all;
}

std::vector<std::set<std::string>> llvm_names(const Format& format, isa::Isa isa) {
    // s_nop with a number behind each encoding tells where its disassembly ends.
    constexpr std::uint32_t s_nop = 0xbf80'0000;
    std::vector<MachineCode> stream;
    std::vector<std::uint32_t> owner; // opcode of each encoding
    std::vector<std::uint32_t> head;  // its first word
    for (std::uint32_t op = 0; op < format.opcodes; ++op) {
        for (const MachineCode& words : format.encode(op)) {
            stream.push_back(words);
            stream.push_back({s_nop | 0xffff}); // for an encoding that wants one word more
            stream.push_back({s_nop | static_cast<std::uint32_t>(owner.size())});
            owner.push_back(op);
            head.push_back(words[0]);
        }
    }
    EXPECT_LT(owner.size(), 0xffffU);
    std::vector<std::set<std::string>> names(format.opcodes);
    std::size_t marker = 0;
    for (const Disassembled& line : disassemble(stream, isa)) {
        if (marker < owner.size() && line.first_word == (s_nop | marker)) {
            ++marker;
        } else if (marker < owner.size() && line.first_word == head[marker]) {
            names[owner[marker]].insert(mnemonic(line.text));
        }
    }
    EXPECT_EQ(marker, owner.size()) << format.name;
    return names;
}

} // namespace vgpu::test
