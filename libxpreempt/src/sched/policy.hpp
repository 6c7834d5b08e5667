// SPDX-License-Identifier: MIT
// Scheduling decisions: pure functions of what the xqueues want and the time.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <span>

namespace xpreempt::sched {

using Time = std::chrono::steady_clock::time_point;

struct QueueView {
    std::uint32_t device;
    std::int32_t priority; // higher goes first
    bool ready;            // has work, and nobody else keeps it from running
    bool held = false;     // by the scheduler that asks
    // For policies of the program.
    std::uint64_t xqueue = 0; // handle, 0: a stream without one
    void* stream = nullptr;
};

enum class Verdict : std::uint8_t { run, suspend };

// Called at each event: work came, work is over, a suspend of somebody else, a hint, the time that
// it returned last. Fills in one verdict for each queue, and returns when it wants to be called
// again if nothing happens. Queues of one device are neighbours in the snapshot. One thread calls
// at a time. Ours allocate nothing, read no clock, take no lock, and give the same answer to the
// same input: a simulation can so try millions of them.
using Policy =
    std::function<Time(std::span<const QueueView> queues, Time now, std::span<Verdict> verdicts)>;

constexpr Time at_next_event = Time::max();

// On each device the ready xqueues of the highest priority run together, and ready ones below are
// suspended. An xqueue without work is left alone: stopping its hardware queue costs an ioctl, and
// its first command is an event. Goal: a high priority is served as if it were alone. Cost: one
// pass. A low priority starves as long as there is work above it; that is what was asked for.
// Ready for production where starvation is acceptable.
Time highest_priority_first(std::span<const QueueView> queues, Time now,
                            std::span<Verdict> verdicts);

} // namespace xpreempt::sched
