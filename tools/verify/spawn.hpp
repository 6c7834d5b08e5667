// SPDX-License-Identifier: MIT
// How this program starts others.
#pragma once

#include <string>
#include <sys/types.h>
#include <vector>

namespace verify {

using Words = std::vector<std::string>;

// Files for the other program; -1 as stdin is /dev/null.
struct Streams {
    int in = -1, out, err;
};

// Finds the program by PATH. It ends when this one does, however that ends, and an interrupt at the
// terminal is this one's alone: it is in a process group of its own. environment: of lines
// NAME=VALUE; nullptr: that of this program. Returns 0 or a positive errno.
int spawn(Words words, const Streams& streams, const Words* environment, pid_t& pid);

} // namespace verify
