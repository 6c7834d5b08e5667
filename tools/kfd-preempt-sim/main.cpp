// SPDX-License-Identifier: MIT
// kfd-preempt-sim: what a scheduling policy would do to jobs on a GPU, in virtual time.
#include "commands.hpp"
#include "complete.hpp"
#include "kfd-preempt/verbs/number_checks.hpp"
#include "policy_check.hpp"
#include "xpreemptd/protocol/printable.hpp"
#include "xpreemptd/protocol/standard_streams.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <optional>
#include <sstream>
#include <string_view>

namespace {

constexpr int bad_usage = 2;

void add_plugin(CLI::App& command, sim::Common& common) {
    command.add_option("--plugin", common.plugin, "shared library with a policy, see POLICY.md")
        ->type_name("FILE");
}

void add_common(CLI::App& command, sim::Common& common) {
    command.add_option("--policy", common.policies,
                       "simulate this policy; may be repeated (default: all)");
    command.add_option("--seed", common.seed, "replaces the seed of the scenario")
        ->check(cli::number_between(0, UINT32_MAX));
    command.add_option(
        "--set", common.settings,
        "replaces a value of the scenario: KEY=VALUE, such as gpu.capacity=1 or job.NAME.rate=5");
    command.add_option("--csv", common.csv, "also write every figure to FILE")->type_name("FILE");
    command.add_option("--svg", common.svg, "also draw the figures of --measure to FILE")
        ->type_name("FILE");
    command.add_option("--measure", common.quantity, "what --svg draws (default: mean)");
    command.add_option("--threads", common.threads, "simulations at a time (default: 2)")
        ->check(cli::number_between(1, 64));
    add_plugin(command, common);
    command.add_flag("--jobs", common.jobs, "print a row for each job, not for each band");
    command.add_flag("--progress", common.progress,
                     "print the progress even if standard error is no terminal");
}

int fail(std::string_view why, int status = 1) {
    xpreemptd::write_message(
        fmt::format("kfd-preempt-sim: {}\n", xpreemptd::printable_message(why)));
    return status;
}

int print(const sim::Answer<std::string>& answer) {
    if (!answer)
        return fail(answer.error());
    const std::string lost = xpreemptd::write_output(*answer);
    return lost.empty() ? 0 : fail(lost);
}

int print_checks(const sim::Answer<sim::Checks>& checks) {
    if (!checks)
        return print(tl::make_unexpected(checks.error()));
    const int status = print(checks->text);
    return checks->passed ? status : 1;
}

// Values of the arguments.
struct Arguments {
    sim::Common common;
    std::string scenario, vary, suite, recording;
    std::vector<std::string> scenarios;
    sim::CheckOptions checked;
};

void add_commands(CLI::App& app, Arguments& arguments) {
    CLI::App* const run_one =
        app.add_subcommand("run", "Simulate one scenario; print a row for each job");
    run_one->add_option("SCENARIO", arguments.scenario, "name shown by `list`, or file")
        ->required();
    add_common(*run_one, arguments.common);

    CLI::App* const compare =
        app.add_subcommand("compare", "Simulate scenarios; print a row for each band");
    compare->add_option("SCENARIO", arguments.scenarios, "names shown by `list`, or files");
    compare->add_option("--suite", arguments.suite, "papers: workloads of published systems")
        ->check(CLI::IsMember({"papers"}));
    add_common(*compare, arguments.common);

    CLI::App* const sweep =
        app.add_subcommand("sweep", "Simulate one scenario with several values of a key");
    sweep->add_option("SCENARIO", arguments.scenario, "name shown by `list`, or file")->required();
    sweep->add_option("--vary", arguments.vary, "KEY=VALUE,VALUE,...")->required();
    add_common(*sweep, arguments.common);

    CLI::App* const replay = app.add_subcommand(
        "replay", "Simulate a recording of `kfd-preempt trace` under other policies");
    replay->add_option("RECORDING", arguments.recording, "file that `kfd-preempt trace` wrote")
        ->required();
    replay->add_flag("--switches", arguments.common.switches,
                     "compare the recorded switches with those simulated under one policy");
    add_common(*replay, arguments.common);

    CLI::App* const list = app.add_subcommand("list", "List scenarios, policies and constants");
    add_plugin(*list, arguments.common);
    CLI::App* const check =
        app.add_subcommand("check", "Check that a plug-in keeps the rules of policies");
    check->add_option("--plugin", arguments.common.plugin, "shared library to check")
        ->type_name("FILE")
        ->required();
    check
        ->add_option("--events", arguments.checked.events,
                     "number of decisions about random jobs (default: 20000)")
        ->check(cli::number_between(1, 100'000'000));
    check
        ->add_option("--seed", arguments.checked.seed, "seed of the first random jobs (default: 1)")
        ->check(cli::number_between(1, UINT32_MAX));
    app.add_subcommand("bench", "Measure the speed of the simulator");
}

int run(int argc, char** argv) {
    CLI::App app("Simulates scheduling policies for jobs on a GPU. All its figures are simulated.");
    app.name("kfd-preempt-sim");
    app.require_subcommand(1);
    Arguments arguments;
    add_commands(app, arguments);
    try {
        app.parse(argc, argv);
    } catch (const CLI::Success& wanted) { // --help
        std::ostringstream text;
        app.exit(wanted, text, text);
        return print(text.str());
    } catch (const CLI::ParseError& error) {
        return fail(fmt::format("{}\nTry `kfd-preempt-sim --help`.", error.what()), bad_usage);
    }
    if (app.got_subcommand("run"))
        return print(sim::run_command(arguments.scenario, arguments.common));
    if (app.got_subcommand("sweep"))
        return print(sim::sweep_command(arguments.scenario, arguments.vary, arguments.common));
    if (app.got_subcommand("replay"))
        return print(sim::replay_command(arguments.recording, arguments.common));
    if (app.got_subcommand("list"))
        return print(sim::list_command(arguments.common));
    if (app.got_subcommand("check"))
        return print_checks(sim::check_command(arguments.common.plugin, arguments.checked));
    if (app.got_subcommand("bench"))
        return print(sim::bench_command());
    std::vector<std::string>& scenarios = arguments.scenarios;
    if (!arguments.suite.empty())
        scenarios.insert(scenarios.begin(), sim::papers().begin(), sim::papers().end());
    if (scenarios.empty())
        return fail("compare: expected SCENARIO or --suite papers", bad_usage);
    return print(sim::compare_command(scenarios, arguments.common));
}

// Not a command for people: the completion of the shells asks it.
int run_complete(int argc, char** argv) {
    CLI::App app;
    Arguments arguments;
    add_commands(app, arguments);
    sim::Grammar grammar;
    for (const CLI::App* command : app.get_subcommands({}))
        for (const CLI::Option* option : command->get_options())
            for (const std::string& name : option->get_lnames())
                grammar[command->get_name()].push_back("--" + name);
    std::string text;
    for (const std::string& word : sim::complete(grammar, {argv + 2, argv + argc}))
        text += word + "\n";
    return print(text);
}

} // namespace

int main(int argc, char** argv) {
    xpreemptd::reserve_standard_streams();
    try {
        if (argc >= 2 && std::string_view(argv[1]) == "complete")
            return run_complete(argc, argv);
        return run(argc, argv);
    } catch (const std::exception& error) {
        return fail(error.what());
    }
}
