// SPDX-License-Identifier: MIT
// What may come next on the command line, with the pids, queues and streams that there are now.
#pragma once

#include "context.hpp"

#include <map>
#include <string>
#include <vector>

namespace cli {

// Verbs with their options; "" has those of the command itself.
using Grammar = std::map<std::string, std::vector<std::string>>;

// words: all behind the command's name, the last of them as far as it has been typed. Never fails:
// what cannot be found out is left out.
std::vector<std::string> complete(const Context& context, const Grammar& grammar,
                                  const std::vector<std::string>& words);

} // namespace cli
