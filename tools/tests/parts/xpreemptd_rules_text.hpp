// SPDX-License-Identifier: MIT
// Parses rules from a string for tests, on a machine with one user, alice, and one group, video.
#pragma once

#include "rules/rules.hpp"

#include <gtest/gtest.h>
#include <optional>
#include <string>
#include <string_view>

namespace test {

using xpreemptd::Rules;

inline std::optional<uid_t> test_users(const std::string& name) {
    return name == "alice" ? std::optional<uid_t>(1000) : std::nullopt;
}

inline std::optional<gid_t> test_groups(const std::string& name) {
    return name == "video" ? std::optional<gid_t>(44) : std::nullopt;
}

inline tl::expected<Rules, std::string> parse(std::string_view text) {
    return xpreemptd::parse_rules(text, "f.toml",
                                  {.user_lookup = test_users, .group_lookup = test_groups});
}

inline Rules parsed(std::string_view text) {
    const auto rules = parse(text);
    EXPECT_TRUE(rules) << rules.error();
    return rules.value_or(Rules{});
}

inline std::string error_of(std::string_view text) {
    const auto rules = parse(text);
    EXPECT_FALSE(rules) << "accepted: " << text;
    return rules ? "" : rules.error();
}

} // namespace test
