// SPDX-License-Identifier: MIT
// Reads the arguments, starts a process for each measurement in turn, and prints the report.
#include "command.hpp"

#include "../figures.hpp"
#include "host_clock.hpp"
#include "kfd-preempt/verbs/number_checks.hpp"
#include "report.hpp"
#include "tables.hpp"
#include "worker.hpp"
#include "xpreemptd/protocol/standard_streams.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <bench_commit.hpp>
#include <cstdio>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace cuda_report {

namespace {

constexpr int bad_usage = 64; // EX_USAGE

struct Arguments {
    bool all = false;
    bool quick = false;
    std::vector<std::string> parts;
    unsigned repetitions = 0; // 0: as many as usual
    std::uint64_t seed = 1;
    double limit_s = 0;               // 0: none
    std::string output;               // directory
    std::string report;               // directory
    std::vector<std::string> systems; // none: all
    std::string worker;
};

int fail(const std::string& what, int status) {
    xpreemptd::write_message(fmt::format("kfd-preempt-bench: {}\n", what));
    return status;
}

std::vector<std::string> part_names() {
    std::vector<std::string> names;
    for (const cuda::Part& part : cuda::all_parts())
        names.emplace_back(part.name);
    return names;
}

std::vector<std::string> system_names() {
    std::vector<std::string> names;
    for (const cuda::System& system : cuda::all_systems())
        names.emplace_back(system.name);
    return names;
}

void declare(CLI::App& app, Arguments& arguments) {
    app.add_flag("--all", arguments.all, "Measure every part");
    app.add_option("--part", arguments.parts,
                   fmt::format("Measure these parts: {}", fmt::join(part_names(), ",")))
        ->delimiter(',')
        ->check(CLI::IsMember(part_names()));
    app.add_option("--system", arguments.systems,
                   fmt::format("Measure only these systems: {}", fmt::join(system_names(), ",")))
        ->delimiter(',')
        ->check(CLI::IsMember(system_names()));
    app.add_flag("--quick", arguments.quick, "Measure little: checks that everything works");
    app.add_option("--repetitions", arguments.repetitions,
                   "Processes for each part and system (5; with --quick 2)")
        ->check(cli::number_between(1, 1000));
    app.add_option("--seed", arguments.seed, "Seed of random moments and requests (1)")
        ->check(cli::number_between(0, UINT64_MAX));
    app.add_option("--limit", arguments.limit_s, "Start no process after so many seconds")
        ->check(cli::seconds_between(1e-9, 86400 * 365.0));
    app.add_option("--output", arguments.output,
                   "Directory for report.md, samples-PART.csv and PART.svg");
    app.add_option("--report", arguments.report,
                   "Measure nothing: print the report of the samples-*.csv in this directory");
    // For the processes that this program starts, each with one system.
    app.add_option("--worker", arguments.worker)->group("");
}

std::vector<std::string> chosen_systems(const Arguments& arguments, const std::string& part) {
    std::vector<std::string> systems = systems_of(part);
    if (!arguments.systems.empty())
        std::erase_if(systems, [&](const std::string& system) {
            return std::ranges::find(arguments.systems, system) == arguments.systems.end();
        });
    return systems;
}

// A repetition that begins with another system than the last one.
std::vector<std::string> turn(std::vector<std::string> systems, unsigned repetition) {
    if (!systems.empty())
        std::ranges::rotate(systems, systems.begin() +
                                         static_cast<std::ptrdiff_t>(repetition % systems.size()));
    return systems;
}

struct Campaign {
    const Arguments& arguments;
    unsigned repetitions;
    Results results;
    RunFacts facts;
    std::vector<std::string> failures{};
    double begin_us = cuda::now_us();
    unsigned started = 0, left_out = 0;
};

void measure(Campaign& campaign, const std::string& part, const std::string& system,
             unsigned repetition) {
    const Arguments& arguments = campaign.arguments;
    const double elapsed_s = (cuda::now_us() - campaign.begin_us) * 1e-6;
    if (arguments.limit_s > 0 && elapsed_s > arguments.limit_s) {
        ++campaign.left_out;
        return;
    }
    ++campaign.started;
    const Work work{part, system, arguments.seed * 1000 + repetition, arguments.quick};
    bool readable = true;
    const int status = start_work(work, [&](const std::string& line) {
        readable = campaign.results.add_line(part, system, repetition, line) && readable;
    });
    if (status != 0 || !readable)
        campaign.failures.push_back(fmt::format(
            "part {}, {}, repetition {}: {}", part, system, repetition,
            status != 0 ? fmt::format("exit status {}", status) : "unreadable samples"));
    const double end_s = (cuda::now_us() - campaign.begin_us) * 1e-6;
    xpreemptd::write_message(fmt::format("{:7.1f} s  {} {} repetition {} took {:.1f} s\n", end_s,
                                         part, system, repetition, end_s - elapsed_s));
}

// Returns an exit status.
int read_machine(const Arguments& arguments, RunFacts& facts) {
    std::vector<std::string> lines;
    const int status = start_work({"machine", "direct", 1, arguments.quick},
                                  [&](const std::string& line) { lines.push_back(line); });
    if (status != 0)
        return status;
    if (lines.size() != 2)
        return 1;
    facts.machine = lines[0] + "; " + bench::machine_line();
    facts.fake = lines[1] == "fake";
    return 0;
}

int run(const Arguments& arguments, const std::string& command) {
    std::vector<std::string> parts = arguments.all ? part_names() : arguments.parts;
    const unsigned repetitions =
        arguments.repetitions != 0 ? arguments.repetitions : (arguments.quick ? 2 : 5);
    Campaign campaign{arguments,
                      repetitions,
                      {},
                      {"", bench::commit, std::to_string(arguments.seed), command, false}};
    if (const int status = read_machine(arguments, campaign.facts); status != 0)
        return status;
    if (arguments.all && !campaign.facts.fake)
        std::erase(parts, "calls"); // only the fake driver counts
    for (const std::string& part : parts)
        for (unsigned repetition = 1; repetition <= repetitions; ++repetition)
            for (const std::string& system : turn(chosen_systems(arguments, part), repetition))
                measure(campaign, part, system, repetition);

    // First the files: on a full disk fmt::print() throws, and the measurements took hours.
    if (!arguments.output.empty())
        if (const std::string error =
                write_files(arguments.output, campaign.results, campaign.facts);
            !error.empty())
            return fail(error, 1);
    fmt::print("{}", report_of(campaign.results, campaign.facts));
    if (campaign.left_out > 0)
        fmt::print("\nThe limit of {:g} s left out {} of {} processes.\n", arguments.limit_s,
                   campaign.left_out, campaign.left_out + campaign.started);
    for (const std::string& failure : campaign.failures)
        (void)fail(failure, 1);
    return campaign.failures.empty() ? 0 : 1;
}

int print_report(const Arguments& arguments) {
    Results results;
    RunFacts facts;
    if (const std::string error = read_files(arguments.report, results, facts); !error.empty())
        return fail(error, 1);
    fmt::print("{}", report_of(results, facts));
    if (!arguments.output.empty())
        if (const std::string error = write_files(arguments.output, results, facts); !error.empty())
            return fail(error, 1);
    return 0;
}

} // namespace

int run_command(int argc, char** argv) {
    CLI::App app("Measures libxpreempt on an NVIDIA GPU, over a stand-in for HIP. "
                 "KFD_PREEMPT_BENCH_CUDA names the driver library (libcuda.so.1).",
                 "kfd-preempt-bench cuda");
    Arguments arguments;
    declare(app, arguments);
    try {
        app.parse(argc, argv);
    } catch (const CLI::Success& wanted) { // --help
        return app.exit(wanted);
    } catch (const CLI::ParseError& error) {
        return fail(fmt::format("cuda: {}\nTry `kfd-preempt-bench cuda --help`.", error.what()),
                    bad_usage);
    }
    if (!arguments.worker.empty())
        return do_work({arguments.worker,
                        arguments.systems.empty() ? "" : arguments.systems.front(), arguments.seed,
                        arguments.quick});
    if (!arguments.report.empty())
        return print_report(arguments);
    if (!arguments.all && arguments.parts.empty())
        return fail("nothing to measure: give --all, or --part with some of " +
                        fmt::format("{}", fmt::join(part_names(), ",")),
                    bad_usage);
    std::string command = "kfd-preempt-bench";
    for (int i = 0; i < argc; ++i)
        command += std::string(" ") + argv[i];
    return run(arguments, command);
}

} // namespace cuda_report
