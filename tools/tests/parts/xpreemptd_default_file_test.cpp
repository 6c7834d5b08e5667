// SPDX-License-Identifier: MIT
// The default file and the manual page have every key, and their examples parse.
#include "unit/beside.hpp"
#include "xpreemptd_rules_text.hpp"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <regex>
#include <set>
#include <sstream>
#include <vector>

namespace {

using test::error_of;
using test::parsed;
using xpreemptd::Rule;
using xpreemptd::Rules;
using xpreemptd::sched::Band;

std::string text_of(const std::filesystem::path& path) {
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
}

// Keys that a table accepts, as the error message for a wrong key lists them.
std::vector<std::string> keys_of(const std::string& table) {
    const std::string error = error_of(table + "\nxxxxxxxxxxxxxxxx = 1\n");
    std::vector<std::string> keys;
    std::stringstream list(error.substr(error.find("one of ") + 7));
    for (std::string key; std::getline(list, key, ',');)
        keys.push_back(key.substr(key.find_first_not_of(' ')));
    return keys;
}

std::string with_keys_of_comments(const std::string& text) {
    return std::regex_replace(text, std::regex("(^|\n)#(?=[a-z_]+ = )"), "$1");
}

TEST(DefaultFile, gives_the_defaults_as_shipped_and_with_its_keys_uncommented) {
    const std::string shipped = text_of(test::beside_program(DEFAULT_FILE));
    EXPECT_EQ(parsed(shipped), Rules{});
    const std::string uncommented = with_keys_of_comments(shipped);
    EXPECT_NE(uncommented, shipped);
    EXPECT_EQ(parsed(uncommented), Rules{});
}

// "grace" of "[policy.BAND.grace]".
std::string last_part(const std::string& key) {
    const std::string name = key.substr(key.rfind('.') + 1);
    return name.substr(0, name.find(']'));
}

TEST(DefaultFile, has_every_key) {
    const std::string shipped = text_of(test::beside_program(DEFAULT_FILE));
    for (const char* table :
         {"[policy]", "[policy.BAND]", "[policy.RR]", "[policy.CFS]", "[policy.UP]", "[policy.PUP]",
          "[policy.SPUP]", "[policy.K-EDF]", "[policy.MLFQ]", "[policy.PARK]", "[limits]",
          "[memory]", "[socket]", "[default]"}) {
        const std::size_t begin = shipped.find(std::string("\n") + table + "\n");
        ASSERT_NE(begin, std::string::npos) << table;
        const std::string part = shipped.substr(begin, shipped.find("\n\n", begin) - begin);
        for (const std::string& key : keys_of(table)) {
            const bool is_header = shipped.find("\n" + key + "\n") != std::string::npos;
            EXPECT_TRUE(is_header || part.find("\n#" + last_part(key) + " = ") != std::string::npos)
                << table << ' ' << key;
        }
    }
    for (const std::string& key : keys_of("[policy.BAND.grace]"))
        EXPECT_NE(shipped.find(key + " = \""), std::string::npos) << key;
    for (const std::string& key : keys_of("[[rule]]"))
        EXPECT_NE(shipped.find(key), std::string::npos) << key;
}

TEST(DefaultFile, has_examples_that_parse) {
    const std::string examples =
        std::regex_replace(text_of(test::beside_program(DEFAULT_FILE)),
                           std::regex("(^|\n)#   (?=\\[\\[|[a-z_]+ = )"), "$1");
    EXPECT_EQ(parsed(examples).rules.size(), 3U);
}

TEST(ManualPage, has_every_key_and_examples_that_parse) {
    const std::string page =
        text_of(test::beside_program(MANUAL_PAGE)) + text_of(test::beside_program(POLICIES_PAGE));
    for (const char* table :
         {"", "[policy]", "[policy.BAND]", "[policy.RR]", "[policy.CFS]", "[policy.UP]",
          "[policy.PUP]", "[policy.SPUP]", "[policy.K-EDF]", "[policy.MLFQ]", "[policy.PARK]",
          "[limits]", "[memory]", "[socket]", "[default]", "[[rule]]"})
        for (const std::string& key : keys_of(table))
            EXPECT_NE(page.find("\n*" + key + "*"), std::string::npos) << table << ' ' << key;
    // Literal blocks.
    std::size_t examples = 0, rules = 0;
    for (std::size_t at = page.find("\n```\n"); at != std::string::npos;
         at = page.find("\n```\n", at + 1), ++examples) {
        const std::size_t end = page.find("\n```\n", at + 1);
        ASSERT_NE(end, std::string::npos);
        rules += parsed(page.substr(at + 5, end - at - 4)).rules.size();
        at = end;
    }
    EXPECT_GE(examples, 3U);
    EXPECT_GE(rules, 3U);
}

TEST(ManualPage, begins_with_rules_that_give_a_job_a_band) {
    const std::string page = text_of(test::beside_program(MANUAL_PAGE));
    const std::size_t begin = page.find("\n```\n");
    const std::size_t end = page.find("\n```\n", begin + 1);
    ASSERT_LT(end, page.find("\n# JOBS\n"));
    std::set<Band> bands;
    for (const Rule& rule : parsed(page.substr(begin + 5, end - begin - 4)).rules)
        bands.insert(rule.set.band.value());
    EXPECT_EQ(bands, (std::set{Band::high, Band::idle}));
}

TEST(ManualPage, leads_with_band_and_says_when_to_use_each_other_policy) {
    const std::string page = text_of(test::beside_program(MANUAL_PAGE)),
                      policies = text_of(test::beside_program(POLICIES_PAGE));
    for (const std::string_view name : xpreemptd::sched::policy_names) {
        const std::string header = "[policy." + std::string(name) + "]*\n";
        EXPECT_EQ(page.find(header) != std::string::npos, name == "BAND") << name;
        if (name == "BAND")
            continue;
        const std::size_t begin = policies.find("\n*" + std::string(name) + "*\n");
        ASSERT_NE(begin, std::string::npos) << name;
        const std::string text = std::regex_replace(
            policies.substr(begin, policies.find("\n\n", begin) - begin), std::regex("\\s+"), " ");
        EXPECT_NE(text.find(". Use it when "), std::string::npos) << text;
    }
}

TEST(ManualPage, of_xsched_names_the_policies_that_it_can_have_here) {
    const std::string page = text_of(test::beside_program(XSCHED_PAGE));
    const std::size_t begin = page.find(":[ *of xpreemptd*\n");
    ASSERT_NE(begin, std::string::npos);
    const std::string table = page.substr(begin, page.find("\n\n", begin) - begin);
    std::set<std::string, std::less<>> named;
    std::stringstream lines(table);
    for (std::string line; std::getline(lines, line);) {
        const std::regex name("[A-Z-]{2,}(?=,|$)");
        if (line.starts_with(":  "))
            named.insert(std::sregex_token_iterator(line.begin(), line.end(), name), {});
    }
    // Those that XSched has not.
    std::set<std::string, std::less<>> ours(xpreemptd::sched::policy_names.begin(),
                                            xpreemptd::sched::policy_names.end());
    for (const char* name : {"BAND", "RR", "FIFO", "PARK"})
        ours.erase(name);
    EXPECT_EQ(named, ours);
}

} // namespace
