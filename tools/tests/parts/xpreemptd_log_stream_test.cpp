// SPDX-License-Identifier: MIT
// The log and the program that reads it.
#include "base/unique_fd.hpp"
#include "system/log_stream.hpp"

#include <array>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <string>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace {

using namespace xpreemptd;
using xpreempt::UniqueFd;

class LogStreamTest : public testing::Test {
protected:
    LogStreamTest() {
        std::array<int, 2> ends{};
        if (::pipe2(ends.data(), O_CLOEXEC) == 0) {
            reader = UniqueFd(ends[0]);
            writer = UniqueFd(ends[1]);
            ::fcntl(writer.get(), F_SETPIPE_SZ, 4096);
        }
        ::alarm(60); // a write that waits ends this program
    }
    ~LogStreamTest() override { ::alarm(0); }

    [[nodiscard]] std::string read() const {
        std::string text(8192, '\0');
        const ssize_t got = ::read(reader.get(), text.data(), text.size());
        text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
        return text;
    }

    UniqueFd reader, writer;
};

TEST_F(LogStreamTest, line_without_room_is_lost_and_counted) {
    LogStream log(writer.get());
    log.stop_waiting();
    log.write(LogLevel::info, "first");
    for (int line = 0; line < 3; ++line)
        log.write(LogLevel::info, "second");
    EXPECT_EQ(read(), "xpreemptd: first\n");
    log.write(LogLevel::info, "third");
    EXPECT_EQ(read(), "xpreemptd: 3 lines of the log had no room and are lost\nxpreemptd: third\n");
    log.write(LogLevel::info, "fourth");
    EXPECT_EQ(read(), "xpreemptd: fourth\n");
}

TEST_F(LogStreamTest, line_longer_than_the_room_is_cut) {
    LogStream log(writer.get());
    log.stop_waiting();
    log.write(LogLevel::info, std::string(10000, 'x'));
    const std::string text = read();
    EXPECT_EQ(text.size(), 4096U);
    EXPECT_TRUE(text.ends_with("x\n"));
}

// A check of rules reports every error, however slowly they are read.
TEST_F(LogStreamTest, line_waits_for_room_until_it_is_told_not_to) {
    LogStream log(writer.get());
    std::thread writing([&] {
        log.write(LogLevel::error, std::string(10000, 'x'));
        writer = UniqueFd();
    });
    std::string text;
    for (std::string part = read(); !part.empty(); part = read())
        text += part;
    writing.join();
    EXPECT_EQ(text, "xpreemptd: " + std::string(10000, 'x') + "\n");
}

TEST_F(LogStreamTest, reader_that_has_ended_is_no_error) {
    std::signal(SIGPIPE, SIG_IGN);
    LogStream log(writer.get());
    reader = UniqueFd();
    log.write(LogLevel::info, "line");
    log.stop_waiting();
    log.write(LogLevel::info, "line");
}

TEST_F(LogStreamTest, the_journal_gets_levels_and_no_sequence_for_a_terminal) {
    struct stat info{};
    ASSERT_EQ(::fstat(writer.get(), &info), 0);
    ::setenv("JOURNAL_STREAM", fmt::format("{}:{}", info.st_dev, info.st_ino).c_str(), 1);
    LogStream log(writer.get());
    ::unsetenv("JOURNAL_STREAM");
    log.write(LogLevel::warning, "job \x1b[2J\nx");
    EXPECT_EQ(read(), "<4>xpreemptd: job \\x1b[2J\\x0ax\n");
}

} // namespace
