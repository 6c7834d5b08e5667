// SPDX-License-Identifier: MIT
// Decides which jobs' memory is in VRAM: jobs that don't fit together take turns.
#pragma once

#include "driver/provider.hpp"
#include "rules/residency_parameters.hpp"
#include "sched/snapshot.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <vector>

namespace xpreemptd {

namespace sched = xpreempt::sched;

struct GpuBytes {
    std::uint32_t gpu = 0;
    std::uint64_t resident = 0; // in VRAM, and may leave it
    std::uint64_t away = 0;     // in system memory, and must return before the job runs
    std::uint64_t wanted = 0;   // by an allocation that waits for room
};

// Memory of the job at the same index of the snapshot.
struct MemoryView {
    std::vector<GpuBytes> on; // one a GPU
    bool may_leave = false;
    bool moving = false;           // now; it isn't asked to move again
    sched::Duration last_moves{0}; // the last move out of VRAM and the last one back, together
    sched::Duration park_after =
        sched::Duration::max(); // idle for so long, it leaves even if no job needs room
    Time wanted_since{};        // the allocation that waits, if there is one
    // Bytes on a GPU. With more the job is the first to leave, and none leaves for its allocations.
    std::uint64_t limit = UINT64_MAX;
};

// One call of the driver: those leave, then this one enters.
struct Exchange {
    std::vector<std::uint64_t> leave; // ids of jobs
    std::uint64_t enter = 0;          // 0: no job
};

struct ResidencyPlan {
    std::vector<Exchange> exchanges;
    // Jobs whose allocation isn't to wait: it doesn't fit, whoever leaves, is above the job's
    // limit, or has waited for long.
    std::vector<std::uint64_t> hopeless;
    // Jobs that wait for their memory and will until one ends that may not leave: newly so.
    std::vector<std::uint64_t> stranded;
    std::vector<bool> out;            // of each job: it can't run, as its memory is away or moves
    Time next = sched::at_next_event; // when to ask again if nothing happens
};

// Comes before the policy, which then chooses among the jobs that can run. A job whose memory is
// away enters when it has work or has announced it, or waits for an allocation. Where there is no
// room others leave for it: idle ones before ready ones, lower bands first, then the least recently
// ready. Within a band, and against an idle job of a higher one, a job first stays for a multiple
// of what its moves take, so that two jobs don't spend their time moving. While it has work a job
// leaves for none of a lower band, unless it is over its limit.
class Residency {
public:
    // Bytes of a GPU that are free.
    using FreeBytes = std::function<std::uint64_t(std::uint32_t gpu)>;

    void set_parameters(ResidencyParameters parameters) { parameters_ = parameters; }

    // The same state and input give the same plan.
    ResidencyPlan decide(const sched::Snapshot& snapshot, std::span<const MemoryView> memory,
                         const FreeBytes& free);

    // How a move ended. all: everything of it is where it was to be.
    void left(std::uint64_t id, bool all, Time now);
    void entered(std::uint64_t id, bool all, Time now);

private:
    struct State {
        bool ready = false;
        bool is_away = false; // it was asked to leave
        bool leaves = false;  // by the plan that is made
        bool enters = false;  // by a plan that is under way
        // Since when it has waited for more VRAM than all jobs have that may leave; max(): it does
        // not.
        Time stuck_since = Time::max();
        bool stranded = false; // the wait was reported, and its memory has not returned since
        Time since{};          // in VRAM, or as long as we know it
        Time idle_since{};
        Time rests_until{}; // after a failure
    };
    struct Job {
        const sched::JobView& view;
        const MemoryView& memory;
        State& state;
    };
    using Jobs = std::vector<Job>;

    Jobs note(const sched::Snapshot& snapshot, std::span<const MemoryView> memory);
    [[nodiscard]] Time may_leave_at(const Job& job, const Job& for_job, Time now) const;
    [[nodiscard]] std::vector<const Job*> who_may_leave(const Jobs& jobs, const Job& for_job,
                                                        ResidencyPlan& plan, Time now) const;
    [[nodiscard]] bool make_room(const Jobs& jobs, const Job& entering, const FreeBytes& free,
                                 ResidencyPlan& plan, Time now) const;
    // Bytes that the job needs on one GPU.
    using Needed = std::uint64_t (*)(const GpuBytes& on);
    [[nodiscard]] bool fits_soon(const Jobs& jobs, const Job& job, const FreeBytes& free,
                                 Time now) const;
    [[nodiscard]] bool fits_ever(const Jobs& jobs, const Job& job, Needed needed,
                                 const FreeBytes& free) const;
    void find_stranded(const Jobs& jobs, const Job& job, const FreeBytes& free, ResidencyPlan& plan,
                       Time now) const;
    void park(const Jobs& jobs, ResidencyPlan& plan, Time now) const;

    ResidencyParameters parameters_;
    std::map<std::uint64_t, State> states_;
};

} // namespace xpreemptd
