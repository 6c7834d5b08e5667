// SPDX-License-Identifier: MIT
// Stage priorities: short requests beside a program that fills the GPU, in each way of sharing it.
#include "priorities.hpp"

#include "bench.hpp"
#include "child.hpp"
#include "load.hpp"
#include "operator.hpp"
#include "program.hpp"

#include <fmt/format.h>
#include <sstream>
#include <thread>

namespace verify {

using std::chrono::steady_clock;

namespace {

constexpr unsigned kernels_of_request = 4;

std::uint64_t ns_of(steady_clock::duration time) {
    return static_cast<std::uint64_t>(std::chrono::nanoseconds(time).count());
}

// The high program is this process, the low one a child, which it holds back as xpreemptd or
// libxpreempt would.
class Experiment {
public:
    // by: a command that becomes the low program.
    static tl::expected<std::unique_ptr<Experiment>, std::string>
    create(Gpu& gpu, Measured& measured, const Child::Words& by = {});

    // Returns false if something failed, which failure() then says.
    bool measure(Sharing sharing, unsigned requests);
    [[nodiscard]] const std::string& failure() const { return failure_; }

private:
    explicit Experiment(Measured& measured) : measured_(measured) {}
    bool fails(const std::string& why) {
        failure_ = why;
        return false;
    }
    bool tell_low(const char* what, LowCounts& counts);
    bool tell_low(const char* what) {
        LowCounts ignored;
        return tell_low(what, ignored);
    }
    bool wait_for_low_kernel();
    bool serve(Sharing sharing, Mode& mode);
    bool hold_back(Sharing sharing);
    bool release(Sharing sharing);
    bool switch_low(Entries entries);
    bool run_request();
    bool count_stops(std::uint64_t& stops);
    bool await_daemon();

    Measured& measured_;
    std::unique_ptr<Load> high_;
    std::unique_ptr<Child> low_;
    Operator by_;
    std::string failure_;
};

tl::expected<std::unique_ptr<Experiment>, std::string>
Experiment::create(Gpu& gpu, Measured& measured, const Child::Words& by) {
    std::unique_ptr<Experiment> made(new Experiment(measured));
    const auto low_shape = Load::low_shape(gpu), high_shape = Load::high_shape(gpu);
    if (!low_shape || !high_shape)
        return tl::make_unexpected((low_shape ? high_shape : low_shape).error());
    auto high = Load::create(gpu, *high_shape);
    if (!high)
        return tl::make_unexpected(high.error());
    made->high_ = std::move(*high);
    auto low = Child::start(gpu.id(), Child::low_program, by);
    if (!low)
        return tl::make_unexpected(low.error());
    made->low_ = std::move(*low);
    measured.counts = gpu.is_software();
    measured.low_kernel = Load::iterations_of(*low_shape);
    measured.high_request = kernels_of_request * Load::iterations_of(*high_shape);
    return made;
}

bool Experiment::tell_low(const char* what, LowCounts& counts) {
    const std::string answer = low_->ask(what);
    std::istringstream words(answer);
    if (words >> counts.iterations >> counts.launched >> counts.done)
        return true;
    return fails(fmt::format("the low program answers \"{}\" to {}", answer, what));
}

// Between two requests the low program runs for as long as one of its kernels takes.
bool Experiment::wait_for_low_kernel() {
    const auto deadline = steady_clock::now() + std::chrono::milliseconds(patience_ms);
    LowCounts from, now;
    if (!tell_low("counts", from))
        return false;
    while (tell_low("counts", now)) {
        if (now.iterations - from.iterations >= measured_.low_kernel)
            return true;
        if (steady_clock::now() > deadline)
            return fails(
                fmt::format("the low program does not run: no kernel in {} s", patience_ms / 1000));
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return false;
}

bool Experiment::run_request() {
    for (unsigned i = 0; i < kernels_of_request; ++i)
        high_->launch();
    return high_->wait() ||
           fails(fmt::format("a request does not end within {} s", patience_ms / 1000));
}

bool Experiment::switch_low(Entries entries) {
    const auto switched = send(by_.fd(), low_->pid(), 0, entries);
    return switched.has_value() || fails("SWITCH of the low program: " + switched.error());
}

bool Experiment::count_stops(std::uint64_t& stops) {
    kfd_ioctl_preempt_status_args status{};
    if (const int error = preempt_status(by_.fd(), low_->pid(), low_->queue_id(), &status))
        return fails("STATUS of the low program: " + text_of(error));
    stops = status.preempts;
    return true;
}

bool Experiment::hold_back(Sharing sharing) {
    const std::array<std::uint32_t, 1> queue{low_->queue_id()};
    switch (sharing) {
    case Sharing::block: return tell_low("pause");
    case Sharing::drain: return tell_low("drain");
    case Sharing::interrupt: return switch_low(stops_of(queue));
    default: return true;
    }
}

bool Experiment::release(Sharing sharing) {
    const std::array<std::uint32_t, 1> queue{low_->queue_id()};
    switch (sharing) {
    case Sharing::block:
    case Sharing::drain: return tell_low("launch");
    case Sharing::interrupt: return switch_low(resumes_of(queue));
    default: return true;
    }
}

bool Experiment::serve(Sharing sharing, Mode& mode) {
    Request request;
    if (!tell_low("counts", request.arrived))
        return false;
    const auto arrival = steady_clock::now();
    if (!hold_back(sharing))
        return false;
    request.ns = ns_of(steady_clock::now() - arrival);
    if (!tell_low("counts", request.prepared))
        return false;
    const auto submission = steady_clock::now();
    if (!run_request())
        return false;
    request.ns += ns_of(steady_clock::now() - submission);
    if (!tell_low("counts", request.completed))
        return false;
    mode.requests.push_back(request);
    return release(sharing);
}

// The daemon has to find both programs first: requests that don't count, until it stops the low
// one.
bool Experiment::await_daemon() {
    const auto deadline = steady_clock::now() + std::chrono::milliseconds(patience_ms);
    Mode not_counted;
    std::uint64_t stops = 0;
    if (!tell_low("launch"))
        return false;
    while (count_stops(stops) && wait_for_low_kernel() && serve(Sharing::by_daemon, not_counted)) {
        if (stops > 0)
            return tell_low("drain") && !low_->ask("times").empty();
        if (steady_clock::now() > deadline)
            return fails(fmt::format("xpreemptd does not stop the low program for requests in {} s",
                                     patience_ms / 1000));
    }
    return false;
}

bool Experiment::measure(Sharing sharing, unsigned requests) {
    Mode& mode = measured_.modes[static_cast<std::size_t>(sharing)];
    std::uint64_t stops = 0;
    if (sharing == Sharing::by_daemon && !await_daemon())
        return false;
    if (!tell_low("counts", mode.begin) || !count_stops(stops))
        return false;
    const auto begin = steady_clock::now();
    if (sharing != Sharing::high_alone && !tell_low("launch"))
        return false;
    for (unsigned i = 0; i < requests; ++i) {
        if (sharing != Sharing::high_alone && !wait_for_low_kernel())
            return false;
        if (sharing != Sharing::low_alone && !serve(sharing, mode))
            return false;
    }
    if (!tell_low("drain", mode.end) || !count_stops(mode.stops))
        return false;
    mode.stops -= stops;
    mode.ns = ns_of(steady_clock::now() - begin);
    std::istringstream times(low_->ask("times"));
    for (std::uint64_t ns = 0; times >> ns;)
        mode.low_ns.push_back(ns);
    return true;
}

// Returns false if something failed, or can't be tried, which the checks then say.
bool measure_all(Bench& bench, Checks& checks, Measured& measured, const Child::Words& by,
                 std::initializer_list<Sharing> ways) {
    const auto experiment = Experiment::create(bench.gpu(), measured, by);
    const std::string low = by.empty() ? "a low program" : "a low program in the band idle";
    if (!checks.check(experiment.has_value(), "a high program starts, and " + low,
                      experiment ? "" : experiment.error()))
        return false;
    for (const Sharing sharing : ways) {
        if ((*experiment)->measure(sharing, bench.options().rounds))
            continue;
        const std::string& failure = (*experiment)->failure();
        if (failure.find("EPERM") != std::string::npos)
            checks.skip("not allowed to stop queues of another process: run as root "
                        "(CAP_SYS_PTRACE)");
        else
            checks.check(false, "both programs run", failure);
        return false;
    }
    return true;
}

// Returns that of xpreemptd, or nothing if it does not run.
std::string policy_of_daemon(const std::string& command) {
    const auto asked = Program::start({command, "--json", "policy"});
    if (!asked)
        return {};
    (*asked)->wait();
    const Json answer = Json::parse((*asked)->output(), nullptr, false);
    return (*asked)->succeeded() && answer.is_object() ? answer.value("policy", "") : "";
}

} // namespace

void run_priorities(Bench& bench, Checks& checks) {
    Measured measured;
    if (!measure_all(bench, checks, measured, {},
                     {Sharing::high_alone, Sharing::low_alone, Sharing::together, Sharing::block,
                      Sharing::drain, Sharing::interrupt}))
        return;
    const std::string command = command_name();
    measured.policy = policy_of_daemon(command);
    if (measured.policy.empty())
        checks.note("xpreemptd does not run: there is no row of it");
    else if (!measure_all(bench, checks, measured, {command, "run", "--band", "idle", "--"},
                          {Sharing::by_daemon}))
        return;
    for (const std::string& line : table(measured))
        checks.note(line);
    checks.data = figures_of(measured);
    judge(measured, checks);
}

} // namespace verify
