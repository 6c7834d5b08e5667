// SPDX-License-Identifier: MIT
// Candidates for the word that is typed, for the completion of the shells.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace sim {

// Commands and their options.
using Grammar = std::map<std::string, std::vector<std::string>>;

// words: what follows the name of the program; the last one is to be completed, and may be empty.
// Sorted. None where a file is expected.
[[nodiscard]] std::vector<std::string> complete(const Grammar& grammar,
                                                const std::vector<std::string>& words);

} // namespace sim
