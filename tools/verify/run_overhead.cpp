// SPDX-License-Identifier: MIT
// Stage overhead: what this package costs a program of the user's.
#include "overhead.hpp"

#include "alone.hpp"
#include "bench.hpp"
#include "child.hpp"
#include "daemon.hpp"
#include "hip_programs.hpp"
#include "interrupt.hpp"
#include "operator.hpp"
#include "program.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <unistd.h>

namespace verify {

namespace {

constexpr unsigned rounds_max = 10; // of all ways: each runs the program whole

struct Way {
    const char* name;
    Words xsched; // variables of XSched
    bool hook;
    bool daemon; // under an xpreemptd
    bool beside; // beside a program that fills the GPU
};

const std::vector<Way>& ways() {
    static const std::vector<Way> all = {
        {"bare", {}, false, false, false},
        {"with the hook", {}, true, false, false},
        {"every stream an xqueue", {"XSCHED_AUTO_XQUEUE=ON"}, true, false, false},
        {"and HPF in the process",
         {"XSCHED_AUTO_XQUEUE=ON", "XSCHED_POLICY=HPF"},
         true,
         false,
         false},
        {"under an idle xpreemptd", {}, false, true, false},
        {"and scheduled by it (GLB)",
         {"XSCHED_AUTO_XQUEUE=ON", "XSCHED_SCHEDULER=GLB"},
         true,
         true,
         false},
        {"beside a full GPU, without xpreemptd", {}, false, false, true},
        {"beside it, under xpreemptd", {}, false, true, true},
    };
    return all;
}

// The user's environment without XSched's variables, which are the way's alone; what the user
// preloads stays, behind the hook.
Words environment_of(const Way& way) {
    constexpr std::string_view preload = "LD_PRELOAD=";
    Words lines = way.xsched;
    std::string preloaded = way.hook ? "libxpreempt-hook.so" : "";
    for (char** line = environ; *line != nullptr; ++line) {
        const std::string_view text(*line);
        if (text.starts_with(preload))
            preloaded.append(preloaded.empty() ? "" : ":").append(text.substr(preload.size()));
        else if (!text.starts_with("XSCHED_"))
            lines.emplace_back(text);
    }
    if (!preloaded.empty())
        lines.push_back(std::string(preload) + preloaded);
    return lines;
}

// The dynamic linker says so where it can't, and starts the program without it. Tried with a
// program that is not static, which tells how it is used and ends with 2.
bool hook_is_here() {
    const Words environment = environment_of(ways()[1]);
    const auto tried = Program::start({hip_program()}, &environment);
    if (!tried)
        return false;
    (*tried)->wait();
    return (*tried)->end() == "exit status 2" &&
           (*tried)->output().find("cannot be preloaded") == std::string::npos;
}

class Overhead {
public:
    // patience: that a run may take.
    Overhead(Bench& bench, Checks& checks, std::chrono::seconds patience)
        : bench_(bench), checks_(checks), patience_(patience) {
        for (const Way& way : ways())
            runs_.push_back({way.name, {}});
    }
    // Each way once, in an order that changes. Returns false if something failed.
    bool run_all(bool backwards, bool with_hook, bool with_daemon);
    void report(bool whole);

private:
    bool run(std::size_t way);
    bool time(std::size_t way);
    bool beside_low_program(std::size_t way);

    Bench& bench_;
    Checks& checks_;
    std::chrono::seconds patience_;
    std::vector<Runs> runs_;
    std::uint64_t stops_ = 0; // of the low program, under xpreemptd
};

bool Overhead::time(std::size_t way) {
    const Words environment = environment_of(ways()[way]);
    const auto program = Program::start(bench_.options().program, &environment);
    if (!program)
        return checks_.check(false, "the program starts", program.error());
    const auto took = (*program)->wait_for(patience_);
    if (took)
        runs_[way].times.push_back(*took);
    if (took && (*program)->succeeded())
        return true;
    checks_.check(false, fmt::format("{}: it ends with exit status 0", ways()[way].name),
                  took ? (*program)->end()
                       : fmt::format("it does not end within {} s, a hundred times its time alone "
                                     "and the patience; it is killed now",
                                     patience_.count()));
    note_output(**program, checks_);
    return false;
}

bool Overhead::beside_low_program(std::size_t way) {
    Words by;
    if (ways()[way].daemon)
        by = {command_name(), "run", "--band", "idle", "--"};
    const auto low = Child::start(bench_.gpu().id(), Child::low_program, by);
    if (!low)
        return checks_.check(false, "a low program starts", low.error());
    (*low)->ask("launch");
    const bool timed = time(way);
    Operator by_status;
    kfd_ioctl_preempt_status_args status{};
    if (preempt_status(by_status.fd(), (*low)->pid(), (*low)->queue_id(), &status) == 0 &&
        ways()[way].daemon)
        stops_ += status.preempts;
    (*low)->ask("drain");
    return timed;
}

bool Overhead::run(std::size_t way) {
    std::unique_ptr<Daemon> daemon;
    if (ways()[way].daemon) {
        auto started = Daemon::start();
        if (!started)
            return checks_.check(false, "xpreemptd starts", started.error());
        daemon = std::move(*started);
    }
    return ways()[way].beside ? beside_low_program(way) : time(way);
}

bool Overhead::run_all(bool backwards, bool with_hook, bool with_daemon) {
    for (std::size_t i = 0; i < ways().size(); ++i) {
        const std::size_t way = backwards ? ways().size() - 1 - i : i;
        if ((!with_hook && ways()[way].hook) || (!with_daemon && ways()[way].daemon))
            continue;
        if (interrupted() || !run(way))
            return false;
    }
    return true;
}

void Overhead::report(bool whole) {
    for (const std::string& line : table(runs_))
        checks_.note(line);
    if (bench_.gpu().is_software())
        checks_.note("On the software GPU these are the times of an emulator.");
    checks_.data = figures_of(runs_);
    if (!whole)
        return;
    checks_.check(true, "each run ends with exit status 0");
    if (!runs_.back().times.empty())
        checks_.check(stops_ > 0, fmt::format("xpreemptd stops the low program beside it, on GPU "
                                              "{}: {} times",
                                              bench_.gpu().id(), stops_));
}

} // namespace

void run_overhead(Bench& bench, Checks& checks) {
    const Options& options = bench.options();
    if (options.program.empty())
        return checks.skip("no program was given: --stage overhead -- PROGRAM");
    if (!policy_of_daemon().empty())
        return checks.skip("xpreemptd runs, which this stage starts and ends itself: systemctl "
                           "stop xpreemptd");
    const bool with_hook = hook_is_here();
    if (!with_hook)
        checks.note("libxpreempt-hook.so is not found: no rows of it");
    const bool with_daemon = succeeds({"xpreemptd", "--version"});
    if (!with_daemon)
        checks.note("xpreemptd is not found: no rows of it");
    // Fills caches, too.
    const auto alone = run_alone(options.program, checks);
    if (!alone)
        return;
    const auto patience = std::chrono::ceil<std::chrono::seconds>(
        100 * *alone + std::chrono::milliseconds(patience_ms));
    Overhead overhead(bench, checks, patience);
    bool whole = true;
    for (unsigned i = 0; whole && i < std::min(options.rounds, rounds_max); ++i)
        whole = overhead.run_all(i % 2 == 1, with_hook, with_daemon);
    overhead.report(whole);
    if (interrupted())
        checks.skip("interrupted");
}

} // namespace verify
