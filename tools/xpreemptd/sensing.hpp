// SPDX-License-Identifier: MIT
// Keeps the table of jobs as the machine is: processes, queues, which of them have work.
#pragma once

#include "job_table.hpp"
#include "provider.hpp"

#include <cstdint>
#include <functional>
#include <optional>

namespace xpreemptd {

struct SensingCounts {
    std::uint64_t edges = 0;      // from idle to busy, told by an event
    std::uint64_t late_edges = 0; // found by a scan: rung by a GPU, or of a process that is polled
    std::uint64_t spurious = 0;   // events without work
};

// An idle process is armed: its next ring makes an event. A busy one costs nothing in its own
// time and is polled here until its queues are empty, then armed again. ARM looks at the queues
// after the doorbells are gone, so no submission is lost in between.
class Sensing {
public:
    using Facts = std::function<Result<ProcessFacts>(pid_t)>;
    Sensing(Provider& provider, JobTable& table, Facts facts)
        : provider_(provider), table_(table), facts_(std::move(facts)) {}

    // Each returns true if a decision is due: a job became ready or idle, came or went, or got
    // queues.
    [[nodiscard]] bool scan(Time now); // processes and queues that came or went; a few a second
    [[nodiscard]] bool take_events(Time now);       // when the provider's event_fd is readable
    [[nodiscard]] bool poll(Time now);              // queues of processes that are not armed
    [[nodiscard]] bool look_at(Job& job, Time now); // the same of one job

    [[nodiscard]] const SensingCounts& counts() const { return counts_; }
    // When the first ring of the last take_events() came that brought work.
    [[nodiscard]] std::optional<Time> last_ring() const { return last_ring_; }
    [[nodiscard]] std::uint64_t last_rung() const { return last_rung_; } // the id of its job

private:
    using Member = JobTable::Member;

    bool take(const Event& event, Time now);
    bool find_processes();
    [[nodiscard]] bool is_replaced(const Process& process) const;
    void add(pid_t pid);
    void remove(const Member& member);
    bool find_queues(Process& process);
    // A held queue changes by an operator's force only: it is for `all`.
    enum class Which : std::uint8_t { running, all };
    void look(Job& job, Process& process, Which which);
    static void note(Job& job, Queue& queue, const QueueReading& reading);
    void poll_job(Job& job);
    void look_at_rung(Job& job, Process& process, const Event& event);
    bool arm_each(bool (*matches)(const Process&));
    void arm_idle();
    bool update_jobs(Time now);
    void audit_armed();

    Provider& provider_;
    JobTable& table_;
    Facts facts_;
    SensingCounts counts_;
    std::optional<Time> last_ring_;
    std::uint64_t last_rung_ = 0;
    std::vector<Arming> arming_;
    std::vector<Member> armed_members_; // parallel to arming_
};

} // namespace xpreemptd
