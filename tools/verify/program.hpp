// SPDX-License-Identifier: MIT
// Another program that is run to its end.
#pragma once

#include <string>
#include <vector>

namespace verify {

// Found by PATH, without input and without what it prints to stdout. True if it exits with 0.
bool run_program(std::vector<std::string> words);

} // namespace verify
