// SPDX-License-Identifier: MIT
// Completion: the words that may come next, with the current pids, queues and streams.
#pragma once

#include "output/context.hpp"

#include <map>
#include <string>
#include <vector>

namespace cli {

// Verbs with their options; "" has those of the command itself.
using Grammar = std::map<std::string, std::vector<std::string>>;

// words: all behind the command's name, the last of them as far as it has been typed. Never fails:
// what can't be found out is left out.
std::vector<std::string> complete(const Context& context, const Grammar& grammar,
                                  const std::vector<std::string>& words);

} // namespace cli
