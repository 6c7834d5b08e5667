// SPDX-License-Identifier: MIT
// Policy HPF, and those that differ by what they compare: HHPF, CHPF, AWF.
#pragma once

#include "sched/policies/linger.hpp"

#include <cstdint>

namespace xpreempt::sched {

// The policies of this file compare one of these, and a higher one holds the others there.
enum class PriorityKey : std::uint8_t { priority, cpu_priority, focused };
enum class PriorityScope : std::uint8_t { node, machine };

// Their common part.
class PriorityFirst {
public:
    struct Parameters {
        Duration linger = Linger::usual;
        bool operator==(const Parameters&) const = default;
    };

    void admit(std::span<const JobView> jobs) { linger_.admit(jobs); }
    [[nodiscard]] bool matches(std::span<const JobView> jobs) { return linger_.matches(jobs); }
    [[nodiscard]] Time decide(const Snapshot& snapshot, std::span<Verdict> verdicts);

    [[nodiscard]] Parameters parameters() const { return {linger_.time()}; }
    bool operator==(const PriorityFirst&) const = default;

protected:
    PriorityFirst(PriorityKey key, PriorityScope scope, const Parameters& parameters)
        : key_(key), scope_(scope), linger_(parameters.linger) {}

private:
    [[nodiscard]] std::int32_t priority_of(const JobView& job) const;

    PriorityKey key_;
    PriorityScope scope_;
    Linger linger_;
};

template <PriorityKey key, PriorityScope scope> class PriorityFirstBy : public PriorityFirst {
public:
    PriorityFirstBy() : PriorityFirstBy(Parameters{}) {}
    explicit PriorityFirstBy(const Parameters& parameters)
        : PriorityFirst(key, scope, parameters) {}
    bool operator==(const PriorityFirstBy&) const = default;
};

// Goal: a high priority is served as if it were alone.
// Definition: from the highest priority down, a ready job runs unless a job of higher priority runs
// on one of its nodes. Jobs of equal priority run together. A job on several nodes that is held
// blocks none of them for the jobs below. A job that became idle counts as ready for `linger`, so
// that the jobs below don't resume in short gaps.
// Parameters: linger, at least a switch cost; 0: none.
// Use it for a few jobs with a strict order, in a process or on a machine of one owner.
// Don't use it where low priorities must progress: they starve as long as there is work above.
// Work-conserving but for `linger`. Preemptions: at most one decision that stops jobs for each
// ready edge and each change of a priority.
using HighestPriorityFirst = PriorityFirstBy<PriorityKey::priority, PriorityScope::node>;

// Policy HHPF, as XSched's HeterogeneousHighestPriorityFirst.
// Goal: jobs of one high priority have the whole machine, also memory links and the host.
// Definition: as HPF, but the highest priority is that of all nodes: while a job of it is ready
// anywhere, no job of lower priority runs anywhere. Parameters: as HPF.
// Use it when jobs on different nodes disturb each other: shared links, one host thread for all.
// Don't use it to keep GPUs busy: a GPU without a job of the highest priority is idle although
// there is work for it. Not work-conserving. Low priorities starve as long as there is work above.
// Preemptions: as HPF.
using HeterogeneousHighestPriorityFirst =
    PriorityFirstBy<PriorityKey::priority, PriorityScope::machine>;

// Policy CHPF, as XSched's CPUHighestPriorityFirst.
// Goal: the GPU follows the priorities that processes have on the CPUs of the host.
// Definition: as HPF, by `cpu_priority`: a real-time process before all others, then by nice value.
// Parameters: as HPF.
// Use it where the CPU priorities are set with care, as on a desktop or a real-time host.
// Don't use it where all have the same nice value: they then run together, unscheduled. Work
// conservation, starvation, preemptions: as HPF.
using CpuHighestPriorityFirst = PriorityFirstBy<PriorityKey::cpu_priority, PriorityScope::node>;

// Policy AWF, as XSched's ActiveWindowFirst.
// Goal: the program that the user looks at isn't slowed by what runs behind it.
// Definition: as HPF with two priorities: focused, and not. While a focused job is ready, jobs on
// its nodes that aren't focused are held; without a focused job that is ready, all run. Several
// jobs may be focused, one of each user that sits at the machine: they run together.
// Parameters: as HPF.
// Use it on a desktop. Don't use it on a server, where nothing has the focus: all jobs run. Nor
// where users don't trust each other: a focused job that is always ready starves those behind it,
// also those of other users. Work conservation, preemptions: as HPF.
using FocusFirst = PriorityFirstBy<PriorityKey::focused, PriorityScope::node>;

} // namespace xpreempt::sched
