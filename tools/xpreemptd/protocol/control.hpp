// SPDX-License-Identifier: MIT
// Requests of the socket to the daemon, and its reports.
#pragma once

#include "protocol/attributes.hpp"
#include "protocol/hint.hpp"
#include "protocol/trace_record.hpp"
#include "sched/account.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <tl/expected.hpp>
#include <utility>
#include <variant>
#include <vector>

namespace xpreemptd {

// From SO_PEERCRED: the kernel translates the pid into our pid namespace.
struct Caller {
    pid_t pid = 0; // 0: not visible here
    uid_t uid = 0;
    std::uint64_t connection = 0; // never reused
};

struct Refusal {
    int error; // a positive errno
    std::string text;
};
template <typename T> using Answer = tl::expected<T, Refusal>;
inline tl::unexpected<Refusal> refuse(int error, std::string text) {
    return tl::make_unexpected(Refusal{error, std::move(text)});
}

enum class JobState : std::uint8_t { idle, running, held, held_by_others, not_schedulable };

struct JobReport {
    std::uint64_t id = 0; // of this run of the daemon
    std::string name;     // cgroup, or "run PID" and "process PID"
    Attributes attributes;
    JobState state = JobState::idle;
    std::string reason; // of not_schedulable
    std::vector<pid_t> pids;
    std::vector<std::uint32_t> gpu_ids;
    std::vector<std::uint64_t> compute_queues; // on each of gpu_ids; none from an older daemon
    std::uint64_t queues = 0;
    std::uint64_t ready_edges = 0;
    sched::Account account;
    // VRAM, of all its GPUs: what it has there, what is in system memory, and what must come free
    // before that returns.
    std::uint64_t resident_bytes = 0, yielded_bytes = 0, missing_bytes = 0;
    bool focused = false;
};

// Percentiles of the last most_samples; 0 without any.
struct ReactionTimes {
    static constexpr std::size_t most_samples = 1024;
    std::uint64_t count = 0;
    std::chrono::nanoseconds sum{0};
    std::chrono::nanoseconds p50{0}, p99{0}, max{0};

    bool operator==(const ReactionTimes&) const = default;
};

struct StatusReport {
    std::string policy;  // "BAND", ...; "none" after it was ejected
    std::string ejected; // why it was, or why a plug-in is left out; or empty
    std::string sensing; // "watch", or "polling" and why
    std::uint64_t decisions = 0;
    std::uint64_t switches = 0;         // ioctls
    std::uint64_t refusals = 0;         // of queues in them
    std::uint64_t edges = 0;            // from idle to busy, reported by the watch
    std::uint64_t edges_found_late = 0; // seen by a scan only
    // From the fault of a ring to the call of the driver that stops others, and to its return if
    // all of them were off the GPU by then.
    ReactionTimes ring_to_switch{}, ring_to_stopped{};
    sched::Duration switch_cost{0}; // of one stop and resume, see sched::SwitchCost
    std::uint64_t moves = 0;        // calls that moved memory
    std::uint64_t moved_out_bytes = 0, moved_back_bytes = 0;
    std::string plugin{}; // path of the one that decides, or empty
};

using JobSelector = std::variant<pid_t, std::string>; // a process of the job, or its name

// All calls are made from the daemon's loop.
class Control {
public:
    Control() = default;
    Control(const Control&) = delete;
    Control& operator=(const Control&) = delete;
    Control(Control&&) = delete;
    Control& operator=(Control&&) = delete;
    virtual ~Control() = default;

    // By ascending id, from this one on; at most so many.
    [[nodiscard]] virtual std::vector<JobReport> jobs(std::uint64_t from,
                                                      std::size_t most) const = 0;
    [[nodiscard]] virtual StatusReport status() const = 0;
    // Records from this number on; without a number none, but where they will begin.
    [[nodiscard]] virtual TracePage trace(std::optional<std::uint64_t> from) const = 0;
    // The caller's process and what it starts from now on become a job of their own.
    virtual Answer<void> adopt(const Caller& caller, const AttributeChange& change) = 0;
    // EPERM: the job isn't the caller's, or the band is above what its owner may choose.
    virtual Answer<void> change(const Caller& caller, const JobSelector& job,
                                const AttributeChange& change) = 0;
    // Root's only.
    virtual Answer<void> set_policy(const Caller& caller, std::string_view name) = 0;
    // The job of that process has the focus of its user until it ends or another job of that user
    // gets it. Without a pid no job of the caller has it, and if root calls no job at all.
    // EPERM: only root and the owner of the job may.
    virtual Answer<void> focus(const Caller& caller, std::optional<pid_t> pid) = 0;
    // For the job of the caller's process. EPERM as change(). ESRCH: the job has no queues yet.
    // EAGAIN: too many hints, or announcements without work.
    virtual Answer<void> hint(const Caller& caller, const Hint& hint) = 0;
    // Undoes the hints of a connection that ended.
    virtual void forget(std::uint64_t connection) = 0;
};

} // namespace xpreemptd
