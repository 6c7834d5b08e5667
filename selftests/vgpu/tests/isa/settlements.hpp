// SPDX-License-Identifier: MIT
// vectors/settled.txt: the differences between vectors and model that are decided.
#pragma once

#include "tests/isa/vectors.hpp"

#include <regex>
#include <set>
#include <string>
#include <vector>

namespace vgpu::test {

struct Settlement {
    std::string kind; // one of the kinds that settled.txt explains
    std::string row;
    std::regex mnemonic;
    std::regex text;

    bool covers(const IsaVector& vector) const;
};

// Throws std::runtime_error with the row that it cannot read.
std::vector<Settlement> read_settlements(const std::string& path);

// The kinds that apply to the vector, but for `without`.
std::set<std::string> settled(const IsaVector& vector, const std::vector<Settlement>& all,
                              const Settlement* without = nullptr);

} // namespace vgpu::test
