// SPDX-License-Identifier: MIT
// The rules file: every key, and every way to write it wrong.
#include "rules/rules.hpp"
#include "xpreemptd_rules_text.hpp"

#include "unit/kfd_tree.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <regex>

namespace {

using namespace std::chrono_literals;
using test::error_of;
using test::parse;
using test::parsed;
using xpreemptd::AttributeChange;
using xpreemptd::Rule;
using xpreemptd::Rules;
using xpreemptd::sched::Band;

TEST(Rules, an_empty_file_gives_the_defaults) {
    EXPECT_EQ(parsed(""), Rules{});
    EXPECT_EQ(
        parsed("# nothing\n[policy]\n[policy.BAND]\ngrace = {}\n[limits]\n[socket]\n[default]\n"),
        Rules{});
    EXPECT_EQ(xpreemptd::read_rules("").value(), Rules{});
}

constexpr const char* every_key = R"(
[policy]
name = "CFS"
linger = "3us"
[policy.BAND]
grace = { realtime = "1us", high = "2ms", normal = "3s", idle = "4us" }
floor = "0%"
floor_turn = "20ms"
resume_grace = "10s"
max_rate = 0
[policy.RR]
quantum = "100us"
[policy.CFS]
slice = "7ms"
credit = "0ms"
[policy.UP]
slice = "1ms"
[policy.PUP]
slice = "2ms"
[policy.SPUP]
slice = "3ms"
[policy.K-EDF]
k = 2
least_period = "4ms"
[policy.MLFQ]
slice = "6ms"
levels = 8
growth = 3
promote_after = "1s"
[policy.PARK]
park_after = "30s"
[limits]
max_hold = "11s"
[memory]
stay = 3
least_stay = "10ms"
longest_wait = "1s"
[socket]
path = "/run/x.sock"
mode = "0660"
group = "video"
[default]
band = "idle"
weight = 1
priority = -1
utilization = 50
yield = true
park_after = "30s"
vram_limit = "512MiB"
[[rule]]
unit = "ollama.service"
cgroup = "/system.slice/*"
executable = "/usr/bin/ollama"
slurm_partition = "interactive"
user = "alice"
band = "high"
weight = 10000
deadline = "1500us"
lax = "3600s"
priority = -255
utilization = 0
yield = false
park_after = "never"
vram_limit = "none"
job = "all.of_it-1"
owner_may_choose = "realtime"
owner_may_choose_priority = 255
[[rule]]
user = 4294967294
weight = 50
)";

TEST(Rules, every_key_is_read) {
    const Rules rules = parsed(every_key);
    xpreemptd::sched::Bands::Parameters bands;
    bands.grace = {1us, 2ms, 3s, 4us};
    bands.floor_percent = 0;
    bands.floor_turn = 20ms;
    bands.resume_grace = 10s;
    bands.max_rate = 0;
    EXPECT_EQ(rules.parameters.bands, bands);
    EXPECT_EQ(rules.parameters.linger, 3us);
    EXPECT_EQ(rules.parameters.round_robin.quantum, 100us);
    const xpreemptd::sched::Fair::Parameters fair{7ms, 0ms};
    EXPECT_EQ(rules.policy(), xpreemptd::sched::Policy(xpreemptd::sched::Fair(fair)));
    EXPECT_EQ(rules.parameters.utilization.slice, 1ms);
    EXPECT_EQ(rules.parameters.process_utilization.slice, 2ms);
    EXPECT_EQ(rules.parameters.strict.slice, 3ms);
    EXPECT_EQ(rules.parameters.earliest_deadline,
              (xpreemptd::sched::EarliestDeadlineFirst::Parameters{2, 4ms}));
    EXPECT_EQ(rules.parameters.multilevel,
              (xpreemptd::sched::MultilevelFeedback::Parameters{6ms, 8, 3, 1s}));
    EXPECT_EQ(rules.parameters.parking.park_after, 30s);
    EXPECT_EQ(rules.max_hold, 11s);
    EXPECT_EQ(rules.socket_file(), (xpreemptd::SocketFile{"/run/x.sock", 0660, 44}));
    EXPECT_EQ(rules.residency.stay, 3U);
    EXPECT_EQ(rules.residency.least_stay, 10ms);
    EXPECT_EQ(rules.residency.longest_wait, 1s);
    EXPECT_EQ(rules.defaults, (xpreemptd::Attributes{.band = Band::idle,
                                                     .weight = 1,
                                                     .priority = -1,
                                                     .utilization = 50,
                                                     .yields = true,
                                                     .park_after = 30s,
                                                     .vram_limit = std::uint64_t{512} << 20U}));
    ASSERT_EQ(rules.rules.size(), 2U);
    EXPECT_EQ(rules.rules[0],
              (Rule{"ollama.service", "/system.slice/*", "/usr/bin/ollama", "interactive", 1000,
                    AttributeChange{Band::high, 10000, 1500us, -255, 0, 1h, false,
                                    std::chrono::nanoseconds::max(), UINT64_MAX},
                    Band::realtime, 255, "all.of_it-1"}));
    EXPECT_EQ(rules.rules[1],
              (Rule{std::nullopt, std::nullopt, std::nullopt, std::nullopt, 4294967294U,
                    AttributeChange{std::nullopt, 50, std::nullopt}, std::nullopt}));
}

TEST(Rules, each_policy_gets_its_parameters_now_and_at_a_change) {
    const std::string parameters = "[policy.BAND]\nfloor = \"3%\"\n[policy.RR]\nquantum = \"9ms\"\n"
                                   "[policy.CFS]\nslice = \"8ms\"\n"
                                   "[policy.UP]\nslice = \"7ms\"\n"
                                   "[policy.PUP]\nslice = \"6ms\"\n"
                                   "[policy.SPUP]\nslice = \"4ms\"\n"
                                   "[policy.K-EDF]\nk = 2\n[policy.MLFQ]\nlevels = 3\n"
                                   "[policy.PARK]\npark_after = \"1s\"\n";
    for (const std::string_view name : xpreemptd::sched::policy_names) {
        const Rules rules =
            parsed(fmt::format("[policy]\nname = \"{}\"\nlinger = \"2ms\"\n{}", name, parameters));
        EXPECT_EQ(xpreemptd::sched::name_of(rules.policy()), name);
        EXPECT_EQ(xpreemptd::make_policy(name, rules.parameters), rules.policy());
    }
    const Rules rules = parsed("[policy]\nlinger = \"2ms\"\n" + parameters);
    const auto policy = [&](const char* name) {
        return xpreemptd::make_policy(name, rules.parameters).value();
    };
    using namespace xpreemptd::sched;
    EXPECT_EQ(std::get<Bands>(policy("BAND")).parameters().floor_percent, 3U);
    EXPECT_EQ(std::get<RoundRobin>(policy("RR")).parameters().quantum, 9ms);
    EXPECT_EQ(std::get<Fair>(policy("CFS")).parameters().slice, 8ms);
    EXPECT_EQ(std::get<UtilizationPartition>(policy("UP")).parameters().slice, 7ms);
    EXPECT_EQ(std::get<ProcessUtilizationPartition>(policy("PUP")).parameters().slice, 6ms);
    EXPECT_EQ(std::get<StrictPartition>(policy("SPUP")).parameters().slice, 4ms);
    EXPECT_EQ(std::get<EarliestDeadlineFirst>(policy("K-EDF")).parameters().k, 2U);
    EXPECT_EQ(std::get<EarliestDeadlineFirst>(policy("K-EDF")).parameters().linger, 2ms);
    EXPECT_EQ(std::get<HighestPriorityFirst>(policy("HPF")).parameters().linger, 2ms);
    EXPECT_EQ(std::get<HeterogeneousHighestPriorityFirst>(policy("HHPF")).parameters().linger, 2ms);
    EXPECT_EQ(std::get<CpuHighestPriorityFirst>(policy("CHPF")).parameters().linger, 2ms);
    EXPECT_EQ(std::get<FocusFirst>(policy("AWF")).parameters().linger, 2ms);
    EXPECT_EQ(std::get<MultilevelFeedback>(policy("MLFQ")).parameters().levels, 3U);
    EXPECT_EQ(std::get<IdleParking>(policy("PARK")).parameters().park_after, 1s);
    EXPECT_FALSE(xpreemptd::make_policy("EDF", rules.parameters));
}

struct Wrong {
    const char* text;
    const char* error;
};

class WrongRules : public testing::TestWithParam<Wrong> {};

TEST_P(WrongRules, say_where_and_what_would_be_right) {
    EXPECT_EQ(error_of(GetParam().text), GetParam().error);
}

#define BANDS "expected one of realtime, high, normal, idle"
#define RULE_KEYS                                                                                  \
    "expected one of unit, cgroup, executable, slurm_partition, user, band, weight, deadline, "    \
    "priority, utilization, lax, yield, park_after, vram_limit, job, "                             \
    "owner_may_choose, owner_may_choose_priority"

INSTANTIATE_TEST_SUITE_P(
    Values, WrongRules,
    testing::Values(
        Wrong{"[default]\nband = \"hihg\"",
              "f.toml:2:8: band is \"hihg\", " BANDS "; did you mean \"high\"?"},
        Wrong{"[default]\nband = \"quickly\"", "f.toml:2:8: band is \"quickly\", " BANDS},
        Wrong{"[default]\nband = 1", "f.toml:2:8: band is 1, " BANDS},
        Wrong{"[default]\nband = true", "f.toml:2:8: band is true, " BANDS},
        Wrong{"[default]\nband = [\"high\"]", "f.toml:2:8: band is an array, " BANDS},
        Wrong{"[default.band]", "f.toml:1:1: band is a table, " BANDS},
        Wrong{"[default]\nband = 1979-05-27", "f.toml:2:8: band is a date or a time, " BANDS},
        Wrong{"[policy]\nname = \"band\"",
              "f.toml:2:8: name is \"band\", expected one of BAND, "
              "HPF, RR, CFS, FIFO, HHPF, CHPF, UP, PUP, SPUP, K-EDF, LAX, AWF, MLFQ, "
              "PARK; did you mean \"BAND\"?"},
        Wrong{"[default]\nweight = \"100\"",
              "f.toml:2:10: weight is \"100\", expected an integer from 1 to 10000"},
        Wrong{"[default]\nutilization = 101",
              "f.toml:2:15: utilization is 101, expected an integer from 0 to 100"},
        Wrong{"[[rule]]\nuser = 0\nlax = \"0us\"",
              "f.toml:3:7: lax is \"0us\", expected a duration from \"1us\" to \"3600s\", a whole "
              "number of us, ms or s"},
        Wrong{"[default]\nweight = 0",
              "f.toml:2:10: weight is 0, expected an integer from 1 to 10000"},
        Wrong{"[default]\nweight = 10001",
              "f.toml:2:10: weight is 10001, expected an integer from 1 to 10000"},
        Wrong{"[default]\nweight = 1.5",
              "f.toml:2:10: weight is 1.5, expected an integer from 1 to 10000"},
        Wrong{"[default]\nweight = 10.0",
              "f.toml:2:10: weight is 10.0, expected an integer from 1 to 10000"},
        Wrong{"[default]\npriority = -256",
              "f.toml:2:12: priority is -256, expected an integer from -255 to 255"},
        Wrong{"[default]\npriority = \"1\"",
              "f.toml:2:12: priority is \"1\", expected an integer from -255 to 255"},
        Wrong{"[[rule]]\nuser = 0\npriority = 256",
              "f.toml:3:12: priority is 256, expected an integer from -255 to 255"},
        Wrong{"[default]\nyield = \"yes\"", "f.toml:2:9: yield is \"yes\", expected true or false"},
        Wrong{"[default]\npark_after = \"1ms\"",
              "f.toml:2:14: park_after is \"1ms\", expected \"never\" or a duration from \"100ms\" "
              "to \"86400s\", a whole number of us, ms or s"},
        Wrong{"[default]\nvram_limit = \"16GB\"",
              "f.toml:2:14: vram_limit is \"16GB\", expected \"none\" or a size such as "
              "\"512MiB\" or \"16GiB\""},
        Wrong{"[default]\nvram_limit = \"016GiB\"",
              "f.toml:2:14: vram_limit is \"016GiB\", expected \"none\" or a size such as "
              "\"512MiB\" or \"16GiB\""},
        Wrong{"[default]\nvram_limit = 16",
              "f.toml:2:14: vram_limit is 16, expected \"none\" or a size such as \"512MiB\" or "
              "\"16GiB\""},
        Wrong{"[policy.BAND]\nmax_rate = 4294967296",
              "f.toml:2:12: max_rate is 4294967296, expected an integer from 0 to 10000"},
        Wrong{"[policy.BAND]\nmax_rate = -1",
              "f.toml:2:12: max_rate is -1, expected an integer from 0 to 10000"},
        Wrong{"[policy.BAND]\nfloor = \"100%\"",
              "f.toml:2:9: floor is \"100%\", expected a percentage from \"0%\" to \"99%\""},
        Wrong{"[policy.BAND]\nfloor = \"010%\"",
              "f.toml:2:9: floor is \"010%\", expected a percentage from \"0%\" to \"99%\""},
        Wrong{"[policy.BAND]\nfloor = 10",
              "f.toml:2:9: floor is 10, expected a percentage from \"0%\" to \"99%\""},
        Wrong{"[policy.BAND]\nfloor = \"10\"",
              "f.toml:2:9: floor is \"10\", expected a percentage from \"0%\" to \"99%\""},
        Wrong{"[policy.BAND]\nfloor = \" 10%\"",
              "f.toml:2:9: floor is \" 10%\", expected a percentage from \"0%\" to \"99%\""},
        Wrong{"[policy.BAND]\ngrace = \"1ms\"",
              "f.toml:2:9: policy.BAND.grace is \"1ms\", expected a table: [policy.BAND.grace]"},
        Wrong{"[socket]\npath = \"run/x\"",
              "f.toml:2:8: path is \"run/x\", expected an absolute path of at most 107 bytes"},
        Wrong{"[socket]\npath = \"/run/\"",
              "f.toml:2:8: path is \"/run/\", expected an absolute path of at most 107 bytes"},
        Wrong{"[[rule]]\nuser = \"bob\"\nweight = 1",
              "f.toml:2:8: user is \"bob\", expected the name of a user of this machine, or a uid "
              "from 0 to 4294967294"},
        Wrong{"[[rule]]\nuser = 4294967295\nweight = 1",
              "f.toml:2:8: user is 4294967295, expected the name of a user of this machine, or a "
              "uid from 0 to 4294967294"},
        Wrong{"[[rule]]\nuser = -1\nweight = 1",
              "f.toml:2:8: user is -1, expected the name of a user of this machine, or a uid from "
              "0 to 4294967294"},
        Wrong{"[[rule]]\nunit = \"\"\nweight = 1",
              "f.toml:2:8: unit is \"\", expected a pattern such as \"ollama.service\""},
        // A rule with one of these would never match.
        Wrong{"[[rule]]\nunit = \"ollama\"\nweight = 1",
              "f.toml:2:8: unit is \"ollama\", expected a pattern such as \"ollama.service\""},
        Wrong{"[[rule]]\nexecutable = \"python3\"\nweight = 1",
              "f.toml:2:14: executable is \"python3\", expected a pattern such as "
              "\"/opt/train/*\""},
        Wrong{"[[rule]]\ncgroup = \"system.slice/*\"\nweight = 1",
              "f.toml:2:10: cgroup is \"system.slice/*\", expected a pattern such as "
              "\"/kubepods.slice/kubepods-besteffort*\""},
        Wrong{"[default]\nband = \"\\u001b[2J\"", "f.toml:2:8: band is \"\\x1b[2J\", " BANDS}));

INSTANTIATE_TEST_SUITE_P(
    Keys, WrongRules,
    testing::Values(
        Wrong{"[defualt]",
              "f.toml:1:2: unknown key \"defualt\", expected one of [policy], "
              "[limits], [memory], [socket], [default], [[rule]]; did you mean \"default\"?"},
        Wrong{"[default]\nwieght = 1",
              "f.toml:2:1: unknown key \"wieght\" in [default], expected "
              "one of band, weight, priority, utilization, yield, park_after, "
              "vram_limit; did you mean \"weight\"?"},
        Wrong{"[default]\nBAND = \"high\"",
              "f.toml:2:1: unknown key \"BAND\" in [default], "
              "expected one of band, weight, priority, utilization, yield, "
              "park_after, vram_limit; did you mean \"band\"?"},
        Wrong{"[policy]\nquantum = \"5ms\"",
              "f.toml:2:1: unknown key \"quantum\" in [policy], expected one of plugin, name, "
              "linger, "
              "[policy.BAND], [policy.RR], [policy.CFS], [policy.UP], [policy.PUP], "
              "[policy.SPUP], [policy.K-EDF], [policy.MLFQ], [policy.PARK]"},
        Wrong{"[policy.MLFQ]\nlevels = 9",
              "f.toml:2:10: levels is 9, expected an integer from 1 to 8"},
        Wrong{"[policy.K-EDF]\nk = 0", "f.toml:2:5: k is 0, expected an integer from 1 to 1000"},
        Wrong{
            "[policy.SPUP]\nslice = \"1us\"",
            "f.toml:2:9: slice is \"1us\", expected a duration from \"100us\" to \"10s\", a whole "
            "number of us, ms or s"},
        Wrong{"[policy.BAND]\ngrace = { highest = \"1ms\" }",
              "f.toml:2:11: unknown key \"highest\" in [policy.BAND.grace], " BANDS},
        Wrong{"[[rule]]\nunti = \"a\"", "f.toml:2:1: unknown key \"unti\" in [[rule]], " RULE_KEYS
                                        "; did you mean \"unit\"?"},
        Wrong{"[rule]\nunit = \"a\"",
              "f.toml:1:1: rule is a table, expected an array of tables: [[rule]]"},
        Wrong{"rule = [1]", "f.toml:1:9: rule is 1, expected an array of tables: [[rule]]"},
        Wrong{"[[policy]]", "f.toml:1:1: policy is an array, expected a table: [policy]"},
        Wrong{"[[rule]]\nband = \"high\"",
              "f.toml:1:1: the rule has no condition, expected unit, cgroup, executable, "
              "slurm_partition or user; "
              "[default] is for all other jobs"},
        Wrong{"[default]\n[[rule]]\nuser = 0",
              "f.toml:2:1: the rule sets nothing, expected band, weight, deadline, "
              "priority, utilization, lax, yield, park_after, vram_limit, job, owner_may_choose or "
              "owner_may_choose_priority"},
        Wrong{"[[rule]]\nuser = 0\nband = \"high\"\nowner_may_choose = \"idle\"",
              "f.toml:1:1: owner_may_choose is \"idle\", below \"high\", the band that the job "
              "gets; expected \"high\" or a higher band"},
        Wrong{"[socket]\nmode = \"0777\"",
              "f.toml:2:8: mode is \"0777\", expected one of 0666, 0660, 0600"},
        Wrong{"[socket]\ngroup = \"gpu\"",
              "f.toml:2:9: group is \"gpu\", expected \"\" or the name of a group of this "
              "machine, or a gid from 0 to 4294967294"},
        Wrong{"[[rule]]\nuser = 0\njob = \"a b\"",
              "f.toml:3:7: job is \"a b\", expected a name of 1 to 64 letters, digits, \".\", "
              "\"_\" and \"-\", not of digits alone"},
        Wrong{"[[rule]]\nuser = 0\njob = \"0123\"",
              "f.toml:3:7: job is \"0123\", expected a name of 1 to 64 letters, digits, \".\", "
              "\"_\" and \"-\", not of digits alone"},
        Wrong{"[default]\npriority = 3\n[[rule]]\nuser = 0\nowner_may_choose_priority = 2",
              "f.toml:3:1: owner_may_choose_priority is 2, below 3, the priority that the job "
              "gets; expected 3 or a higher priority"}));

TEST(Rules, all_errors_are_reported_in_the_order_of_the_file) {
    EXPECT_EQ(
        error_of("[[rule]]\nuser = 0\n[default]\nweight = 0\nx = 1\n[a]\n"),
        "f.toml:1:1: the rule sets nothing, expected band, weight, deadline, priority, "
        "utilization, lax, yield, park_after, vram_limit, job, owner_may_choose or "
        "owner_may_choose_priority\n"
        "f.toml:4:10: weight is 0, expected an integer from 1 to 10000\n"
        "f.toml:5:1: unknown key \"x\" in [default], expected one of band, weight, priority, "
        "utilization, yield, park_after, vram_limit\n"
        "f.toml:6:2: unknown key \"a\", expected one of [policy], [limits], [memory], [socket], "
        "[default], [[rule]]");
}

TEST(Rules, what_is_no_toml_is_reported_with_its_place) {
    for (const char* text :
         {"[default\n", "band = \n", "[default]\nband = \"high\nx", "a = 1\na = 2", "# \xff\xfe",
          "a = [[[[", "[[[1]]]", "a = t\x01", "[=", "[[", "[rule]\n[[rule]]"}) {
        const std::string error = error_of(text);
        EXPECT_TRUE(std::regex_match(error, std::regex(R"(f\.toml:\d+:\d+: not valid TOML: .+)")))
            << error;
    }
}

TEST(Rules, durations_are_whole_numbers_with_a_unit) {
    const auto grace = [](const std::string& text) {
        return parse("[policy.BAND]\nresume_grace = \"" + text +
                     "\"\n[limits]\nmax_hold = \"11s\"");
    };
    for (const char* zero : {"0us", "0ms", "0s"})
        EXPECT_EQ(grace(zero).value().parameters.bands.resume_grace, 0s) << zero;
    EXPECT_EQ(grace("250us").value().parameters.bands.resume_grace, 250us);
    EXPECT_EQ(grace("10s").value().parameters.bands.resume_grace, 10s);
    for (const char* text :
         {"", "0", "5", "ms", "5 ms", " 5ms", "5ms ", "-5ms", "+5ms", "1.5ms", "5ns", "5m", "5MS",
          "10001ms", "99999999999999999999s", "0x5ms", "5msx", "005ms"})
        EXPECT_EQ(grace(text).error(),
                  fmt::format("f.toml:2:16: resume_grace is \"{}\", expected a duration from "
                              "\"0us\" to \"10s\", a whole number of us, ms or s",
                              text));
}

TEST(Rules, characters_beyond_ascii_belong_into_strings_and_comments) {
    const std::string wrong =
        "a character that is not ASCII, expected it in strings and comments only";
    EXPECT_EQ(error_of("[[\u0278]1]"), "f.toml:1:3: " + wrong);
    EXPECT_EQ(error_of("\na = \"\u00e4\"\u00e4"), "f.toml:2:8: " + wrong);
    EXPECT_EQ(error_of("\xff\xfe"), "f.toml:1:1: " + wrong);
    EXPECT_EQ(error_of("a = -\"\u00e4\""), "f.toml:1:7: " + wrong);
    EXPECT_EQ(error_of("a = \"\" '\u00e4'"), "f.toml:1:9: " + wrong);
    EXPECT_EQ(error_of("a = [1=\"\u00e4\""), "f.toml:1:9: " + wrong);
    EXPECT_EQ(error_of("a = 1={\"\u00e4\""), "f.toml:1:9: " + wrong);
    EXPECT_EQ(error_of("a = [1==>=\"\u00e4\""), "f.toml:1:12: " + wrong);
    for (const char* quotes : {"\"\"\"", "\'\'\'"})
        EXPECT_EQ(error_of(std::string("a = ") + quotes + "\\\u00e4" + quotes),
                  "f.toml:1:5: a string in three quotes, expected one in one quote");
    const Rules rules = parsed("\xef\xbb\xbf# \u00e4 \"\"\"\n[[rule]] # \u00e4\n"
                               "unit = \"\\\"\u00e4*\" # \u00e4\ncgroup = '/\u00e4\\'# \u00e4\n"
                               "executable = '/\"\"\"#'\nuser = 1\nweight = 1\n");
    EXPECT_EQ(rules.rules.at(0).unit, "\"\u00e4*");
    EXPECT_EQ(rules.rules.at(0).cgroup, "/\u00e4\\");
}

TEST(Rules, bracket_that_does_not_end_is_no_pattern) {
    const auto rule_with = [](const std::string& key, const std::string& pattern) {
        return "[[rule]]\n" + key + " = '" + pattern + "'\nweight = 1\n";
    };
    for (const char* key : {"executable", "cgroup", "unit", "slurm_partition"}) {
        for (const char* open : {"/*[", "/*[[:alpha:", "/*[[:alpha:]", "/*[]", "/*[!]", "/*[^]a",
                                 "/*[a]*[b", "/*[[.a.]", "/*[[=a=]b"})
            EXPECT_NE(error_of(rule_with(key, open)).find("expected a pattern such as"),
                      std::string::npos)
                << key << " = " << open;
        for (const char* pattern : {"/*[[:alpha:]]", "/*[[]", "/*[]]", "/*[!]a]", "/*]", "/*[[:]",
                                    "/*[[:A:]", "/*[[.].]]", "/*[[=a=]]", "/*[a][b]"})
            EXPECT_EQ(parsed(rule_with(key, pattern)).rules.size(), 1U) << key << " = " << pattern;
    }
}

// The parser nests a table for each dot, and destroys them by recursion.
TEST(Rules, size_of_the_file_and_of_its_lines_is_bounded) {
    const auto dots = [](std::size_t count) {
        std::string text;
        for (std::size_t i = 0; i < count; ++i)
            text += "a.";
        return text + "a = 1";
    };
    EXPECT_EQ(error_of("\n" + dots(30000)),
              "f.toml:2:1025: the line is too long, expected at most 1024 bytes");
    EXPECT_EQ(error_of(dots(500)).substr(0, 29), "f.toml:1:1: unknown key \"a\", ");
    EXPECT_EQ(error_of(std::string(65537, '\n')),
              "f.toml:1:1: the file is too large, expected at most 65536 bytes");
    EXPECT_EQ(parsed(std::string(65536, '\n')), Rules{});
    EXPECT_EQ(parsed("#" + std::string(1023, '.') + "\n"), Rules{});
}

TEST(Rules, a_file_that_cannot_be_read_is_an_error) {
    const test::KfdTree tree;
    const auto error = [&](const char* name) {
        return xpreemptd::read_rules(tree.root() / name).error();
    };
    const std::string root = tree.root().string();
    EXPECT_EQ(error("x"), root + "/x: the rules file cannot be read: No such file or directory");
    tree.make_directory("d");
    EXPECT_EQ(error("d"), root + "/d: the rules file cannot be read: it is not a regular file");
    tree.write("x", "[default]\nband = 1");
    EXPECT_EQ(error("x"), root + "/x:2:8: band is 1, " BANDS);
    tree.write("x", "[default]\nband = \"idle\"");
    EXPECT_EQ(xpreemptd::read_rules(tree.root() / "x").value().defaults.band, Band::idle);
    tree.write("x", std::string(65536, '\n') + "[default]"); // not cut off silently
    EXPECT_EQ(error("x"), root + "/x:1:1: the file is too large, expected at most 65536 bytes");
}

// At a boot the name service may answer later, so this is not the message of an unknown user.
TEST(Rules, user_that_cannot_be_looked_up_is_named_with_the_error) {
    const auto late = [](const std::string&) -> xpreemptd::FoundUser {
        return tl::make_unexpected(ECONNREFUSED);
    };
    const auto rules = xpreemptd::parse_rules("[[rule]]\nuser = \"alice\"\nband = \"high\"\n",
                                              "f.toml", {.user_lookup = late});
    ASSERT_FALSE(rules);
    EXPECT_EQ(rules.error(), "f.toml:2:8: user is \"alice\", which cannot be looked up: Connection "
                             "refused; a uid needs no lookup");
    EXPECT_TRUE(xpreemptd::parse_rules("[[rule]]\nuser = 1000\nband = \"high\"\n", "f.toml",
                                       {.user_lookup = late}));
}

} // namespace
