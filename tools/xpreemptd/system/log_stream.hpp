// SPDX-License-Identifier: MIT
// Where the daemon's log goes: a file, the journal, a terminal, a pipe to another program.
#pragma once

#include "system/log.hpp"

#include <cstdint>
#include <string_view>

namespace xpreemptd {

class LogStream {
public:
    explicit LogStream(int fd);

    // From now on write() does not wait for the reader of a pipe or terminal. A line for which the
    // pipe has no room is lost; before the next line the log gets the number of lost lines.
    void stop_waiting() { waits_ = false; }
    // Errors are ignored: there is no other place to report them.
    void write(LogLevel level, std::string_view line);

private:
    [[nodiscard]] bool has_room() const;

    int fd_;
    bool for_journal_;
    bool waits_ = true;
    std::uint64_t lost_ = 0;
};

} // namespace xpreemptd
