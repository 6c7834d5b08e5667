// SPDX-License-Identifier: MIT
// The three streams that a program begins with, for the programs of tools/.
#pragma once

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <string_view>
#include <unistd.h>

namespace xpreemptd {

// A stream that is closed at the start would give its number to the next file that the program
// opens, and what is printed would go there. Opens each closed one so that its reads and writes
// still fail, with EBADF, and so that a program which this one becomes or starts finds it closed.
inline void reserve_standard_streams() {
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd)
        if (::fcntl(fd, F_GETFD) < 0)
            static_cast<void>(::open("/", O_PATH | O_CLOEXEC)); // gets the lowest free number, fd
}

// Writes the text to standard output, behind all that was printed before. Returns an empty text, or
// why some of it was not written: a script that keeps the output goes by the status.
inline std::string write_output(std::string_view text) {
    std::string reason = std::ferror(stdout) != 0 ? "an earlier line was lost" : "";
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size())
        reason = std::strerror(errno);
    if (std::fflush(stdout) != 0)
        reason = std::strerror(errno);
    return reason.empty() ? reason : "cannot write to standard output: " + reason;
}

// Writes a message to standard error. If that fails there is nobody to be told: unlike fmt::print()
// it never throws, so a full disk under a log ends no daemon.
inline void write_message(std::string_view text) {
    std::fwrite(text.data(), 1, text.size(), stderr);
}

} // namespace xpreemptd
