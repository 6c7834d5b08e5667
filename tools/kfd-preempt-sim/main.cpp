// SPDX-License-Identifier: MIT
// kfd-preempt-sim: what a scheduling policy would do to jobs on a GPU, in virtual time.
#include "commands.hpp"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <optional>

namespace {

constexpr int bad_usage = 2;

void add_common(CLI::App& command, sim::Common& common) {
    command.add_option("--policy", common.policies, "a policy; again for more (all)");
    command.add_option("--seed", common.seed, "instead of the scenario's")
        ->check(CLI::Range(0U, UINT32_MAX));
    command.add_option("--set", common.settings,
                       "KEY=VALUE instead of the scenario's, as gpu.capacity=1 or job.NAME.rate=5");
    command.add_option("--csv", common.csv, "also write every figure to FILE")->type_name("FILE");
    command.add_option("--svg", common.svg, "also draw a measure into FILE")->type_name("FILE");
    command.add_option("--measure", common.quantity, "for --svg (mean)");
    command.add_option("--threads", common.threads, "runs at a time (2)")->check(CLI::Range(1, 64));
    command.add_flag("--jobs", common.jobs, "a row for each job, not for each band");
    command.add_flag("--progress", common.progress, "also where standard error is no terminal");
}

int print(const sim::Answer<std::string>& answer) {
    if (!answer) {
        std::fprintf(stderr, "kfd-preempt-sim: %s\n", answer.error().c_str());
        return 1;
    }
    if (std::fwrite(answer->data(), 1, answer->size(), stdout) == answer->size() &&
        std::fflush(stdout) == 0)
        return 0;
    std::fprintf(stderr, "kfd-preempt-sim: standard output: not written\n");
    return 1;
}

int run(int argc, char** argv) {
    CLI::App app("Simulates scheduling policies for jobs on a GPU. All its figures are simulated.");
    app.name("kfd-preempt-sim");
    app.require_subcommand(1);
    sim::Common common;
    std::string scenario, vary, suite, recording;
    std::vector<std::string> scenarios;

    CLI::App* const run_one = app.add_subcommand("run", "one scenario, a row for each job");
    run_one->add_option("SCENARIO", scenario, "a name of `list`, or a file")->required();
    add_common(*run_one, common);

    CLI::App* const compare = app.add_subcommand("compare", "scenarios, a row for each band");
    compare->add_option("SCENARIO", scenarios, "names of `list`, or files");
    compare->add_option("--suite", suite, "papers: workloads of published systems")
        ->check(CLI::IsMember({"papers"}));
    add_common(*compare, common);

    CLI::App* const sweep =
        app.add_subcommand("sweep", "one scenario with several values of a key");
    sweep->add_option("SCENARIO", scenario, "a name of `list`, or a file")->required();
    sweep->add_option("--vary", vary, "KEY=VALUE,VALUE,...")->required();
    add_common(*sweep, common);

    CLI::App* const replay =
        app.add_subcommand("replay", "a recording of `kfd-preempt trace`, under other policies");
    replay->add_option("RECORDING", recording, "the file")->required();
    replay->add_flag("--switches", common.switches,
                     "the switches of the recording beside those under one policy");
    add_common(*replay, common);

    CLI::App* const list = app.add_subcommand("list", "scenarios, policies, constants");
    CLI::App* const bench = app.add_subcommand("bench", "the speed of the simulator");
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? 0 : bad_usage;
    }
    if (run_one->parsed())
        return print(sim::run_command(scenario, common));
    if (sweep->parsed())
        return print(sim::sweep_command(scenario, vary, common));
    if (replay->parsed())
        return print(sim::replay_command(recording, common));
    if (list->parsed())
        return print(sim::list_command());
    if (bench->parsed())
        return print(sim::bench_command());
    if (compare->parsed() && !suite.empty())
        scenarios.insert(scenarios.begin(), sim::papers().begin(), sim::papers().end());
    if (scenarios.empty()) {
        std::fprintf(stderr, "kfd-preempt-sim: compare: expected SCENARIO or --suite papers\n");
        return bad_usage;
    }
    return print(sim::compare_command(scenarios, common));
}

} // namespace

int main(int argc, char** argv) {
    try {
        return run(argc, argv);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "kfd-preempt-sim: %s\n", error.what());
        return 1;
    }
}
