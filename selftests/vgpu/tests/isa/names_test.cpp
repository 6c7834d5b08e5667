// SPDX-License-Identifier: MIT
// Every opcode in our tables means to LLVM's disassembler what we say it means, and the README
// lists those that are in no table.
#include "tests/isa/opcode_sweep.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

namespace vgpu::test {

namespace {

const std::string begin_mark = "<!-- instructions not modelled: generated, do not edit -->\n";
const std::string end_mark = "<!-- end of instructions not modelled -->\n";

std::string read_file(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

bool is_modelled(const Format& format, std::uint32_t opcode) {
    for (const isa::OpName& op : format.modelled) {
        if (op.opcode == opcode) {
            return true;
        }
    }
    return false;
}

// A row of a table for each format that lacks something.
std::string unmodelled_table() {
    std::string table = "| format | not modelled |\n|---|---|\n";
    for (const Format& format : formats()) {
        const auto names = llvm_names(format);
        std::set<std::string> missing;
        for (std::uint32_t op = 0; op < format.opcodes; ++op) {
            if (!is_modelled(format, op)) {
                missing.insert(names[op].begin(), names[op].end());
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

TEST(Names, every_modelled_opcode_is_what_llvm_calls_it) {
    std::size_t modelled = 0;
    for (const Format& format : formats()) {
        const auto names = llvm_names(format);
        for (const isa::OpName& op : format.modelled) {
            ASSERT_LT(op.opcode, format.opcodes) << op.name;
            const auto& seen = names[op.opcode];
            EXPECT_TRUE(seen.contains(format.prefix + std::string(op.name)))
                << format.prefix << op.name << " is to LLVM "
                << (seen.empty() ? "nothing" : *seen.begin());
            ++modelled;
        }
    }
    EXPECT_GT(modelled, 800U);
}

// To bring the README up to date: cmake --build BUILD --target update_readme
TEST(Names, readme_lists_the_instructions_that_are_not_modelled) {
    const std::string readme = read_file(VGPU_README);
    const std::size_t begin = readme.find(begin_mark);
    const std::size_t end = readme.find(end_mark);
    ASSERT_NE(begin, std::string::npos) << VGPU_README " has lost: " << begin_mark;
    ASSERT_NE(end, std::string::npos) << VGPU_README " has lost: " << end_mark;
    const std::size_t list = begin + begin_mark.size();
    const std::string table = unmodelled_table();
    if (std::getenv("VGPU_UPDATE_README") != nullptr) {
        std::ofstream(VGPU_README, std::ios::binary)
            << readme.substr(0, list) << table << readme.substr(end);
        return;
    }
    EXPECT_EQ(readme.substr(list, end - list), table)
        << "The list in README.md is stale: build the target update_readme and commit it.";
}

} // namespace vgpu::test
