// SPDX-License-Identifier: MIT
// A write happens only where poll() reports room. O_NONBLOCK would change the descriptors of other
// programs as well.
#include "system/log_stream.hpp"

#include "protocol/printable.hpp"
#include "system/write_all.hpp"

#include <climits>
#include <cstdlib>
#include <fmt/format.h>
#include <poll.h>
#include <string>
#include <sys/stat.h>
#include <utility>

namespace xpreemptd {

namespace {

// systemd names device and inode of the stream that it connects to the journal.
bool is_journal(int fd) {
    const char* stream = std::getenv("JOURNAL_STREAM");
    struct stat info{};
    return stream != nullptr && ::fstat(fd, &info) == 0 &&
           fmt::format("{}:{}", info.st_dev, info.st_ino) == stream;
}

// The journal takes a level from the beginning of a line; a terminal would show it.
std::string prefix(LogLevel level, bool for_journal) {
    return for_journal ? fmt::format("<{}>xpreemptd: ", static_cast<char>(level)) : "xpreemptd: ";
}

} // namespace

LogStream::LogStream(int fd) : fd_(fd), for_journal_(is_journal(fd)) {}

// Room for PIPE_BUF bytes.
bool LogStream::has_room() const {
    pollfd room{fd_, POLLOUT, 0};
    return ::poll(&room, 1, 0) == 1 && (room.revents & POLLOUT) != 0;
}

void LogStream::write(LogLevel level, std::string_view line) {
    if (!waits_ && !has_room()) {
        ++lost_;
        return;
    }
    std::string text;
    if (const std::uint64_t lost = std::exchange(lost_, 0); lost > 0)
        text = fmt::format("{}{} lines of the log had no room and are lost\n",
                           prefix(LogLevel::warning, for_journal_), lost);
    // A line may have the name of a cgroup, and that a sequence for the terminal.
    text += prefix(level, for_journal_) + printable_line(line) + "\n";
    if (!waits_ && text.size() > PIPE_BUF)
        text.replace(PIPE_BUF - 1, std::string::npos, "\n");
    (void)write_all(fd_, text);
}

} // namespace xpreemptd
