// SPDX-License-Identifier: MIT
// Words for numbers, durations, sizes, and names made safe for a terminal.
#include "output/names.hpp"

#include <cerrno>
#include <gtest/gtest.h>
#include <kfd_preempt.h>

namespace {

TEST(Names, unknown_values_keep_their_number) {
    EXPECT_EQ(cli::state_name(KFD_PREEMPT_STATE_PENDING), "PENDING");
    EXPECT_EQ(cli::state_name(99), "STATE-99");
    EXPECT_EQ(cli::sched_mode_name(KFD_PREEMPT_SCHED_NO_HWS), "NO_HWS");
    EXPECT_EQ(cli::sched_mode_name(99), "MODE-99");
    EXPECT_EQ(cli::hold_names(KFD_PREEMPT_HOLD_SELF | KFD_PREEMPT_HOLD_DEAD | 0x100),
              (std::vector<std::string>{"SELF", "DEAD", "0x100"}));
    EXPECT_EQ(cli::words_or_dash(cli::hold_names(0)), "-");
    EXPECT_EQ(cli::words_or_dash(cli::cap_names(KFD_PREEMPT_CAP_SAVE | 1ULL << 63)),
              "SAVE 0x8000000000000000");
    EXPECT_EQ(cli::errno_name(ETIME), "ETIME");
    EXPECT_EQ(cli::errno_name(100000), "errno 100000");
}

TEST(Names, durations_have_three_digits_and_a_unit) {
    EXPECT_EQ(cli::duration_text(0), "0 ns");
    EXPECT_EQ(cli::duration_text(999), "999 ns");
    EXPECT_EQ(cli::duration_text(1000), "1 us");
    EXPECT_EQ(cli::duration_text(1234), "1.23 us");
    EXPECT_EQ(cli::duration_text(999499), "999 us");
    EXPECT_EQ(cli::duration_text(999600), "1 ms");
    EXPECT_EQ(cli::duration_text(45'600'000), "45.6 ms");
    EXPECT_EQ(cli::duration_text(7'890'000'000), "7.89 s");
    EXPECT_EQ(cli::duration_text(123'456'000'000'000), "123456 s");
}

TEST(Names, sizes_are_exact) {
    EXPECT_EQ(cli::size_text(0), "0 B");
    EXPECT_EQ(cli::size_text(1023), "1023 B");
    EXPECT_EQ(cli::size_text(4096), "4 KiB");
    EXPECT_EQ(cli::size_text(1536), "1536 B");
    EXPECT_EQ(cli::size_text(8 << 20), "8 MiB");
}

TEST(Names, printable_disarms_control_bytes_and_bad_utf8) {
    EXPECT_EQ(cli::printable("python3"), "python3");
    EXPECT_EQ(cli::printable("a\x1b[2Jb\n\t"), "a\\x1b[2Jb\\x0a\\x09");
    EXPECT_EQ(cli::printable("a\\x1b"), "a\\\\x1b"); // what it disarms can't be forged
    EXPECT_EQ(cli::printable("\x7f"), "\\x7f");
    EXPECT_EQ(cli::printable("\xc2\x9b"
                             "2J"),
              "\\xc2\\x9b2J"); // C1 CSI
    EXPECT_EQ(cli::printable("\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"),
              "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80");
    EXPECT_EQ(cli::printable("\xff"), "\\xff");
    EXPECT_EQ(cli::printable("\xc3"), "\\xc3"); // cut off, as comm is at 15 bytes
    EXPECT_EQ(cli::printable("\xe2\x82"), "\\xe2\\x82");
    EXPECT_EQ(cli::printable("\xc0\xaf"), "\\xc0\\xaf");          // overlong
    EXPECT_EQ(cli::printable("\xed\xa0\x80"), "\\xed\\xa0\\x80"); // surrogate
    EXPECT_EQ(cli::printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
    EXPECT_EQ(cli::printable(std::string_view("a\0b", 3)), "a\\x00b");
}

} // namespace
