// SPDX-License-Identifier: MIT
// Driver calls of a command, as the fake driver counts them: they don't depend on the machine.
#include "parts.hpp"

#include <array>
#include <stdexcept>

namespace cuda {

namespace {

struct Counter {
    const char* quantity;
    const char* function;
};
constexpr std::array<Counter, 5> counters{{{"launches", "cuLaunchKernel"},
                                           {"event_records", "cuEventRecord"},
                                           {"event_queries", "cuEventQuery"},
                                           {"event_waits", "cuEventSynchronize"},
                                           {"stream_writes", "cuStreamWriteValue32_v2"}}};

int launch_tiny(void* stream, void* device) {
    return static_cast<const Device*>(device)->launch_tiny(stream);
}

void submit(Lane& lane, std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i)
        (void)lane.submit(launch_tiny, const_cast<Device*>(&lane.device()));
}

// Bursts that fit into the threshold, each waited for: the caller launches all of them.
void submit_inline(Lane& lane, const System& system, std::uint32_t count) {
    const std::uint32_t burst = system.budget_us > 0 ? 2 : system.threshold;
    for (std::uint32_t done = 0; done < count; done += burst) {
        submit(lane, burst);
        lane.wait_all();
    }
}

// Submitted while suspended: the xqueue's worker launches all of them.
void submit_deferred(Lane& lane, std::uint32_t count) {
    lane.suspend();
    submit(lane, count);
    lane.resume();
    lane.wait_all();
}

void count(const Measurement& with, const std::string& setting) {
    const std::uint32_t commands = with.amounts.counted;
    const Driver& driver = with.device.driver();
    Lane lane(with.device, with.system, 0);
    std::array<std::uint64_t, counters.size()> before{};
    for (std::size_t i = 0; i < counters.size(); ++i)
        before[i] = driver.count_calls(counters[i].function);
    if (!lane.paced()) {
        submit(lane, commands);
        lane.wait_all();
    } else if (setting == "inline") {
        submit_inline(lane, with.system, commands);
    } else {
        submit_deferred(lane, commands);
    }
    for (std::size_t i = 0; i < counters.size(); ++i)
        with.samples.add(counters[i].quantity, setting,
                         static_cast<double>(driver.count_calls(counters[i].function) - before[i]) /
                             commands);
    const double launched_inline =
        lane.paced() ? static_cast<double>(lane.stats().launched_inline) : commands;
    with.samples.add("inline_share", setting, launched_inline / commands);
}

} // namespace

void count_driver_calls(const Measurement& with) {
    if (with.device.driver().count_calls == nullptr)
        throw std::runtime_error("only the fake driver counts its calls; leave out part calls");
    count(with, "inline");
    if (with.system.paced)
        count(with, "deferred");
}

} // namespace cuda
