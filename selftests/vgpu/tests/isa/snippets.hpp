// SPDX-License-Identifier: MIT
// Single instructions, assembled together, each run on a wave of its own.
#pragma once

#include "model/isa/execution.hpp"
#include "tests/sq/support/gpu.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace vgpu::test {

// Text i of the list ends in s_endpgm and sits at its own address.
class Snippets {
public:
    explicit Snippets(const std::vector<std::string>& texts, isa::Isa isa = isa::Isa::gfx942);

    // A wave with 64 VGPRs (32 architectural), 112 SGPRs and 4 KiB LDS, all zero, EXEC full.
    isa::WaveState wave();
    // Runs snippet i to its end (or to a failure). Returns the last outcome.
    isa::Outcome run(std::size_t i, isa::WaveState& wave);

    FlatMemory memory{8U << 20};
    std::vector<std::byte> lds = std::vector<std::byte>(4096);
    std::string problem;          // of an illegal instruction
    std::uint64_t executed = 0;   // instructions of the last run
    std::uint64_t clock = 0x1234; // what s_memtime reads

private:
    static constexpr std::uint64_t stride = 512;
    static constexpr std::uint64_t code_va = FlatMemory::base + 0x40'0000;

    isa::Isa isa_;
    isa::AddressSpace space_{memory};
};

} // namespace vgpu::test
