// SPDX-License-Identifier: MIT
// Tables and the frame of the JSON.
#include "output/output.hpp"

#include <cerrno>
#include <gtest/gtest.h>

namespace {

TEST(Table, columns_are_aligned_and_lines_end_without_blanks) {
    cli::Table table({"A", "LONGER", "C"});
    table.add({"12345", "x", ""});
    EXPECT_EQ(table.text(), "A      LONGER  C\n12345  x\n");
}

TEST(Json, begins_with_schema_and_ends_with_exit) {
    cli::Report report;
    report.json["processes"] = cli::Json::array();
    report.exit = cli::Exit::permission;
    EXPECT_EQ(cli::json_text(report),
              "{\n  \"schema\": 1,\n  \"processes\": [],\n  \"exit\": 4\n}\n");
}

TEST(Json, a_failure_has_message_and_errno) {
    const cli::Report report = cli::report_of({cli::Exit::failed, ESRCH, "pid 7: gone"});
    EXPECT_EQ(report.json["error"]["message"], "pid 7: gone");
    EXPECT_EQ(report.json["error"]["errno"], "ESRCH");
    EXPECT_EQ(report.messages, (std::vector<std::string>{"pid 7: gone"}));
    EXPECT_EQ(report.text, "");
    EXPECT_TRUE(cli::report_of({cli::Exit::failed, 0, "x"}).json["error"]["errno"].is_null());
}

// Words of the command line and paths are in it as they were given.
TEST(Messages, drive_no_terminal) {
    cli::Report report;
    report.messages = {"no cgroup /a\x1b[2J\\b\xff\rc", "two\nlines"};
    testing::internal::CaptureStderr();
    cli::write_report(report, false);
    EXPECT_EQ(testing::internal::GetCapturedStderr(),
              "kfd-preempt: no cgroup /a\\x1b[2J\\b\\xff\\x0dc\nkfd-preempt: two\nlines\n");
}

TEST(Json, a_byte_that_is_no_utf8_does_not_throw) {
    cli::Report report;
    report.json["x"] = "\xff";
    const std::string text = cli::json_text(report);
    EXPECT_TRUE(cli::Json::accept(text)) << text;
}

} // namespace
