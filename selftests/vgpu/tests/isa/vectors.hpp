// SPDX-License-Identifier: MIT
// Vectors of AMD's ISA documents (vectors/README.md): one instruction each, with the registers
// before it and what it changed.
#pragma once

#include "model/isa/wave_state.hpp"

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace vgpu::test {

// NamedValues by name: "exec", "s16", "v4", "lds@100". A vector register has one for each lane.
using NamedValues = std::map<std::string, std::vector<std::uint64_t>, std::less<>>;

struct IsaVector {
    std::string mnemonic;
    std::string text;
    std::vector<std::uint32_t> code;
    std::uint64_t lanes = 0;
    std::map<std::string, std::uint64_t, std::less<>> flags; // masks of lanes, 0 where it has none
    NamedValues before;
    NamedValues after; // the registers and memory that the instruction changed

    bool flagged(std::string_view flag, unsigned lane) const;
};

struct VectorFile {
    std::vector<std::uint32_t> image; // of LDS and of memory
    std::vector<IsaVector> vectors;
};

// Throws std::runtime_error with the line that it cannot read.
VectorFile read_vectors(const std::string& path);

// Runs the instruction on a wave of a MI300X. Returns each difference, in words, but for those of
// the settled kinds (settlements.hpp).
std::vector<std::string> differences(const IsaVector& vector, const VectorFile& file,
                                     const std::set<std::string>& settled);

} // namespace vgpu::test
