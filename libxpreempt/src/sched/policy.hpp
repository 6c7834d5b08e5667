// SPDX-License-Identifier: MIT
// Scheduling decisions: pure functions of what the xqueues want and the time.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>

namespace xpreempt::sched {

using Time = std::chrono::steady_clock::time_point;

struct QueueView {
    std::uint32_t device;
    std::int32_t priority; // higher goes first
    bool ready;            // has work, and nobody else keeps it from running
};

enum class Verdict : std::uint8_t { run, suspend };

// Called at each event: work came, work is over, a suspend of somebody else, a hint. Fills in one
// verdict for each queue. Queues of one device are neighbours in the snapshot. Nothing is
// allocated, no clock read, no lock taken, and the same input gets the same answer: that is what
// lets a simulation try millions of them.
using Policy = void(std::span<const QueueView> queues, Time now, std::span<Verdict> verdicts);

// On each device the ready xqueues of the highest priority run together, and ready ones below are
// suspended. An xqueue without work is left alone: stopping its hardware queue costs an ioctl, and
// its first command is an event. Goal: a high priority is served as if it were alone. Cost: one
// pass. A low priority starves as long as there is work above it; that is what was asked for.
// Ready for production where starvation is acceptable.
Policy highest_priority_first;

} // namespace xpreempt::sched
