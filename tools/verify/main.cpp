// SPDX-License-Identifier: MIT
// kfd-preempt verify: tries on this machine's GPU what the driver promises, from harmless to harsh.
//
// Touches no queue but its own and those of its child processes, which end with it.
#include "bench.hpp"
#include "child.hpp"
#include "detections.hpp"
#include "interrupt.hpp"
#include "load.hpp"
#include "machine.hpp"
#include "report.hpp"

#include "kfd-preempt/output/names.hpp"
#include "kfd-preempt/verbs/number_checks.hpp"
#include "kfd/sysfs.hpp"
#include "xpreemptd/protocol/standard_streams.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <ctime>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <optional>
#include <unistd.h>

namespace {

using namespace verify;
namespace kfd = xpreempt::kfd;

// As kfd-preempt(8).
constexpr int exit_failed = 1, exit_usage = 2, exit_unsupported = 3;

int fail(std::string_view why, int status) {
    xpreemptd::write_message(fmt::format("kfd-preempt verify: {}\n", cli::printable_message(why)));
    return status;
}

std::string default_output() {
    std::array<char, 256> host{}, day{};
    ::gethostname(host.data(), host.size() - 1);
    const std::time_t now = std::time(nullptr);
    std::tm local{};
    ::localtime_r(&now, &local);
    std::strftime(day.data(), day.size(), "%Y%m%d-%H%M%S", &local);
    return fmt::format("kfd-preempt-verify-{}-{}", host.data(), day.data());
}

// Other processes with a queue on one of the GPUs: "pid 12, 2 queues on GPU 5230".
std::vector<std::string> others_on(const Bench& bench) {
    std::vector<std::string> others;
    const auto pids = kfd::kfd_pids(kfd::Roots{});
    for (std::size_t i = 0; pids && i < pids->size(); ++i) {
        const auto process = kfd::process_queues(kfd::Roots{}, (*pids)[i]);
        if (!process || process->pid == ::getpid())
            continue;
        for (const auto& gpu : bench.gpus()) {
            const auto count = std::ranges::count(process->queues, gpu->id(), &kfd::Queue::gpu_id);
            if (count > 0)
                others.push_back(
                    fmt::format("pid {}, {} queues on GPU {}", process->pid, count, gpu->id()));
        }
    }
    return others;
}

enum class Wish : std::uint8_t { run, skip, end };

Wish ask(const Options& options) {
    if (options.yes)
        return Wish::run;
    fmt::print("  [Enter] run it, s skip it, q end here: ");
    std::fflush(stdout);
    std::array<char, 64> line{};
    if (std::fgets(line.data(), static_cast<int>(line.size()), stdin) == nullptr)
        return Wish::end;
    return line[0] == 's' ? Wish::skip : line[0] == 'q' ? Wish::end : Wish::run;
}

// Each line once, in the order in which they came first. A driver that waits repeats itself.
std::vector<std::pair<std::string, std::size_t>> counted(const std::vector<std::string>& lines) {
    std::vector<std::pair<std::string, std::size_t>> counts;
    std::map<std::string, std::size_t> places;
    for (const std::string& line : lines) {
        const auto [place, is_new] = places.try_emplace(line, counts.size());
        if (is_new)
            counts.emplace_back(line, 0);
        ++counts[place->second].second;
    }
    return counts;
}

// Returns false if the GPU was reset: nothing of this process can run on it any more.
bool look_at_log(KernelLog& log, Result& result, Checks& checks) {
    const std::vector<std::string> lines = log.new_lines();
    const auto says = [&lines](std::string_view words) {
        return std::ranges::any_of(
            lines, [=](const std::string& line) { return line.find(words) != std::string::npos; });
    };
    const bool reset = says("GPU reset begin");
    if (log.readable()) {
        checks.check(!reset, "the GPU was not reset", "see the kernel log");
        checks.check(!says(" is reset"), "no queue was reset", "see the kernel log");
        // Late stops of our own queues do not make the driver disable preemption.
        checks.check(!says("kfd_preempt: an unmap "), "no unmap was late",
                     "unmaps were late or failed: see the kernel log");
    }
    for (const auto& [line, times] : counted(lines))
        checks.note(times == 1 ? "kernel: " + line
                               : fmt::format("kernel, {} times: {}", times, line));
    result.kernel_log.insert(result.kernel_log.end(), lines.begin(), lines.end());
    return !reset;
}

// False: it was the last one.
bool run_stage(const Stage& stage, Bench& bench, KernelLog& log, Result& result) {
    fmt::print("\n{}: {}\n  At worst: {}.\n", stage.name, stage.what, stage.risk);
    const Wish wish = interrupted() ? Wish::end : ask(bench.options());
    if (wish == Wish::end) {
        result.interrupted = true;
        return false;
    }
    Checks checks;
    const ThoroughDriver thorough(!stage.timed);
    if (!thorough.is_as_wanted())
        checks.note(stage.timed ? "preempt_verify is on: the driver looks into the HQDs in each "
                                  "stop that is timed; run as root to have it turned off"
                                : "preempt_verify is off: run as root to have the driver look "
                                  "into the HQDs after each stop");
    bool goes_on = true, ran = false;
    const auto begin = std::chrono::steady_clock::now();
    if (wish == Wish::skip) {
        checks.skip("skipped at the prompt");
    } else {
        stage.run(bench, checks);
        ran = checks.verdict() != Verdict::skip;
        bench.look_for_detections(checks);
        goes_on = look_at_log(log, result, checks);
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    // A GPU that is well afterwards is no pass of a stage that didn't run.
    const Verdict verdict =
        ran || checks.verdict() == Verdict::fail ? checks.verdict() : Verdict::skip;
    result.stages.push_back({stage.name, verdict, checks.findings(), std::move(checks.data),
                             took.count(), thorough.is_as_wanted() != stage.timed});
    result.interrupted = !goes_on || interrupted();
    return goes_on;
}

int run_all(const Options& options) {
    Bench bench(options);
    if (const auto opened = bench.open(); !opened)
        return fail(opened.error(), exit_unsupported);
    if (const auto others = others_on(bench); !others.empty() && !options.beside_others)
        return fail(fmt::format("the GPU is in use: {}; end these processes, or pass "
                                "--beside-others: a reset of the GPU would end their work",
                                fmt::join(others, "; ")),
                    exit_failed);
    KernelLog log;
    Result result;
    std::vector<GpuPlace> places;
    for (const auto& gpu : bench.gpus())
        places.push_back({gpu->id(), gpu->device()->render_minor});
    result.machine = machine(kfd::Roots{}, places, std::chrono::system_clock::now());
    for (const Stage& stage : stages()) {
        const bool named = std::ranges::find(options.stages, stage.name) != options.stages.end();
        if (named || (options.stages.empty() && !stage.by_name_only))
            if (!run_stage(stage, bench, log, result))
                break;
    }

    fmt::print("\n{}\n", result.summary());
    const auto written = options.output.empty()
                             ? write_report(result, default_output(), Directory::is_new)
                             : write_report(result, options.output, Directory::may_exist);
    if (!written)
        return fail(written.error(), exit_failed);
    fmt::print("Written: {}\n", fmt::join(*written, ", "));
    return result.verdict() == Verdict::pass ? 0 : exit_failed;
}

std::vector<std::uint32_t> all_gpus() {
    std::vector<std::uint32_t> ids;
    if (const auto nodes = kfd::gpu_nodes(kfd::Roots{}))
        for (const kfd::Node& node : *nodes)
            ids.push_back(node.gpu_id);
    return ids;
}

std::string check_stage(const std::string& word) {
    std::vector<std::string> names;
    for (const Stage& stage : stages())
        names.emplace_back(stage.name);
    if (std::ranges::find(names, word) != names.end())
        return {};
    return fmt::format("'{}' is not a stage; the stages are {}", word, fmt::join(names, ", "));
}

int list_stages() {
    for (const Stage& stage : stages())
        fmt::print("{}: {}\n  At worst: {}.\n", stage.name, stage.what, stage.risk);
    return 0;
}

std::uint32_t number(const char* text) {
    return static_cast<std::uint32_t>(std::strtoul(text, nullptr, 10));
}

int run_command(int argc, char** argv) {
    const std::string_view mode = argc == 3 ? argv[1] : "";
    if (mode == Child::busy || mode == Child::busy_with_xnack)
        return run_child(number(argv[2]), mode == Child::busy_with_xnack);
    if (mode == Child::low_program)
        return run_low_program(number(argv[2]));
    CLI::App app("Try on this machine's GPU what the driver promises, from harmless to harsh.",
                 "kfd-preempt verify");
    Options options;
    bool list = false, all = false;
    app.add_flag("--list", list, "print the stages and run none");
    app.add_option("--stage", options.stages, "run only these stages")->check(check_stage);
    app.add_option("--gpu", options.gpus,
                   "gpu_id, as kfd-preempt list shows it (default: the first GPU)")
        ->check(cli::number_between(1, UINT32_MAX));
    app.add_flag("--all-gpus", all, "test every GPU");
    app.add_option("--rounds", options.rounds, "number of stops of each kind (default: 50)")
        ->check(cli::number_between(1, 1000000));
    app.add_option_function<unsigned>(
           "--patience", [](const unsigned& seconds) { patience_ms = seconds * 1000; },
           "seconds that a kernel may take to begin, to resume or to end (default: 60)")
        ->check(cli::number_between(1, 3600));
    app.add_flag("-y,--yes", options.yes, "do not ask before each stage");
    app.add_flag("--beside-others", options.beside_others,
                 "run also while other processes have queues on the GPU");
    app.footer("-- PROGRAM ARGUMENT...: the program that stage \"program\" runs");
    // By hand: CLI11 takes -- for the end of --stage, and then the program's options for ours.
    char** const mark = std::find(argv + 1, argv + argc, std::string_view("--"));
    if (mark != argv + argc)
        options.program.assign(mark + 1, argv + argc);
    app.add_option("-o,--output", options.output, "directory for the report, and its archive");
    try {
        app.parse(static_cast<int>(mark - argv), argv);
    } catch (const CLI::Success& wanted) {
        return app.exit(wanted);
    } catch (const CLI::ParseError& error) {
        return fail(error.what(), exit_usage);
    }
    if (list)
        return list_stages();
    if (all)
        options.gpus = all_gpus();
    if (!options.yes && ::isatty(STDIN_FILENO) == 0)
        return fail("standard input is no terminal to ask before each stage: pass --yes",
                    exit_usage);
    ::setvbuf(stdout, nullptr, _IOLBF, 0);
    catch_interrupts();
    ::signal(SIGPIPE, SIG_IGN);
    return run_all(options);
}

} // namespace

int main(int argc, char** argv) {
    xpreemptd::reserve_standard_streams();
    // Errors are values in here; what throws is the standard library, and fmt::print() when a disk
    // is full.
    try {
        const int status = run_command(argc, argv);
        const std::string lost = xpreemptd::write_output("");
        return lost.empty() ? status : fail(lost, status != 0 ? status : exit_failed);
    } catch (const std::exception& error) {
        return fail(error.what(), exit_failed);
    }
}
