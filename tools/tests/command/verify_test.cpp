// SPDX-License-Identifier: MIT
// verify without a GPU: the fitted line, verdicts, the table of stage priorities, the files that it
// leaves.
#include "verify/machine.hpp"
#include "verify/overhead.hpp"
#include "verify/priorities.hpp"
#include "verify/report.hpp"
#include "verify/samples.hpp"
#include "verify/spin.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

namespace {

using namespace verify;
using namespace std::chrono_literals;

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

// Two requests in each mode. Kernels of the low program have 100 iterations, requests 10.
Measured priorities() {
    Measured measured;
    measured.counts = true;
    measured.low_kernel = 100;
    const auto serve = [&](Sharing sharing, std::uint64_t to_hold_back, std::uint64_t meanwhile) {
        Mode mode{};
        mode.sharing = sharing;
        mode.high_request = 10;
        for (const std::uint64_t arrived : {30U, 530U})
            mode.requests.push_back({{arrived, 4, 2},
                                     {arrived + to_hold_back, 4, 2},
                                     {arrived + to_hold_back + meanwhile, 4, 2},
                                     5000});
        mode.end = {1000, 10, 10};
        mode.ns = 100000;
        mode.low_ns.assign(10, 10000);
        measured.modes.push_back(mode);
    };
    serve(Sharing::high_alone, 0, 0);
    serve(Sharing::low_alone, 0, 0);
    serve(Sharing::together, 0, 350);
    serve(Sharing::block, 0, 150);
    serve(Sharing::drain, 170, 0);
    serve(Sharing::interrupt, 5, 0);
    measured.modes[0].end = {};
    measured.modes[0].low_ns.clear();
    measured.modes[1].requests.clear();
    measured.modes[5].stops = 2;
    return measured;
}

// With a row more: by a scheduler that stops the low program after 30 iterations of a request.
Measured scheduled(Sharing by) {
    Measured measured = priorities();
    Mode mode = *measured.find(Sharing::together);
    mode.sharing = by;
    mode.stops = 2;
    for (Request& request : mode.requests)
        request.completed.iterations = request.prepared.iterations + 60;
    measured.modes.push_back(mode);
    if (by == Sharing::by_daemon)
        measured.policy = "BAND";
    return measured;
}

Mode& mode_of(Measured& measured, Sharing sharing) {
    return *std::ranges::find(measured.modes, sharing, &Mode::sharing);
}

// The findings that failed.
std::vector<std::string> failures_of(const Measured& measured) {
    Checks checks;
    judge(measured, checks);
    std::vector<std::string> failures;
    for (const Finding& finding : checks.findings())
        if (finding.verdict == Verdict::fail)
            failures.push_back(finding.text);
    return failures;
}

TEST(VerifyPriorities, levels_that_hold_back_what_they_promise_pass) {
    EXPECT_EQ(failures_of(priorities()), std::vector<std::string>{});
}

TEST(VerifyPriorities, low_program_that_runs_on_after_its_stop_fails) {
    Measured measured = priorities();
    mode_of(measured, Sharing::interrupt).requests[1].completed.iterations += 1;
    const std::vector<std::string> failures = failures_of(measured);
    ASSERT_EQ(failures.size(), 2U);
    EXPECT_EQ(failures[0],
              "Lv3: no iteration of it from the confirmed stop to the end of a request: "
              "1 iterations");
    EXPECT_EQ(failures[1], "iterations of the low program during requests: together 700, Lv1 300, "
                           "Lv2 0, Lv3 1: not less from level to level");
}

TEST(VerifyPriorities, requests_without_a_confirmed_stop_fail) {
    Measured measured = priorities();
    mode_of(measured, Sharing::interrupt).stops = 1;
    EXPECT_EQ(failures_of(measured),
              std::vector<std::string>{
                  "Lv3: 1 stops in 2 requests, 2 of them in the middle of a kernel"});
    mode_of(measured, Sharing::interrupt).stops = 3; // one by a daemon
    EXPECT_EQ(failures_of(measured), std::vector<std::string>{});
}

TEST(VerifyPriorities, each_broken_level_fails) {
    Measured launches = priorities();
    mode_of(launches, Sharing::block).requests[0].completed.launched += 1;
    EXPECT_EQ(failures_of(launches),
              std::vector<std::string>{"Lv1: the low program launches nothing during requests: "
                                       "1 kernels"});
    Measured idle = priorities();
    for (Request& request : mode_of(idle, Sharing::block).requests)
        request.completed = request.prepared;
    EXPECT_EQ(failures_of(idle),
              std::vector<std::string>{"Lv1: its kernels in flight run: 0 iterations"});
    Measured undrained = priorities();
    mode_of(undrained, Sharing::drain).requests[0].completed.iterations += 1;
    EXPECT_EQ(failures_of(undrained).size(), 1U);
    Measured apart = priorities();
    for (Request& request : mode_of(apart, Sharing::together).requests)
        request.completed = request.prepared;
    EXPECT_EQ(failures_of(apart).size(), 2U); // it does not run, and less than with Lv1
    Measured lost = priorities();
    mode_of(lost, Sharing::interrupt).end.iterations -= 1;
    EXPECT_EQ(failures_of(lost).size(), 1U);
}

TEST(VerifyPriorities, order_of_times_is_no_verdict) {
    Measured measured = priorities();
    measured.counts = false;
    for (Request& request : mode_of(measured, Sharing::together).requests)
        request.completed.iterations = request.prepared.iterations + 1;
    EXPECT_EQ(failures_of(measured), std::vector<std::string>{});
}

TEST(VerifyPriorities, daemon_has_to_stop_the_low_program_for_requests) {
    Measured measured = scheduled(Sharing::by_daemon);
    EXPECT_EQ(failures_of(measured), std::vector<std::string>{});
    Mode& mode = mode_of(measured, Sharing::by_daemon);
    mode.stops = 0;
    EXPECT_EQ(failures_of(measured),
              std::vector<std::string>{
                  "xpreemptd: the low program is stopped for most requests: 0 stops in 2 requests, "
                  "120 iterations, 700 together"});
    mode.stops = 2;
    mode.requests = mode_of(measured, Sharing::together).requests;
    EXPECT_EQ(failures_of(measured),
              std::vector<std::string>{"xpreemptd: it runs less during requests: 2 stops in 2 "
                                       "requests, 700 iterations, 700 together"});
}

TEST(VerifySpin, kernels_of_a_wanted_time_have_no_longer_iterations) {
    const spin::Shape measured{4, 1, 1024};
    const auto work = [&](std::uint64_t took, std::uint64_t wanted) {
        const spin::Shape shape = spin::scaled(measured, took, wanted);
        EXPECT_EQ(shape.workgroups, 4U);
        EXPECT_LE(shape.rounds, 1024U);
        return std::uint64_t{shape.iterations} * shape.rounds;
    };
    EXPECT_EQ(work(250'000, 100'000), 409U); // 0.1 ms of an iteration of 0.25 ms
    EXPECT_EQ(work(250'000, 250'000), 1024U);
    EXPECT_NEAR(static_cast<double>(work(250'000, 50'000'000)), 204'800, 200);
    EXPECT_NEAR(static_cast<double>(work(250'000, 300'000)), 1228, 1);
    EXPECT_EQ(work(0, 1), 1024U);
    EXPECT_EQ(work(1'000'000'000, 1), 1U);
}

TEST(VerifyPriorities, HPF_has_to_stop_the_low_program_for_requests) {
    Measured measured = scheduled(Sharing::by_hpf);
    EXPECT_EQ(failures_of(measured), std::vector<std::string>{});
    mode_of(measured, Sharing::by_hpf).stops = 0;
    EXPECT_EQ(failures_of(measured),
              std::vector<std::string>{
                  "HPF in the process: the low program is stopped for most requests: 0 stops in 2 "
                  "requests, 120 iterations, 700 together"});
}

TEST(VerifyPriorities, kernel_that_was_launched_and_did_not_end_fails) {
    Measured measured = priorities();
    mode_of(measured, Sharing::together).end.launched += 1;
    EXPECT_EQ(
        failures_of(measured),
        std::vector<std::string>{"each kernel of the low program has done its iterations, once"});
}

TEST(VerifyPriorities, stop_under_another_load_has_to_be_one) {
    Measured measured = priorities();
    Mode mode = mode_of(measured, Sharing::interrupt);
    mode.load = "50 % busy";
    measured.modes.push_back(mode);
    EXPECT_EQ(failures_of(measured), std::vector<std::string>{});
    measured.modes.back().requests[0].completed.iterations += 3;
    EXPECT_EQ(failures_of(measured),
              std::vector<std::string>{"50 % busy, Lv3: no iteration of it from the confirmed stop "
                                       "to the end of a request: 3 iterations"});
}

TEST(VerifyPriorities, each_mode_that_was_measured_has_a_row) {
    EXPECT_TRUE(figures_of(priorities())["policy"].is_null());
    EXPECT_EQ(figures_of(priorities())["modes"].size(), 6U);
    Measured measured = scheduled(Sharing::by_daemon);
    EXPECT_EQ(table(measured).back(),
              "by xpreemptd                 70         70        100        110    98.0 %      "
              "1.43      2");
    EXPECT_EQ(figures_of(measured)["policy"], "BAND");
    measured.modes.back() = mode_of(measured, Sharing::together);
    measured.modes.back().load = "10 % busy";
    EXPECT_TRUE(table(measured).back().starts_with("10 % busy      "));
    EXPECT_EQ(figures_of(measured)["modes"].back()["mode"], "10 % busy");
}

TEST(VerifyPriorities, README_has_the_columns_of_the_table) {
    std::ostringstream text;
    text << std::ifstream(README).rdbuf();
    EXPECT_NE(text.str().find("\n" + table(priorities())[1] + "\n"), std::string::npos);
}

TEST(VerifyPriorities, table_has_a_row_of_each_mode) {
    const std::vector<std::string> lines = table(priorities());
    EXPECT_EQ(lines,
              (std::vector<std::string>{
                  "On the software GPU: iterations of the waves of both programs, not times.",
                  "                       high p50        p99    low p50        p99  low kept  "
                  "low:high  stops",
                  "high alone                   10         10          -          -         -  "
                  "       -      0",
                  "low alone                     -          -        100        100   100.0 %  "
                  "       -      0",
                  "together                    360        360        100        110    98.0 %  "
                  "   0.278      0",
                  "Lv1, block                  160        160        100        110    98.0 %  "
                  "   0.625      0",
                  "Lv2, drain                  180        180        100        110    98.0 %  "
                  "   0.556      0",
                  "Lv3, interrupt               15         15        100        110    98.0 %  "
                  "    6.67      2"}));
    Measured on_a_card = priorities();
    on_a_card.counts = false;
    EXPECT_EQ(table(on_a_card).back(), "Lv3, interrupt             5 us       5 us      10 us      "
                                       "10 us   100.0 %         2      2");
}

TEST(VerifyPriorities, picture_has_each_way_of_sharing_with_requests) {
    Measured measured = priorities();
    measured.modes.push_back(measured.modes.back());
    measured.modes.back().load = "10 % busy";
    const std::string svg = picture(measured);
    EXPECT_EQ(svg.find("busy"), std::string::npos);
    EXPECT_NE(svg.find(">Lv1, block<"), std::string::npos);
    EXPECT_EQ(svg.find(">low alone<"), std::string::npos);
    EXPECT_EQ(svg.find("nan"), std::string::npos);
}

TEST(VerifyPriorities, report_has_the_figures_of_the_table) {
    const Json mode = figures_of(priorities())["modes"][5];
    EXPECT_EQ(mode["mode"], "Lv3, interrupt");
    EXPECT_EQ(mode["high"]["p50"], 15);
    EXPECT_EQ(mode["low"]["p99"], 110);
    EXPECT_EQ(mode["stops"], 2);
    EXPECT_EQ(mode["low_iterations_in_requests"], 0);
    EXPECT_NEAR(mode["low_to_high"].get<double>(), 6.67, 0.01);
}

TEST(VerifyReport, leaves_no_archive_that_is_not_whole) {
    std::string name = (std::filesystem::temp_directory_path() / "verify-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    std::ofstream(name + "/tar") << "#!/bin/sh\necho half >\"$4\"\nexit 2\n";
    std::filesystem::permissions(name + "/tar", std::filesystem::perms::owner_all);
    const char* const inherited = std::getenv("PATH");
    const std::string path = inherited != nullptr ? inherited : "/usr/bin:/bin";
    ::setenv("PATH", (name + ":" + path).c_str(), 1);
    const auto written = write_report(Result{}, name + "/report", Directory::may_exist);
    ::setenv("PATH", path.c_str(), 1);
    ASSERT_TRUE(written) << written.error();
    EXPECT_EQ(written->back(), name + "/report/kernel.log");
    EXPECT_FALSE(std::filesystem::exists(name + "/report.tar.gz"));
    std::filesystem::remove_all(name);
}

// Its time is in the name, so another user of the directory can make it before.
TEST(VerifyReport, follows_no_link_at_a_name_of_its_own) {
    std::string name = (std::filesystem::temp_directory_path() / "verify-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    const std::string directory = name + "/report";
    std::filesystem::create_directory(name + "/precious");
    std::filesystem::create_directory_symlink(name + "/precious", directory);
    const auto refused = write_report(Result{}, directory, Directory::is_new);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error(), "cannot make " + directory + ": File exists");
    EXPECT_TRUE(std::filesystem::is_empty(name + "/precious"));
    std::filesystem::remove(directory);
    EXPECT_TRUE(write_report(Result{}, directory, Directory::is_new));
    EXPECT_TRUE(std::filesystem::exists(directory + ".tar.gz"));
    std::filesystem::remove_all(name);
}

TEST(VerifyReport, leaves_page_json_plot_log_and_archive) {
    std::string name = (std::filesystem::temp_directory_path() / "verify-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    const std::string directory = name + "/report";
    Result result;
    result.machine = {
        {"rocm", nullptr}, {"kernel", "6.12"}, {"gpus", {{{"gpu_id", 7}, {"name", "MI308X"}}}}};
    result.stages.push_back(
        stage("latency", {{Verdict::note, "a row"}, {Verdict::pass, "fine"}}, Verdict::pass));
    result.stages[0].data["svg"] = "<svg/>";
    result.kernel_log = {"amdgpu: a line"};
    const auto written = write_report(result, directory, Directory::may_exist);
    ASSERT_TRUE(written) << written.error();
    EXPECT_EQ(written->size(), 5U);
    const auto text_of = [&](const char* file) {
        std::ostringstream text;
        text << std::ifstream(directory + "/" + file).rdbuf();
        return text.str();
    };
    EXPECT_EQ(text_of("report.txt"), "PASS: 1 stages passed, 0 failed, 0 skipped\n"
                                     "kernel 6.12, gpu_id 7, name MI308X\n\n"
                                     "latency (0.5 s): ok\n        a row\n  ok    fine\n");
    EXPECT_EQ(text_of("report.json").find("svg"), std::string::npos);
    const Json report = Json::parse(text_of("report.json"));
    EXPECT_EQ(report["machine"], result.machine);
    EXPECT_EQ(report["stages"][0]["findings"][0]["verdict"], "note");
    EXPECT_EQ(text_of("latency.svg"), "<svg/>");
    EXPECT_EQ(text_of("kernel.log"), "amdgpu: a line\n");
    EXPECT_TRUE(std::filesystem::exists(directory + ".tar.gz"));
    // Another user has made the directory, and root writes into it.
    std::ofstream(name + "/precious") << "mine";
    std::filesystem::remove(directory + "/report.txt");
    std::filesystem::create_symlink(name + "/precious", directory + "/report.txt");
    ASSERT_TRUE(write_report(result, directory, Directory::may_exist));
    EXPECT_EQ(text_of("../precious"), "mine");
    EXPECT_FALSE(std::filesystem::is_symlink(directory + "/report.txt"));
    EXPECT_FALSE(write_report(result, "/dev/null/report", Directory::may_exist));
    // With the slash of a shell's completion.
    std::filesystem::remove(directory + ".tar.gz");
    const auto again = write_report(result, directory + "/", Directory::may_exist);
    ASSERT_TRUE(again);
    EXPECT_EQ(*again, *written);
    EXPECT_TRUE(std::filesystem::exists(directory + ".tar.gz"));
    std::filesystem::remove_all(name);
}

class VerifyMachine : public testing::Test {
protected:
    VerifyMachine() {
        std::string name = (std::filesystem::temp_directory_path() / "verify-XXXXXX").string();
        root_ = ::mkdtemp(name.data());
        roots_.system = root_;
        roots_.sysfs = root_ / "sys";
    }
    ~VerifyMachine() override { std::filesystem::remove_all(root_); }

    void write(const char* name, const std::string& text) {
        std::filesystem::create_directories((root_ / name).parent_path());
        std::ofstream(root_ / name) << text;
    }
    Json described() { return machine(roots_, {{7, 128}}, std::chrono::sys_days{2026y / 12 / 1}); }

    std::filesystem::path root_;
    xpreempt::kfd::Roots roots_;
};

constexpr const char* device = "sys/class/drm/renderD128/device/";

TEST_F(VerifyMachine, nothing_says_more_than_is_known) {
    const Json json = described();
    EXPECT_EQ(json["date"], "2026-12-01T00:00:00Z");
    EXPECT_EQ(json["driver"], "of the kernel");
    EXPECT_TRUE(json["rocm"].is_null());
    EXPECT_EQ(json["gpus"][0], Json({{"gpu_id", 7},
                                     {"name", nullptr},
                                     {"compute_partition", nullptr},
                                     {"memory_partition", nullptr}}));
}

TEST_F(VerifyMachine, versions_names_and_partitions_are_told) {
    write("opt/rocm/.info/version", "7.2.0-70\n");
    write("sys/module/amdgpu/version", "6.16.13\n");
    const std::string at = device;
    write((at + "device").c_str(), "0x74a2\n");
    write((at + "revision").c_str(), "0x00\n");
    write((at + "current_compute_partition").c_str(), "SPX\n");
    write((at + "current_memory_partition").c_str(), "NPS1\n");
    write("usr/share/libdrm/amdgpu.ids", "# a comment\n1.0.0\n74A1,\t00,\tAMD Instinct MI300X\n"
                                         "74A2,\t01,\tAnother\n74A2,\t00,\tAMD Instinct MI308X\n");
    Json json = described();
    EXPECT_EQ(json["rocm"], "7.2.0-70");
    EXPECT_EQ(json["driver"], "6.16.13");
    EXPECT_EQ(json["gpus"][0]["name"], "AMD Instinct MI308X");
    EXPECT_EQ(json["gpus"][0]["compute_partition"], "SPX");
    EXPECT_EQ(json["gpus"][0]["memory_partition"], "NPS1");
    write((at + "product_name").c_str(), "AMD Instinct MI308X OAM\n");
    json = described();
    EXPECT_EQ(json["gpus"][0]["name"], "AMD Instinct MI308X OAM");
}

std::vector<std::chrono::nanoseconds> times(const std::vector<int>& ns) {
    return {ns.begin(), ns.end()};
}

TEST(VerifyOverhead, is_the_median_of_pairs) {
    EXPECT_FALSE(cost({}, {}).has_value());
    const auto two = cost(times({110, 330}), times({100, 200}));
    ASSERT_TRUE(two.has_value());
    EXPECT_NEAR(two->median, 37.5, 0.001);
    EXPECT_FALSE(two->interval.has_value()); // with two runs it has the median in one of two cases
}

TEST(VerifyOverhead, interval_leaves_out_what_its_confidence_allows) {
    const auto baseline = times({100, 100, 100, 100, 100, 100});
    const auto six = cost(times({101, 106, 103, 104, 105, 102}), baseline);
    ASSERT_TRUE(six && six->interval); // the median is outside of all six in 1 of 32 cases
    EXPECT_NEAR(six->interval->low, 1, 0.001);
    EXPECT_NEAR(six->interval->high, 6, 0.001);
    const auto five = cost(times({101, 102, 103, 104, 105}), baseline);
    ASSERT_TRUE(five);
    EXPECT_FALSE(five->interval.has_value());
    // One of ten is left out at each end: the median is outside of the others in 22 of 1,024 cases.
    const std::vector<std::chrono::nanoseconds> hundreds(10, std::chrono::nanoseconds(100));
    const auto ten = cost(times({110, 101, 102, 103, 104, 105, 106, 107, 108, 109}), hundreds);
    ASSERT_TRUE(ten && ten->interval);
    EXPECT_NEAR(ten->interval->low, 2, 0.001);
    EXPECT_NEAR(ten->interval->high, 9, 0.001);
}

TEST(VerifyOverhead, table_compares_with_the_baseline_of_each_way) {
    const std::vector<Runs> all = {
        {"bare", times({1000, 1000})}, {"hook", times({1010, 1030})}, {"nothing", {}}};
    EXPECT_EQ(
        table(all),
        (std::vector<std::string>{
            "                                            p50       cost  with 95 % confidence",
            "bare                                       1 us",
            "hook                                    1.03 us     +2.0 %  too few runs",
            "nothing                                    0 ns"}));
    const Json figures = figures_of(all);
    EXPECT_EQ(figures["ways"][1]["compared_with"], "bare");
    EXPECT_NEAR(figures["ways"][1]["cost_percent"].get<double>(), 2, 0.001);
    EXPECT_TRUE(figures["ways"][0]["compared_with"].is_null());
}

} // namespace
