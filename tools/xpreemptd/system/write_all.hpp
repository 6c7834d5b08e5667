// SPDX-License-Identifier: MIT
// Writes a text to a descriptor, in as many calls as that takes.
#pragma once

#include <cerrno>
#include <cstddef>
#include <string_view>
#include <unistd.h>

namespace xpreemptd {

// Returns 0 or an errno; a part of the text may be written then.
inline int write_all(int fd, std::string_view text) {
    while (!text.empty()) {
        const ssize_t written = ::write(fd, text.data(), text.size());
        if (written < 0 && errno != EINTR)
            return errno;
        if (written > 0)
            text.remove_prefix(static_cast<std::size_t>(written));
    }
    return 0;
}

} // namespace xpreemptd
