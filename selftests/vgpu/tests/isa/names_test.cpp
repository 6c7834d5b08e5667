// SPDX-License-Identifier: MIT
// Every opcode in our tables means to LLVM's disassembler what we say it means, and
// COVERAGE.md lists those that are in no table.
#include "tests/coverage_page.hpp"
#include "tests/isa/opcode_sweep.hpp"
#include "tests/isa/snippets.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace vgpu::test {

namespace {

constexpr isa::Isa all[] = {isa::Isa::gfx908, isa::Isa::gfx90a, isa::Isa::gfx942};

bool is_modelled(const Format& format, std::uint32_t opcode, isa::Isa isa) {
    for (const isa::OpName& op : format.modelled) {
        if (op.opcode == opcode && isa::has(op.isas, isa)) {
            return true;
        }
    }
    return false;
}

// Without blocks and underscores: "v_mfma_f32_32x32x1_2b_f32" is of a gfx90a called
// "v_mfma_f32_32x32x1f32".
std::string plain(std::string name) {
    for (const char* blocks : {"_2b_", "_4b_", "_16b_"}) {
        if (const std::size_t at = name.find(blocks); at != std::string::npos) {
            name.erase(at, std::string_view(blocks).size());
        }
    }
    std::erase(name, '_');
    return name;
}

bool is_among(const std::string& name, const std::set<std::string>& names) {
    return names.contains(name) || std::any_of(names.begin(), names.end(), [&](const auto& other) {
               return name.starts_with("v_mfma") && plain(name) == plain(other);
           });
}

// A row of a table for each format that lacks something.
std::string unmodelled_table() {
    std::string table = "| format | not modelled |\n|---|---|\n";
    for (const Format& format : formats()) {
        std::set<std::string> missing;
        for (const isa::Isa isa : all) {
            const auto names = llvm_names(format, isa);
            for (std::uint32_t op = 0; op < format.opcodes; ++op) {
                if (!is_modelled(format, op, isa)) {
                    missing.insert(names[op].begin(), names[op].end());
                }
            }
        }
        std::string row;
        for (const std::string& name : missing) {
            row += (row.empty() ? "`" : ", `") + name + "`";
        }
        if (!row.empty()) {
            table += "| " + format.name + " | " + row + " |\n";
        }
    }
    return table;
}

} // namespace

class NamesOf : public testing::TestWithParam<isa::Isa> {};

TEST_P(NamesOf, every_modelled_opcode_is_what_llvm_calls_it) {
    std::size_t modelled = 0;
    for (const Format& format : formats()) {
        const auto names = llvm_names(format, GetParam());
        for (const isa::OpName& op : format.modelled) {
            if (!isa::has(op.isas, GetParam())) {
                continue;
            }
            ASSERT_LT(op.opcode, format.opcodes) << op.name;
            const auto& seen = names[op.opcode];
            EXPECT_TRUE(is_among(format.prefix + std::string(op.name), seen))
                << format.prefix << op.name << " is to LLVM "
                << (seen.empty() ? "nothing" : *seen.begin());
            ++modelled;
        }
    }
    EXPECT_GT(modelled, 800U);
}
INSTANTIATE_TEST_SUITE_P(EachIsa, NamesOf, testing::ValuesIn(all));

TEST(Names, coverage_lists_the_instructions_that_are_not_modelled) {
    expect_in_coverage("instructions not modelled", unmodelled_table());
}

// An instruction of one GPU is refused by the others.
TEST(Names, an_instruction_of_another_isa_is_illegal) {
    const auto outcome = [](const std::string& text, isa::Isa of, isa::Isa on) {
        Snippets snippets({text}, of);
        isa::WaveState wave = snippets.wave();
        wave.isa = on;
        return snippets.run(0, wave);
    };
    for (const char* text :
         {"v_mov_b64 v[2:3], v[4:5]", "v_lshl_add_u64 v[2:3], v[4:5], 2, v[6:7]",
          "v_cvt_f32_fp8 v2, v4", "v_mfma_f32_16x16x8_xf32 v[2:5], v[6:7], v[8:9], v[2:5]",
          "ds_pk_add_f16 v2, v3", "global_load_lds_dword v[2:3], off"}) {
        EXPECT_EQ(outcome(text, isa::Isa::gfx942, isa::Isa::gfx90a), isa::Outcome::illegal) << text;
    }
    for (const char* text : {"v_pk_fma_f32 v[2:3], v[4:5], v[6:7], v[2:3]",
                             "v_mfma_f32_32x32x4bf16_1k a[0:31], v[4:5], v[6:7], a[0:31]"}) {
        EXPECT_EQ(outcome(text, isa::Isa::gfx90a, isa::Isa::gfx908), isa::Outcome::illegal) << text;
    }
    for (const char* text : {"v_mad_f32 v2, v4, v6, v8", "v_mac_f32 v2, v4, v6",
                             "v_mfma_i32_32x32x8i8 a[0:15], v6, v7, a[0:15]"}) {
        EXPECT_EQ(outcome(text, isa::Isa::gfx90a, isa::Isa::gfx942), isa::Outcome::illegal) << text;
    }
}

} // namespace vgpu::test
