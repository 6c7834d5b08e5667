// SPDX-License-Identifier: MIT
// Keeps the table of jobs as the machine is: processes, queues, which of them have work.
#pragma once

#include "driver/provider.hpp"
#include "jobs/job_table.hpp"

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>

namespace xpreemptd {

struct SensingCounts {
    std::uint64_t edges = 0;      // from idle to busy, reported by an event
    std::uint64_t late_edges = 0; // found by a scan: rung by a GPU, or of a process that is polled
    std::uint64_t spurious = 0;   // events without work
};

// An idle process is armed: its next ring makes an event. A busy one costs nothing in its own
// time and is polled here until its queues are empty, then armed again. ARM looks at the queues
// after the doorbells are gone, so no submission is lost in between.
//
// Each call returns after `longest`, or one process later: the next event may be an important
// job's. The next polls do the rest; they visit the processes in turn.
class Sensing {
public:
    using Facts = std::function<Result<ProcessFacts>(pid_t)>;
    static constexpr std::chrono::microseconds longest{500};

    Sensing(Provider& provider, JobTable& table, Facts facts, Clock clock)
        : provider_(provider), table_(table), facts_(std::move(facts)), clock_(std::move(clock)) {}

    // Each returns true if a decision is due: a job became ready or idle, came or went, or got
    // queues.
    [[nodiscard]] bool scan(Time now); // lists the processes, then polls; a few times a second
    [[nodiscard]] bool take_events(Time now); // when the provider's event_fd is readable
    // Looks at queues of processes that aren't armed, and at processes and queues that came.
    [[nodiscard]] bool poll(Time now);
    // Arms processes that rang without work, once rearm_at() has come.
    [[nodiscard]] bool rearm(Time now);
    [[nodiscard]] Time rearm_at() const { return rang_idle_ ? rearm_at_ : Time::max(); }
    // Looks at queues of one job, whatever the last poll has left.
    [[nodiscard]] bool scan_job(Job& job, Time now);

    // The last poll has left something.
    [[nodiscard]] bool is_behind() const { return behind_; }
    // The last poll has read /proc or sysfs for processes and queues that came.
    [[nodiscard]] bool has_discovered() const { return discovered_; }

    // Whether allocations of processes wait for room, also of those that are known.
    void set_gives(bool gives);

    [[nodiscard]] const SensingCounts& counts() const { return counts_; }
    // When the first ring of the last take_events() came that brought work.
    [[nodiscard]] std::optional<Time> last_ring() const { return last_ring_; }
    [[nodiscard]] std::uint64_t last_rung() const { return last_rung_; } // the id of its job

private:
    using Member = JobTable::Member;

    bool take(const Event& event, Time now);
    [[nodiscard]] bool is_late() const { return clock_() >= end_; }
    bool list_processes();
    [[nodiscard]] bool is_replaced(const Process& process) const;
    bool visit_in_turn();
    bool release(Process& process);
    bool visit(const Member& member);
    bool is_free(Process& process);
    Result<QueueReading> read(Process& process, std::uint32_t queue_id);
    bool add_arrivals();
    void add(pid_t pid);
    void watch(Process& process);
    void watch_another();
    void remove(const Member& member);
    bool find_queues(Process& process);
    // A held queue changes by an operator's force only: it is for `all`, see audit_held().
    enum class Which : std::uint8_t { running, all };
    void scan(Job& job, Process& process, Which which);
    void note(Job& job, Queue& queue, const QueueReading& reading);
    void read_queues(Job& job, Process& process);
    void scan_rung(Job& job, Process& process, const Event& event);
    bool arm_some(bool (*matches)(const Process&), std::uint64_t& last);
    void arm_idle();
    bool update_jobs(Time now);
    void audit_armed();
    void audit_held();

    Provider& provider_;
    JobTable& table_;
    Facts facts_;
    Clock clock_;
    bool gives_ = false;
    Time end_{}; // of this call's work
    bool rang_idle_ = false;
    Time rearm_at_{};
    Time::duration rings_took_{}; // since the last rearm()
    bool behind_ = false, discovered_ = false;
    bool found_idle_ = false;     // that may be armed, since arm_idle()
    bool others_changed_ = false; // holds of others, since the last update_jobs()
    std::deque<pid_t> arrivals_;  // listed, and not in the table yet
    // Cookies of the processes that were visited, armed, audited last.
    std::uint64_t visited_ = 0, armed_ = 0, audited_ = 0, tried_ = 0, audited_held_ = 0;
    SensingCounts counts_;
    std::optional<Time> last_ring_;
    std::uint64_t last_rung_ = 0;
    std::vector<Arming> arming_;
    std::vector<Member> armed_members_; // parallel to arming_
};

} // namespace xpreemptd
