// SPDX-License-Identifier: MIT
// Scenario files: each wrong key and value is named with its place.
#include "sim_jobs.hpp"

#include "kfd-preempt-sim/trace_file.hpp"

#include <gtest/gtest.h>

namespace {

using namespace sim_test;

std::string error_of(std::string_view text, std::vector<Setting> settings = {}) {
    const auto scenario = parse_scenario(text, "s.toml", settings);
    return scenario ? "" : scenario.error();
}

void expect_error(std::string_view text, std::string_view part) {
    const std::string error = error_of(text);
    EXPECT_NE(error.find(part), std::string::npos) << text << "\n" << error;
}

constexpr std::string_view good = "[[job]]\nname = \"a\"\n";

TEST(SimScenario, HasDefaults) {
    const auto scenario = parse_scenario(good, "x/s.toml");
    ASSERT_TRUE(scenario) << scenario.error();
    EXPECT_EQ(scenario->name, "s");
    EXPECT_EQ(scenario->jobs[0].arrival, Arrival::closed);
    EXPECT_EQ(scenario->gpu.slots, 24U);
}

TEST(SimScenario, UnknownKeysAreNamedWithTheirPlace) {
    expect_error("[[job]]\nname = \"a\"\nbandd = \"high\"\n",
                 "s.toml:3:1: unknown key \"bandd\" in [[job]]");
    expect_error("[gpu]\ncapcity = 1\n[[job]]\nname = \"a\"\n",
                 "s.toml:2:1: unknown key \"capcity\"");
    expect_error("[gpu]\ncapcity = 1\n[[job]]\nname = \"a\"\n", "did you mean \"capacity\"?");
    expect_error("[[jobs]]\nname = \"a\"\n", "unknown key \"jobs\"");
    expect_error("[scenario]\nlength = \"1s\"\n[[job]]\nname = \"a\"\n", "s.toml:2:1");
    expect_error("[policy.BAND]\ngrase = \"1s\"\n[[job]]\nname = \"a\"\n", "s.toml:2:1");
}

TEST(SimScenario, WrongValuesAreNamedWithTheirPlace) {
    expect_error("[[job]]\nname = \"a\"\nband = \"top\"\n", "s.toml:3:8: band is \"top\"");
    expect_error("[[job]]\nname = \"a\"\narrival = \"poisson\"\nrate = -1\n",
                 "s.toml:4:8: rate is -1, expected a number from");
    expect_error("[[job]]\nname = \"a\"\nkernel = \"5\"\n", "kernel is \"5\", expected a duration");
    expect_error("[gpu]\nquantum = 5\n[[job]]\nname = \"a\"\n", "quantum is 5");
    expect_error("[[job]]\nname = \"a\"\nnodes = \"1-0\"\n", "nodes is \"1-0\", expected nodes");
    expect_error("[[job]]\nname = \"a\"\nnodes = \"00\"\n", "nodes is \"00\", expected nodes");
    expect_error("[[job]\n", "not valid TOML");
}

TEST(SimScenario, WhatDoesNotFitTogetherIsAnError) {
    expect_error("", "no job");
    expect_error("[[job]]\nband = \"high\"\n", "s.toml:1:1: a job has no name");
    expect_error("[[job]]\nname = \"a\"\n[[job]]\nname = \"a\"\n", "two jobs are named \"a\"");
    expect_error("[[job]]\nname = \"a\"\nnodes = \"0-1\"\n", "is on a node that is not there");
    expect_error("[[job]]\nname = \"a\"\narrival = \"poisson\"\n", "job \"a\" has no rate");
    expect_error("[[job]]\nname = \"a\"\nrate = 5\n", "rate has no meaning for arrival \"closed\"");
    expect_error("[[job]]\nname = \"a\"\narrival = \"periodic\"\nrate = 5\nthink = \"1ms\"\n",
                 "think has no meaning for arrival \"periodic\"");
    expect_error("[scenario]\nduration = \"1s\"\nwarmup = \"1s\"\n[[job]]\nname = \"a\"\n",
                 "nothing is measured");
    expect_error("[gpu]\nvram = \"1GiB\"\n[[job]]\nname = \"a\"\nvram = \"2GiB\"\n",
                 "need 2048 MiB of VRAM, of 1024 MiB");
    expect_error("[[job]]\nname = \"a\"\n[job.serving]\n", "a server needs an arrival");
    expect_error("[gpu]\ntrap_p50 = \"1ms\"\n[[job]]\nname = \"a\"\n", "below its median");
    expect_error("[[published]]\nsystem = \"x\"\n[[job]]\nname = \"a\"\n",
                 "a published figure lacks a key");
}

TEST(SimScenario, SettingsReplaceKeys) {
    const std::vector<Setting> settings{{"gpu.capacity", "1.5"},
                                        {"policy.BAND.resume_grace", "2ms"},
                                        {"job.a.kernel", "7ms"},
                                        {"scenario.duration", "3s"}};
    const auto scenario = parse_scenario(good, "s.toml", settings);
    ASSERT_TRUE(scenario) << scenario.error();
    EXPECT_EQ(scenario->gpu.capacity, 1.5);
    EXPECT_EQ(scenario->policies.bands.resume_grace, std::chrono::milliseconds{2});
    EXPECT_EQ(scenario->jobs[0].kernel, 7 * ms);
    EXPECT_EQ(scenario->duration, 3 * second);
}

TEST(SimScenario, ASettingWithoutValueRemovesTheKey) {
    const auto setting = parse_setting("job.a.rate=");
    ASSERT_TRUE(setting);
    const std::vector<Setting> settings{*setting, {"job.a.arrival", "closed"}};
    const auto scenario = parse_scenario("[[job]]\nname = \"a\"\narrival = \"poisson\"\nrate = 5\n",
                                         "s.toml", settings);
    EXPECT_TRUE(scenario) << scenario.error();
}

TEST(SimScenario, AWrongSettingIsNamed) {
    EXPECT_NE(error_of(good, {{"gpu.capacity", "low"}}).find("gpu.capacity=low"),
              std::string::npos);
    EXPECT_NE(error_of(good, {{"job.b.kernel", "1ms"}}).find("job.b.kernel: the scenario has no"),
              std::string::npos);
    EXPECT_NE(error_of(good, {{"capacity", "1"}}).find("capacity: the scenario has no"),
              std::string::npos);
    EXPECT_FALSE(parse_setting("capacity"));
    EXPECT_FALSE(parse_setting("=1"));
}

TEST(SimTrace, TakesTheColumnsOfTheAzureTraces) {
    const auto trace = parse_trace("TIMESTAMP,ContextTokens,GeneratedTokens\n"
                                   "2023-11-16 23:59:59.5000000,4808,10\n"
                                   "2023-11-17 00:00:00.2500000,110,27\n",
                                   "t.csv");
    ASSERT_TRUE(trace) << trace.error();
    ASSERT_EQ(trace->size(), 2U);
    EXPECT_EQ((*trace)[0].at, 0);
    EXPECT_EQ((*trace)[1].at, 750 * ms);
    EXPECT_EQ((*trace)[1].context, 110U);
    EXPECT_EQ((*trace)[1].generated, 27U);
}

TEST(SimTrace, TakesSecondsAndWork) {
    const auto trace = parse_trace("# a comment\nTIMESTAMP,Work\n2.5,0.001\n1,0.002\n", "t.csv");
    ASSERT_TRUE(trace) << trace.error();
    EXPECT_EQ((*trace)[0].work, 2 * ms);
    EXPECT_EQ((*trace)[1].at, 1500 * ms);
}

TEST(SimTrace, AWrongLineIsNamed) {
    EXPECT_NE(parse_trace("Time\n1\n", "t.csv").error().find("t.csv:1: the header has no"),
              std::string::npos);
    for (const char* line : {"x", "", "-1", "2023-13-16 18:15:46", "2023-11-16 18:15"})
        EXPECT_NE(parse_trace(std::string("TIMESTAMP,A\n1,2\n") + line + ",1\n", "t.csv")
                      .error()
                      .find("t.csv:3: not an arrival"),
                  std::string::npos)
            << line;
    EXPECT_FALSE(parse_trace("TIMESTAMP\n", "t.csv"));
    EXPECT_FALSE(read_trace("/nonexistent/t.csv"));
}

TEST(SimTrace, ReadsTimesWithTheirZones) {
    for (const char* second : {"2023-11-16 18:00:01Z", "2023-11-16T20:00:01+02:00",
                               "2023-11-16 13:00:01.000-0500", "2023-11-17 04:00:01+10"}) {
        const auto trace = parse_trace(
            std::string("TIMESTAMP\n2023-11-16 18:00:00+00:00\n") + second + "\n", "t.csv");
        ASSERT_TRUE(trace) << trace.error();
        EXPECT_EQ((*trace)[1].at, 1'000 * ms) << second;
    }
}

TEST(SimTrace, RefusesWhatIsNoNumberAndTimesOutOfRange) {
    for (const char* line :
         {"nan,1", "inf,1", "1,nan", "1,inf", "2023-11-16 99:00:00,1", "2023-11-16 18:60:00,1",
          "2023-11-16 18:00:61,1", "2023-11-16 18:00:00+,1", "2023-11-16 18:00:00+1,1",
          "2023-11-16 18:00:00+99:00,1", "2023-11-16 18:00:00 CET,1", "2023-11-16918:00:00,1",
          "2023-11-16 18:00:4e1,1", "-023-11-16 18:00:00,1", "1,1,000", "\"1,5\",1"}) {
        const auto trace = parse_trace(std::string("TIMESTAMP,Work\n") + line + "\n", "t.csv");
        ASSERT_FALSE(trace) << line;
        EXPECT_NE(trace.error().find("t.csv:2: not an arrival"), std::string::npos);
    }
}

TEST(SimTrace, RefusesTimesOfSeveralClocksAndAColumnThatIsThereTwice) {
    for (const char* lines : {"1\n2023-11-16 18:00:00\n", "2023-11-16 18:00:00\n1\n",
                              "2023-11-16 18:00:00+02:00\n2023-11-16 18:00:01\n",
                              "2023-11-16 18:00:00\n2023-11-16 18:00:01Z\n"}) {
        const auto trace = parse_trace(std::string("TIMESTAMP\n") + lines, "t.csv");
        ASSERT_FALSE(trace) << lines;
        EXPECT_NE(trace.error().find("t.csv:3: not an arrival"), std::string::npos);
    }
    const auto twice = parse_trace("TIMESTAMP,Work,Work\n1,1,2\n", "t.csv");
    ASSERT_FALSE(twice);
    EXPECT_NE(twice.error().find("t.csv:1: the header has a column twice"), std::string::npos);
}

} // namespace
