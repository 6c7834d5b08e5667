// SPDX-License-Identifier: MIT
// Stage overhead: what this package costs a program of the user's.
#include "overhead.hpp"

#include "bench.hpp"
#include "child.hpp"
#include "daemon.hpp"
#include "hip_programs.hpp"
#include "operator.hpp"
#include "program.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace verify {

using std::chrono::steady_clock;

namespace {

constexpr unsigned rounds_max = 10; // of all ways: each runs the program whole

struct Way {
    const char* name;
    std::vector<std::string> environment;
    bool daemon, beside; // under an xpreemptd; beside a program that fills the GPU
};

const char* const preload = "LD_PRELOAD=libxpreempt-hook.so";

const std::vector<Way>& ways() {
    static const std::vector<Way> all = {
        {"bare", {}, false, false},
        {"with the hook", {preload}, false, false},
        {"every stream an xqueue", {preload, "XSCHED_AUTO_XQUEUE=ON"}, false, false},
        {"and HPF in the process",
         {preload, "XSCHED_AUTO_XQUEUE=ON", "XSCHED_POLICY=HPF"},
         false,
         false},
        {"under an idle xpreemptd", {}, true, false},
        {"and scheduled by it (GLB)",
         {preload, "XSCHED_AUTO_XQUEUE=ON", "XSCHED_SCHEDULER=GLB"},
         true,
         false},
        {"beside a full GPU, without xpreemptd", {}, false, true},
        {"beside it, under xpreemptd", {}, true, true},
    };
    return all;
}

// The dynamic linker says so where it can't, and starts the program without it. Tried with a
// program that is not static, which tells how it is used and ends with 2.
bool hook_is_here() {
    const auto tried = Program::start({"env", preload, hip_program()});
    if (!tried)
        return false;
    (*tried)->wait();
    return (*tried)->end() == "exit status 2" &&
           (*tried)->output().find("cannot be preloaded") == std::string::npos;
}

class Overhead {
public:
    Overhead(Bench& bench, Checks& checks) : bench_(bench), checks_(checks) {
        for (const Way& way : ways())
            runs_.push_back({way.name, {}});
    }
    // Each way once, in an order that changes. Returns false if something failed.
    bool run_all(bool backwards, bool with_hook);
    void report();

private:
    bool run(std::size_t way);
    bool time(std::size_t way);
    bool beside_low_program(std::size_t way);

    Bench& bench_;
    Checks& checks_;
    std::vector<Runs> runs_;
    std::uint64_t stops_ = 0; // of the low program, under xpreemptd
};

bool Overhead::time(std::size_t way) {
    std::vector<std::string> words{"env"};
    for (const std::string& setting : ways()[way].environment)
        words.push_back(setting);
    for (const std::string& word : bench_.options().program)
        words.push_back(word);
    const auto begin = steady_clock::now();
    const auto program = Program::start(words);
    if (!program)
        return checks_.check(false, "the program starts", program.error());
    (*program)->wait();
    runs_[way].times.push_back(steady_clock::now() - begin);
    return (*program)->succeeded() ||
           checks_.check(false, fmt::format("{}: it ends with exit status 0", ways()[way].name),
                         (*program)->end());
}

bool Overhead::beside_low_program(std::size_t way) {
    Child::Words by;
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

bool Overhead::run_all(bool backwards, bool with_hook) {
    for (std::size_t i = 0; i < ways().size(); ++i) {
        const std::size_t way = backwards ? ways().size() - 1 - i : i;
        if (!with_hook && !ways()[way].environment.empty())
            continue;
        if (!run(way))
            return false;
    }
    return true;
}

void Overhead::report() {
    for (const std::string& line : table(runs_))
        checks_.note(line);
    if (bench_.gpu().is_software())
        checks_.note("On the software GPU these are the times of an emulator.");
    checks_.data = figures_of(runs_);
    checks_.check(true, "each run ends with exit status 0");
    checks_.check(stops_ > 0,
                  fmt::format("xpreemptd stops the low program beside it: {} times", stops_));
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
    const auto first = Program::start(options.program); // fills caches, and does not count
    if (first)
        (*first)->wait();
    Overhead overhead(bench, checks);
    for (unsigned i = 0; i < std::min(options.rounds, rounds_max); ++i)
        if (!overhead.run_all(i % 2 == 1, with_hook))
            return;
    overhead.report();
}

} // namespace verify
