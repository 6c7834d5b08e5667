// SPDX-License-Identifier: MIT
// When two results of a vector count as the same: NaNs, tolerances of the manual, what the flags of
// the vector take out.
#pragma once

#include "tests/isa/vectors.hpp"

#include <cstdint>

namespace vgpu::test {

class VectorJudge {
public:
    VectorJudge(const IsaVector& vector, const std::set<std::string>& settled);

    // An even register and the one behind it, in one lane.
    bool agrees(unsigned lane, std::uint64_t got, std::uint64_t expected) const;
    // Two dwords of LDS or of memory.
    bool agrees_in_memory(std::uint64_t got, std::uint64_t expected) const;

private:
    enum class Type { integer, half, packed_half, single, wide };

    // Tolerances that the flags of a lane give its results.
    struct Lane {
        bool nan = false;
        bool approximate = false;
    };

    static Type result_type(const std::string& mnemonic);
    bool is_settled(std::string_view kind) const { return settled_.contains(std::string(kind)); }
    bool agree(Lane lane, std::uint64_t got, std::uint64_t expected) const;
    bool one_agrees(unsigned bits, Lane lane, std::uint64_t got, std::uint64_t expected) const;
    bool at_limits(std::uint64_t got, std::uint64_t expected) const;

    const IsaVector& vector_;
    const std::set<std::string>& settled_;
    Type type_;
    bool clamps_;
};

} // namespace vgpu::test
