// SPDX-License-Identifier: MIT
// Runs clang and llvm-mc, whose names the build gives.
#include "tests/sq/support/assembler.hpp"

#include "tests/sq/support/temporary_directory.hpp"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>

namespace vgpu::test {

namespace {

void run(const std::string& command) {
    if (std::system(command.c_str()) != 0) {
        std::fprintf(stderr, "failed: %s\n", command.c_str());
        std::exit(EXIT_FAILURE);
    }
}

std::string read_file(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

std::string cpu(isa::Isa isa) {
    switch (isa) {
    case isa::Isa::gfx908: return "gfx908";
    case isa::Isa::gfx90a: return "gfx90a";
    default: return "gfx942";
    }
}

const std::string encoding_mark = "; encoding: [";

// "0x01,0x00,0x80,0xbf,...": the first four bytes, least significant first.
std::uint32_t first_word(const std::string& bytes) {
    std::uint32_t word = 0;
    for (unsigned i = 0; i < 4; ++i) {
        word |= static_cast<std::uint32_t>(std::stoul(bytes.substr(5 * i, 4), nullptr, 16))
                << (8 * i);
    }
    return word;
}

} // namespace

std::vector<std::uint32_t> assemble(const std::string& text, isa::Isa isa) {
    const TemporaryDirectory dir;
    std::ofstream(dir.file("in.s")) << text << "\n";
    run(VGPU_CLANG " -target amdgcn-amd-amdhsa -mcpu=" + cpu(isa) + " -c " + dir.file("in.s") +
        " -o " + dir.file("out.o"));
    run(VGPU_OBJCOPY " -O binary --only-section=.text " + dir.file("out.o") + " " +
        dir.file("out.bin"));
    const std::string bytes = read_file(dir.file("out.bin"));
    std::vector<std::uint32_t> words(bytes.size() / 4);
    bytes.copy(reinterpret_cast<char*>(words.data()), words.size() * 4);
    return words;
}

std::vector<Disassembled> disassemble(const std::vector<std::vector<std::uint32_t>>& instructions,
                                      isa::Isa isa) {
    const TemporaryDirectory dir;
    {
        std::ofstream in(dir.file("in.txt"));
        for (const auto& words : instructions) {
            // A line per instruction; llvm-mc reports a bad one and continues.
            for (const std::uint32_t word : words) {
                for (unsigned byte = 0; byte < 4; ++byte) {
                    in << (word >> (8 * byte) & 0xff) << ' ';
                }
            }
            in << '\n';
        }
    }
    // Exit status 1 only says that some encodings were refused: the caller sees which.
    const std::string command = VGPU_LLVM_MC " --disassemble --show-encoding --arch=amdgcn"
                                             " --mcpu=" +
                                cpu(isa) + " " + dir.file("in.txt") + " > " + dir.file("out.txt") +
                                " 2> " + dir.file("err.txt");
    if (std::system(command.c_str()) == -1) {
        std::perror(VGPU_LLVM_MC);
        std::exit(EXIT_FAILURE);
    }
    std::vector<Disassembled> lines;
    std::istringstream out(read_file(dir.file("out.txt")));
    for (std::string line; std::getline(out, line);) {
        const std::size_t start = line.find_first_not_of(" \t");
        const std::size_t encoding = line.find(encoding_mark);
        if (encoding != std::string::npos) {
            lines.push_back({line.substr(start, encoding - start),
                             first_word(line.substr(encoding + encoding_mark.size()))});
        }
    }
    return lines;
}

} // namespace vgpu::test
