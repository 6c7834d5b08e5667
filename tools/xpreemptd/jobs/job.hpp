// SPDX-License-Identifier: MIT
// A job, its processes and their queues, as the daemon last saw them.
#pragma once

#include "driver/provider.hpp"
#include "jobs/process_facts.hpp"
#include "jobs/process_lock.hpp"
#include "protocol/attributes.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace xpreemptd {

struct Queue {
    Queue(std::uint32_t queue_id, std::uint32_t of_gpu, bool of_compute)
        : id(queue_id), gpu_id(of_gpu), compute(of_compute) {}

    std::uint32_t id;
    std::uint32_t gpu_id;
    bool compute;
    std::uint64_t uid = 0; // 0: not read yet
    std::uint32_t doorbell = 0;
    bool busy = true;                  // until it was read
    std::optional<std::uint64_t> done; // so many packets, when it was read last and not busy
    bool held = false;                 // by us
    bool held_by_others = false;
    bool held_by_programs = false; // the same, see QueueReading
    bool away = false;             // when it was read last
    std::string refusal;           // why it can't be stopped, or empty

    [[nodiscard]] bool stoppable() const { return compute && uid != 0 && refusal.empty(); }
};

struct Process {
    ProcessFacts facts;
    std::uint64_t cookie = 0;
    std::optional<std::uint32_t> watch_id;
    bool armed = false;      // its next ring makes an event
    bool blind = false;      // rings make none: it is polled
    bool scan_once = false;  // it was stopped by what a poll some time ago said
    bool stale = false;      // queues of it have come or gone
    bool unverified = false; // no event would have reported its end or new queues
    bool moving = false;     // its memory; calls of the driver about it would wait
    ProcessLock lock;
    std::vector<VramUse> vram; // one a GPU, as it was at vram_at
    Time vram_at{};
    bool was_there = true; // its memory may have been away before this daemon
    // An allocation that waits for room.
    std::uint32_t wants_on = 0; // gpu_id
    std::uint64_t wants_bytes = 0;
    Time wants_since{};
    std::vector<Queue> queues;

    [[nodiscard]] bool busy() const;
    [[nodiscard]] bool away() const; // any of its memory
};

// The bounds of a user's hints for a job.
struct UserHints {
    // An announcement ends with the next ready edge, or at soon_until.
    std::uint64_t announcer = 0;    // connection
    std::uint64_t announced_at = 0; // ready edges then
    Time soon_since{}, soon_until{};
    Time no_soon_before{}; // the last announcement has brought no work
    Time next_hint{};      // when one more is within the rate
};

// Sum of the hints of a job's processes.
struct JobHints {
    std::map<uid_t, UserHints> by_user;       // of those who have sent one
    std::optional<std::uint64_t> finished_at; // ready edges then
    Time deadline = sched::at_next_event;
    AttributeChange change; // of the attributes
};

struct Job {
    static constexpr uid_t no_user = static_cast<uid_t>(-1); // no process has it

    std::uint64_t id = 0;
    std::string key;         // of JobIdentity
    std::string name;        // for people
    std::string group_key;   // of Placement
    std::uint64_t group = 0; // id of the first job with that key, see TurnGroups
    uid_t uid = 0;           // of its processes; no_user: they have several
    ProcessFacts matched;    // of its oldest process, with `uid`: by these the rules know it
    Choices choices;         // over the rules
    Attributes attributes;   // of both
    Attributes highest;      // that its owner may choose
    std::vector<std::unique_ptr<Process>> processes;

    bool ready = false;
    Time ready_since{};
    std::uint64_t ready_edges = 0;
    // An operator resumed what we had stopped: it runs until it was idle once.
    bool overruled = false;
    std::optional<uid_t> focus_of; // this user's focus; of one job of each user at most
    Time may_wait_until{};         // while held: when max_hold ends
    bool held_for_a_job = false;   // while held: that has work, by the last decision
    bool warned_of_wait = false;   // since the policy was chosen
    JobHints hints;

    // A focus counts while the job is that user's.
    [[nodiscard]] bool focused() const { return focus_of == uid; }
    // With the hints.
    [[nodiscard]] sched::Band band() const { return hints.change.band.value_or(attributes.band); }
    [[nodiscard]] std::int32_t priority() const {
        return hints.change.priority.value_or(attributes.priority);
    }
    [[nodiscard]] bool announced(Time now) const; // work, and none has come since
    [[nodiscard]] bool announced(const UserHints& by, Time now) const {
        return by.announced_at == ready_edges && by.soon_until > now;
    }
    [[nodiscard]] std::int32_t cpu_priority() const; // the highest of its processes
    [[nodiscard]] bool busy() const;
    [[nodiscard]] bool held() const;           // any queue, by us
    [[nodiscard]] bool held_by_others() const; // every queue that has work
    [[nodiscard]] bool moving() const;         // memory of any process
    [[nodiscard]] bool away() const;           // the same, and it is in system memory
    [[nodiscard]] std::uint64_t vram(std::uint64_t VramUse::* which) const; // sum of all
    [[nodiscard]] bool wants() const;          // an allocation of any process waits
    [[nodiscard]] std::string refusal() const; // why none of its queues can be stopped, or empty
};

} // namespace xpreemptd
