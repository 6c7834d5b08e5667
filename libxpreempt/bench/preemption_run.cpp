// SPDX-License-Identifier: MIT
// The experiment: first undisturbed, then with suspends.
#include "preemption_run.hpp"

#include <random>

namespace bench {

namespace {

using xpreempt::xqueue::LaunchConfig;
using xpreempt::xqueue::Level;
using xpreempt::xqueue::XQueue;

constexpr std::uint32_t undisturbed_commands = 500;

int nothing(void*, void*) {
    return 0;
}

void submit(XQueue& queue, std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i)
        (void)queue.submit({nothing, nullptr});
}

// Behind the first commands, in which the pace is found.
void run_undisturbed(VirtualDevice& device, XQueue& queue, const DeviceCosts& costs,
                     PreemptionRun& run) {
    (void)queue.suspend({});
    submit(queue, undisturbed_commands);
    (void)queue.resume();
    const std::uint64_t begin_ns = device.now_ns();
    const std::uint64_t wakes = device.wakes(), polled_ns = device.polled_ns();
    device.run_until_launched();
    run.wakes = static_cast<double>(device.wakes() - wakes) / undisturbed_commands;
    run.polled = static_cast<double>(device.polled_ns() - polled_ns) /
                 static_cast<double>(undisturbed_commands * costs.command_ns);
    (void)queue.wait_all();
    const auto elapsed = static_cast<double>(device.busy_until_ns() - begin_ns);
    const auto ideal =
        static_cast<double>(costs.launch_ns + undisturbed_commands * costs.command_ns);
    run.overhead = elapsed / ideal - 1;
}

} // namespace

PreemptionRun run_preemptions(const DeviceCosts& costs, const LaunchConfig& config,
                              std::uint64_t seed, std::size_t samples) {
    VirtualDevice device(costs);
    LaunchConfig deferred = config; // a submit that launched would take virtual time
    deferred.deferred = true;
    XQueue queue(std::make_unique<VirtualHwQueue>(device), deferred, Level::block);
    device.attach(queue);

    submit(queue, 100);
    device.run_until_launched();
    PreemptionRun run{};
    run.warm_up_ns = device.now_ns();
    (void)queue.wait_all();
    run_undisturbed(device, queue, costs, run);

    std::mt19937_64 random(seed);
    for (std::size_t i = 0; i < samples; ++i) {
        while (queue.state().pending < 100)
            submit(queue, 50);
        // Long enough to be in full swing, and at any point of a command.
        const std::uint64_t pause_ns = costs.command_ns * 4 + random() % (costs.command_ns * 8);
        device.run_until(device.now_ns() + pause_ns);
        const std::uint64_t begin_ns = device.now_ns();
        (void)queue.suspend({.finish_launched = true});
        run.latencies_ns.push_back(device.now_ns() - begin_ns);
        (void)queue.resume();
    }
    run.threshold = queue.state().threshold;
    run.command_ns = queue.state().command_ns;
    (void)queue.drop();
    (void)queue.wait_all();
    device.end(); // the worker may be woken later than this thread was
    return run;
}

} // namespace bench
