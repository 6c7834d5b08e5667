// SPDX-License-Identifier: MIT
// Suggestions for misspelled words, and foreign text in error messages.
#include "toml/spelling.hpp"

#include <gtest/gtest.h>
#include <optional>
#include <string>
#include <vector>

namespace {

TEST(Spelling, finds_close_words_only) {
    const std::vector<std::string_view> words{"realtime", "high", "normal", "idle"};
    EXPECT_EQ(xpreemptd::closest("hihg", words), "high");
    EXPECT_EQ(xpreemptd::closest("HIGH", words), "high");
    EXPECT_EQ(xpreemptd::closest("real-time", words), "realtime");
    EXPECT_EQ(xpreemptd::closest("nrml", words), std::nullopt);
    EXPECT_EQ(xpreemptd::closest("", words), std::nullopt);
    EXPECT_EQ(xpreemptd::closest(std::string(100000, 'a'), words), std::nullopt);
    EXPECT_EQ(xpreemptd::in_quotes("a\n\x7f"), "\"a\\x0a\\x7f\"");
    EXPECT_EQ(xpreemptd::in_quotes("\xc2\x9b"), "\"\\xc2\\x9b\""); // U+009B, as ESC [
    EXPECT_EQ(xpreemptd::in_quotes(std::string(65, 'a')), "\"" + std::string(64, 'a') + "...\"");
}

} // namespace
