// SPDX-License-Identifier: MIT
// verify: the program that tries the GPU, see tools/verify. It makes queues, this command doesn't.
#pragma once

#include "output/report.hpp"

namespace cli {

// argv[0] is "verify". Returns only if there is no such program.
Report run_verify(char** argv);

} // namespace cli
