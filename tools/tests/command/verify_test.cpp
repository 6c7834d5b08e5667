// SPDX-License-Identifier: MIT
// verify without a GPU: the fitted line, verdicts, the files that it leaves.
#include "verify/report.hpp"
#include "verify/samples.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

namespace {

using namespace verify;

TEST(VerifyFit, finds_the_fixed_time_and_the_rate) {
    // 5 µs and 2 bytes a ns.
    const std::vector<SizeSamples> sizes = {
        {1, 2000, {6000, 6000, 9999}, {}}, {2, 20000, {15000}, {}}, {4, 40000, {25000}, {}}};
    const Fit fitted = fit(sizes);
    ASSERT_TRUE(fitted.valid);
    EXPECT_NEAR(fitted.fixed_ns, 5000, 0.01);
    EXPECT_NEAR(fitted.bytes_per_ns, 2, 0.0001);
}

TEST(VerifyFit, there_is_none_where_time_does_not_grow_with_size) {
    EXPECT_FALSE(fit({}).valid);
    EXPECT_FALSE(fit({{1, 1000, {5}, {}}}).valid);
    EXPECT_FALSE(fit({{1, 1000, {5}, {}}, {2, 1000, {6}, {}}}).valid);
    EXPECT_FALSE(fit({{1, 1000, {50}, {}}, {2, 2000, {40}, {}}}).valid);
}

TEST(VerifyPlot, has_a_point_of_each_stop) {
    const std::vector<SizeSamples> sizes = {{1, 1 << 20, {1000, 1100}, {}},
                                            {2, 2 << 20, {2000}, {}}};
    const std::string svg = plot(sizes, fit(sizes), 10);
    std::size_t points = 0;
    for (std::size_t at = 0; (at = svg.find("<circle", at)) != std::string::npos; ++at)
        ++points;
    EXPECT_EQ(points, 3U);
    EXPECT_TRUE(svg.ends_with("</svg>\n"));
    EXPECT_EQ(svg.find("nan"), std::string::npos);
    EXPECT_EQ(plot({}, {}, 0).find("nan"), std::string::npos);
}

StageResult stage(const char* name, std::vector<Finding> findings, Verdict verdict) {
    return {name, verdict, std::move(findings), Json::object(), 0.5};
}

TEST(VerifyResult, passes_only_if_something_ran_and_nothing_failed) {
    Result result;
    EXPECT_EQ(result.summary(), "INCOMPLETE: 0 stages passed, 0 failed, 0 skipped");
    result.stages.push_back(stage("sdma", {}, Verdict::skip));
    EXPECT_EQ(result.verdict(), Verdict::skip);
    result.stages.push_back(stage("probe", {}, Verdict::pass));
    EXPECT_EQ(result.summary(), "PASS: 1 stages passed, 0 failed, 1 skipped");
    result.interrupted = true;
    EXPECT_EQ(result.summary(),
              "INCOMPLETE: 1 stages passed, 0 failed, 1 skipped, then interrupted");
    result.stages.push_back(stage("queues", {}, Verdict::fail));
    EXPECT_EQ(result.verdict(), Verdict::fail);
}

TEST(VerifyChecks, a_failure_outweighs_a_skip_and_a_skip_no_check) {
    Checks checks;
    EXPECT_EQ(checks.verdict(), Verdict::skip);
    checks.skip("not here");
    EXPECT_EQ(checks.verdict(), Verdict::skip);
    EXPECT_TRUE(checks.check(true, "fine", "never shown"));
    EXPECT_EQ(checks.verdict(), Verdict::pass);
    EXPECT_FALSE(checks.check(false, "stop", "queue 3: EIO"));
    EXPECT_EQ(checks.verdict(), Verdict::fail);
    EXPECT_EQ(checks.findings().back().text, "stop: queue 3: EIO");
}

TEST(VerifyReport, leaves_no_archive_that_is_not_whole) {
    std::string name = (std::filesystem::temp_directory_path() / "verify-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    std::ofstream(name + "/tar") << "#!/bin/sh\necho half >\"$4\"\nexit 2\n";
    std::filesystem::permissions(name + "/tar", std::filesystem::perms::owner_all);
    const std::string path = std::getenv("PATH");
    ::setenv("PATH", (name + ":" + path).c_str(), 1);
    const auto written = write_report(Result{}, name + "/report");
    ::setenv("PATH", path.c_str(), 1);
    ASSERT_TRUE(written) << written.error();
    EXPECT_EQ(written->back(), name + "/report/kernel.log");
    EXPECT_FALSE(std::filesystem::exists(name + "/report.tar.gz"));
    std::filesystem::remove_all(name);
}

TEST(VerifyReport, leaves_page_json_plot_log_and_archive) {
    std::string name = (std::filesystem::temp_directory_path() / "verify-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    const std::string directory = name + "/report";
    Result result;
    result.stages.push_back(stage("latency", {{Verdict::pass, "fine"}}, Verdict::pass));
    result.stages[0].data["svg"] = "<svg/>";
    result.kernel_log = {"amdgpu: a line"};
    const auto written = write_report(result, directory);
    ASSERT_TRUE(written) << written.error();
    EXPECT_EQ(written->size(), 5U);
    const auto text_of = [&](const char* file) {
        std::ostringstream text;
        text << std::ifstream(directory + "/" + file).rdbuf();
        return text.str();
    };
    EXPECT_EQ(text_of("report.txt"), "PASS: 1 stages passed, 0 failed, 0 skipped\n\n"
                                     "latency (0.5 s): ok\n  ok    fine\n");
    EXPECT_EQ(text_of("report.json").find("svg"), std::string::npos);
    EXPECT_EQ(text_of("latency.svg"), "<svg/>");
    EXPECT_EQ(text_of("kernel.log"), "amdgpu: a line\n");
    EXPECT_TRUE(std::filesystem::exists(directory + ".tar.gz"));
    // Another user has made the directory, and root writes into it.
    std::ofstream(name + "/precious") << "mine";
    std::filesystem::remove(directory + "/report.txt");
    std::filesystem::create_symlink(name + "/precious", directory + "/report.txt");
    ASSERT_TRUE(write_report(result, directory));
    EXPECT_EQ(text_of("../precious"), "mine");
    EXPECT_FALSE(std::filesystem::is_symlink(directory + "/report.txt"));
    EXPECT_FALSE(write_report(result, "/dev/null/report"));
    // With the slash of a shell's completion.
    std::filesystem::remove(directory + ".tar.gz");
    const auto again = write_report(result, directory + "/");
    ASSERT_TRUE(again);
    EXPECT_EQ(*again, *written);
    EXPECT_TRUE(std::filesystem::exists(directory + ".tar.gz"));
    std::filesystem::remove_all(name);
}

} // namespace
