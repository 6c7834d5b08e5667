// SPDX-License-Identifier: MIT
// Every opcode in our tables means to LLVM's disassembler what we say it means.
#include "model/isa/encodings.hpp"
#include "tests/sq/support/assembler.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <map>

namespace vgpu::test {

namespace {

using Words = std::vector<std::uint32_t>;

struct Expectation {
    std::string name;
    std::vector<Words> encodings; // with different operand fields: some opcodes refuse some
};

// Makes encodings of one opcode.
using Encoder = std::function<std::vector<Words>(std::uint32_t)>;

void add(std::vector<Expectation>& all, std::span<const isa::OpName> names, const Encoder& encode,
         const std::string& prefix = "") {
    for (const isa::OpName& op : names) {
        all.push_back({prefix + std::string(op.name), encode(op.opcode)});
    }
}

std::vector<Words> vector_encodings(std::uint32_t op) {
    // src0 v0, src1 v2, src2 v4; carries in and out by s[6:7]; then with SGPR 6 as last source.
    const std::uint32_t head = 0xd000'0000U | op << 16;
    const std::uint32_t sources = 0x100U | 0x102U << 9;
    std::vector<Words> encodings;
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
    } else if (op >= 0x100 && op < 0x140) {
        encodings.push_back({4U << 17 | (op - 0x100) << 25 | 2U << 9 | 0x100});
        encodings.push_back({4U << 17 | (op - 0x100) << 25 | 2U << 9 | 0x100, 0x1234});
    }
    return encodings;
}

std::vector<Expectation> expectations() {
    std::vector<Expectation> all;
    add(all, isa::sop1_names(), [](std::uint32_t op) {
        return std::vector<Words>{{0xbe80'0000U | 4U << 16 | op << 8 | 6},
                                  {0xbe80'0000U | 4U << 16 | op << 8},
                                  {0xbe80'0000U | op << 8 | 6}};
    });
    add(all, isa::sop2_names(), [](std::uint32_t op) {
        return std::vector<Words>{{0x8000'0000U | op << 23 | 4U << 16 | 6U << 8 | 8}};
    });
    add(all, isa::sopc_names(), [](std::uint32_t op) {
        return std::vector<Words>{{0xbf00'0000U | op << 16 | 6U << 8 | 8}};
    });
    add(all, isa::sopk_names(), [](std::uint32_t op) {
        return std::vector<Words>{{0xb000'0000U | op << 23 | 4U << 16 | 0xf801},
                                  {0xb000'0000U | op << 23 | 4U << 16 | 0xf801, 0x1234},
                                  {0xb000'0000U | op << 23 | 0xf801, 0x1234}};
    });
    add(all, isa::sopp_names(), [](std::uint32_t op) {
        return std::vector<Words>{{0xbf80'0000U | op << 16 | 1}, {0xbf80'0000U | op << 16}};
    });
    add(all, isa::smem_names(), [](std::uint32_t op) {
        return std::vector<Words>{{0xc002'0000U | op << 18 | 16U << 6 | 4, 0x10},
                                  {0xc000'0000U | op << 18 | 16U << 6, 0},
                                  {0xc000'0000U | op << 18, 0}};
    });
    add(all, isa::vector_names(), vector_encodings);
    add(all, isa::vop3p_names(), [](std::uint32_t op) {
        return std::vector<Words>{{0xd380'4000U | op << 16 | 4, 0x1800'0106}};
    });
    add(all, isa::ds_names(), [](std::uint32_t op) {
        return std::vector<Words>{{0xd800'0000U | op << 17, 2U | 4U << 8 | 8U << 16 | 12U << 24},
                                  {0xd800'0000U | op << 17, 2U | 4U << 8 | 12U << 24},
                                  {0xd800'0000U | op << 17, 2U | 4U << 8 | 8U << 16},
                                  {0xd800'0000U | op << 17, 2U | 4U << 8},
                                  {0xd800'0000U | op << 17, 2U | 12U << 24},
                                  {0xd800'0000U | op << 17, 0}};
    });
    add(all, isa::mubuf_names(), [](std::uint32_t op) {
        return std::vector<Words>{{0xe000'1000U | op << 18, 2U | 4U << 8 | 2U << 16 | 6U << 24},
                                  {0xe000'8000U | op << 18, 0}};
    });
    for (const bool global : {false, true}) {
        const std::uint32_t segment = global ? 2U << 14 : 0;
        const std::uint32_t saddr = global ? 0x7fU << 16 : 0;
        add(
            all, isa::flat_names(),
            [&](std::uint32_t op) {
                const std::uint32_t head = 0xdc00'0000U | segment | op << 18;
                return std::vector<Words>{{head, saddr | 2U | 4U << 8},
                                          {head, saddr | 2U | 12U << 24},
                                          {head | 1U << 16, saddr | 2U | 4U << 8 | 12U << 24}};
            },
            global ? "global_" : "flat_");
    }
    return all;
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

TEST(Names, every_modelled_opcode_is_what_llvm_calls_it) {
    const std::vector<Expectation> all = expectations();
    ASSERT_GT(all.size(), 400U);
    // s_nop with a number behind each encoding tells where its disassembly ends.
    std::vector<Words> stream;
    std::vector<std::size_t> owner;
    for (std::size_t i = 0; i < all.size(); ++i) {
        for (const Words& words : all[i].encodings) {
            ASSERT_LT(owner.size(), 0x10000U);
            stream.push_back(words);
            stream.push_back({0xbf80'ffffU}); // for an encoding that wants one word more
            stream.push_back({0xbf80'0000U | static_cast<std::uint32_t>(owner.size())});
            owner.push_back(i);
        }
    }
    std::map<std::size_t, std::vector<std::string>> seen;
    std::vector<std::string> pending;
    std::size_t marker = 0;
    for (const std::string& line : disassemble(stream)) {
        if (line.starts_with("s_nop ") && std::stoul(line.substr(6), nullptr, 0) == marker) {
            auto& list = seen[owner[marker]];
            list.insert(list.end(), pending.begin(), pending.end());
            pending.clear();
            ++marker;
        } else {
            pending.push_back(mnemonic(line));
        }
    }
    ASSERT_EQ(marker, owner.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
        const auto& names = seen[i];
        EXPECT_TRUE(std::find(names.begin(), names.end(), all[i].name) != names.end())
            << all[i].name << " is to LLVM " << (names.empty() ? "nothing" : names[0]);
    }
}

} // namespace vgpu::test
