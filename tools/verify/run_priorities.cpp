// SPDX-License-Identifier: MIT
// Stage priorities: short requests beside a program that fills the GPU, in each way of sharing it.
#include "priorities.hpp"

#include "bench.hpp"
#include "daemon.hpp"
#include "hip_programs.hpp"
#include "program.hpp"
#include "programs.hpp"

#include "kfd-preempt/output/latency.hpp"
#include "kfd-preempt/output/names.hpp"

#include <fmt/format.h>
#include <thread>

namespace verify {

using std::chrono::steady_clock;

namespace {

class Experiment {
public:
    Experiment(Programs& programs, Measured& measured) : programs_(programs), measured_(measured) {}
    // mode: its way of sharing, its load, and the iterations of a request. idle: for how long the
    // high program has no request between two, in ns, on the software GPU in iterations of the low
    // program; 0: for as long as one kernel of that runs.
    Done measure(Mode mode, unsigned requests, std::uint64_t idle = 0);

private:
    Done wait(std::uint64_t idle);
    Done serve(Mode& mode);
    Done serve_all(Mode& mode, unsigned requests, std::uint64_t idle);
    Done await_daemon();

    Programs& programs_;
    Measured& measured_;
};

Done Experiment::wait(std::uint64_t idle) {
    if (!measured_.counts && idle > 0) {
        std::this_thread::sleep_for(std::chrono::nanoseconds(idle));
        return {};
    }
    const std::uint64_t wanted = idle > 0 ? idle : measured_.low_kernel;
    const auto deadline = steady_clock::now() + std::chrono::milliseconds(patience_ms);
    const auto from = programs_.tell_low("counts");
    auto now = from;
    while (from && now && now->iterations - from->iterations < wanted) {
        if (steady_clock::now() > deadline)
            return tl::make_unexpected(
                fmt::format("the low program does not run: no kernel in {} s", patience_ms / 1000));
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        now = programs_.tell_low("counts");
    }
    return from ? now.map([](const LowCounts&) {}) : tl::make_unexpected(from.error());
}

Done Experiment::serve(Mode& mode) {
    const auto arrived = programs_.tell_low("counts");
    if (!arrived)
        return tl::make_unexpected(arrived.error());
    const auto arrival = steady_clock::now();
    if (const Done held = programs_.hold_back(mode.sharing); !held)
        return held;
    const std::chrono::nanoseconds held_back = steady_clock::now() - arrival;
    const auto prepared = programs_.tell_low("counts");
    const auto served = programs_.serve();
    const auto completed = programs_.tell_low("counts");
    if (!prepared || !served || !completed)
        return tl::make_unexpected(!served     ? served.error()
                                   : !prepared ? prepared.error()
                                               : completed.error());
    mode.requests.push_back(
        {*arrived, *prepared, *completed, static_cast<std::uint64_t>(held_back.count()) + *served});
    return programs_.release(mode.sharing);
}

// The daemon has to find both programs first: requests that don't count, until it stops the low
// one.
Done Experiment::await_daemon() {
    const auto deadline = steady_clock::now() + std::chrono::milliseconds(patience_ms);
    Mode not_counted{};
    not_counted.sharing = Sharing::by_daemon;
    Done done = programs_.tell_low("launch").map([](const LowCounts&) {});
    for (auto stops = programs_.stops(); done; stops = programs_.stops()) {
        if (!stops)
            return tl::make_unexpected(stops.error());
        if (*stops > 0)
            break;
        if (steady_clock::now() > deadline)
            return tl::make_unexpected(
                fmt::format("xpreemptd does not stop the low program for requests in {} s",
                            patience_ms / 1000));
        done = wait(0).and_then([&] { return serve(not_counted); });
    }
    done = done.and_then([&] { return programs_.tell_low("drain").map([](const LowCounts&) {}); });
    programs_.low_times(); // of before
    return done;
}

Done Experiment::serve_all(Mode& mode, unsigned requests, std::uint64_t idle) {
    Done done;
    if (mode.sharing != Sharing::high_alone)
        done = programs_.tell_low("launch").map([](const LowCounts&) {});
    for (unsigned i = 0; done && i < requests; ++i) {
        if (mode.sharing != Sharing::high_alone)
            done = wait(idle);
        if (done && mode.sharing != Sharing::low_alone)
            done = serve(mode);
    }
    return done;
}

Done Experiment::measure(Mode mode, unsigned requests, std::uint64_t idle) {
    Done done = programs_.begin(mode.sharing);
    if (done && mode.sharing == Sharing::by_daemon)
        done = await_daemon();
    if (!done)
        return done;
    const auto counts = programs_.tell_low("counts");
    const auto stops = programs_.stops();
    const auto begin = steady_clock::now();
    if (!counts || !stops)
        return tl::make_unexpected(counts ? stops.error() : counts.error());
    mode.begin = *counts;
    if (done = serve_all(mode, requests, idle); !done)
        return done;
    const auto last = programs_.tell_low("drain");
    const auto all_stops = programs_.stops();
    if (!last || !all_stops)
        return tl::make_unexpected(last ? all_stops.error() : last.error());
    mode.end = *last;
    mode.stops = *all_stops - *stops;
    mode.ns =
        static_cast<std::uint64_t>(std::chrono::nanoseconds(steady_clock::now() - begin).count());
    mode.low_ns = programs_.low_times();
    measured_.modes.push_back(std::move(mode));
    return programs_.end(measured_.modes.back().sharing);
}

Mode usual(Sharing sharing, std::uint64_t high_request) {
    Mode mode{};
    mode.sharing = sharing;
    mode.high_request = high_request;
    return mode;
}

// Says why something could not be measured: a skip if it is not allowed to be.
bool failed(const Done& done, Checks& checks) {
    if (done)
        return false;
    if (done.error().find("EPERM") != std::string::npos)
        checks.skip("not allowed to stop queues of another process: run as root (CAP_SYS_PTRACE)");
    else
        checks.check(false, "both programs run", done.error());
    return true;
}

Done measure_each(Experiment& experiment, std::initializer_list<Sharing> ways,
                  std::uint64_t high_request, unsigned requests) {
    Done done;
    for (const Sharing sharing : ways)
        if (done)
            done = experiment.measure(usual(sharing, high_request), requests);
    return done;
}

// As it is, and with the low program stopped.
Done measure_load(Experiment& experiment, const std::string& load, std::uint64_t high_request,
                  unsigned requests, std::uint64_t idle) {
    Done done;
    for (const Sharing sharing : {Sharing::together, Sharing::interrupt}) {
        Mode mode = usual(sharing, high_request);
        mode.load = load;
        if (done)
            done = experiment.measure(std::move(mode), requests, idle);
    }
    return done;
}

std::uint64_t median(const Measured& measured, Sharing sharing) {
    const Mode* const mode = measured.find(sharing);
    const auto figures = cli::percentiles(mode == nullptr ? std::vector<std::uint64_t>{}
                                                          : high_latencies(measured, *mode));
    return figures ? figures->p50 : 0;
}

// Requests as often as would keep the GPU busy for that share of the time if nothing else ran.
Done measure_busy_servers(Experiment& experiment, const Measured& measured, unsigned requests) {
    const std::uint64_t alone = median(measured, Sharing::high_alone);
    Done done;
    for (const unsigned busy : {10U, 50U, 90U}) {
        const std::uint64_t idle = std::max(alone * (100 - busy) / busy, std::uint64_t{1});
        if (done)
            done = measure_load(experiment, fmt::format("{} % busy", busy),
                                measured.modes.front().high_request, requests, idle);
    }
    return done;
}

// On a card, in ns.
constexpr std::array<std::uint64_t, 4> lengths = {100'000, 1'000'000, 10'000'000, 50'000'000};
// Iterations a wave on the software GPU, which takes seconds for more.
constexpr std::uint32_t long_kernel = 10;
constexpr unsigned calibrations = 5; // requests

// How long a kernel of the requests runs, in ns: measured, because a launch takes its time too.
tl::expected<std::uint64_t, std::string> kernel_alone(Programs& programs) {
    Measured alone;
    return Experiment(programs, alone)
        .measure(usual(Sharing::high_alone, programs.iterations_of_request()), calibrations)
        .map([&] { return median(alone, Sharing::high_alone) / spin::kernels_of_request; });
}

Done measure_long_kernels(KfdPrograms& programs, Experiment& experiment, const Measured& measured,
                          unsigned requests) {
    const spin::Shape usual_shape = programs.shape();
    const auto measure = [&](const std::string& load) {
        return measure_load(experiment, load, programs.iterations_of_request(), requests, 0);
    };
    if (measured.counts)
        return programs
            .set_shape(
                {usual_shape.workgroups, long_kernel * usual_shape.iterations, usual_shape.rounds})
            .and_then([&] { return measure(fmt::format("kernels x {}", long_kernel)); });
    const std::uint64_t took = median(measured, Sharing::high_alone) / spin::kernels_of_request;
    for (const std::uint64_t length : lengths) {
        const Done done =
            programs.set_shape(spin::scaled(usual_shape, took, length))
                .and_then([&] { return kernel_alone(programs); })
                .and_then([&](std::uint64_t ns) {
                    return measure(fmt::format("kernels of {}", cli::duration_text(ns)));
                });
        if (!done)
            return done;
    }
    return {};
}

// Returns false if there are no programs, which the checks then say.
template <class Created> bool started(const Created& programs, const char* what, Checks& checks) {
    return checks.check(programs.has_value(), what, programs ? "" : programs.error());
}

// Returns false if something failed.
bool measure_kfd(Bench& bench, Checks& checks, Measured& measured) {
    const auto programs = KfdPrograms::create(bench.gpu());
    if (!started(programs, "a high program starts, and a low program", checks))
        return false;
    measured.low_kernel = (*programs)->iterations_of_low_kernel();
    const unsigned requests = bench.options().rounds;
    Experiment experiment(**programs, measured);
    Done done = measure_each(experiment,
                             {Sharing::high_alone, Sharing::low_alone, Sharing::together,
                              Sharing::block, Sharing::drain, Sharing::interrupt},
                             (*programs)->iterations_of_request(), requests);
    if (done)
        done = measure_busy_servers(experiment, measured, requests);
    if (done)
        done = measure_long_kernels(**programs, experiment, measured, requests);
    return !failed(done, checks);
}

// Returns false if something failed. Without HIP there is nothing to measure.
bool measure_hip(Bench& bench, Checks& checks, Measured& measured) {
    const auto programs = HipPrograms::create(bench.gpu());
    if (!programs && programs.error().starts_with(no_hip)) {
        checks.note("there is no table of HIP: " + programs.error());
        return true;
    }
    if (!started(programs, "two streams of HIP begin", checks))
        return false;
    measured.hip = (*programs)->version();
    measured.low_kernel = (*programs)->iterations_of_low_kernel();
    const std::uint64_t request = (*programs)->iterations_of_request();
    const unsigned requests = bench.options().rounds;
    Experiment experiment(**programs, measured);
    Done done =
        measure_each(experiment, {Sharing::high_alone, Sharing::low_alone, Sharing::together},
                     request, requests);
    if (done && (*programs)->has_levels())
        done = measure_each(experiment,
                            {Sharing::block, Sharing::drain, Sharing::interrupt, Sharing::by_hpf},
                            request, requests);
    else if (done)
        checks.note("HIP: libxpreempt.so.0 is not found: no levels, no HPF");
    return !failed(done, checks);
}

// Returns false if something failed.
template <class Kind>
bool measure_under_daemon(Bench& bench, Checks& checks, Measured& measured, const Words& by) {
    const auto programs = Kind::create(bench.gpu(), by);
    if (!started(programs, "a high program starts, and a low program in the band idle", checks))
        return false;
    Experiment experiment(**programs, measured);
    return !failed(
        experiment.measure(usual(Sharing::by_daemon, (*programs)->iterations_of_request()),
                           bench.options().rounds),
        checks);
}

// The row of xpreemptd. Returns false if something failed; without a daemon of the policy BAND,
// which alone knows bands, there is none to measure.
bool measure_daemon(Bench& bench, Checks& checks, Measured& kfd, Measured& hip) {
    std::unique_ptr<Daemon> own;
    if (policy_of_daemon().empty()) {
        auto started = Daemon::start();
        if (!started) {
            checks.note("there is no row of xpreemptd: " + started.error());
            return true;
        }
        own = std::move(*started);
    }
    const std::string policy = policy_of_daemon();
    if (policy != "BAND") {
        checks.note(fmt::format("there is no row of xpreemptd: its policy is {}", policy));
        return true;
    }
    kfd.policy = hip.policy = policy;
    const Words by{command_name(), "run", "--band", "idle", "--"};
    return measure_under_daemon<KfdPrograms>(bench, checks, kfd, by) &&
           (hip.modes.empty() || measure_under_daemon<HipPrograms>(bench, checks, hip, by));
}

void print(const Measured& measured, Checks& checks) {
    if (measured.modes.empty())
        return;
    if (!measured.hip.empty())
        checks.note(fmt::format("HIP {}, two streams of a process:", measured.hip));
    for (const std::string& line : table(measured))
        checks.note(line);
}

} // namespace

void run_priorities(Bench& bench, Checks& checks) {
    Measured kfd, hip;
    kfd.counts = hip.counts = bench.gpu().is_software();
    const bool whole = measure_kfd(bench, checks, kfd) && measure_hip(bench, checks, hip) &&
                       measure_daemon(bench, checks, kfd, hip);
    // Figures that were measured before something failed count, too.
    print(kfd, checks);
    print(hip, checks);
    checks.data = figures_of(kfd);
    checks.data["svg"] = picture(hip.modes.empty() ? kfd : hip);
    if (!hip.modes.empty())
        checks.data["hip"] = figures_of(hip);
    if (!whole)
        return;
    judge(kfd, checks);
    if (!hip.modes.empty())
        judge(hip, checks);
}

} // namespace verify
