// SPDX-License-Identifier: MIT
// Senses, decides, switches: what happens at each event, and when the next one is due.
#pragma once

#include "driver/provider.hpp"
#include "jobs/cpu_priorities.hpp"
#include "jobs/hints.hpp"
#include "jobs/job_identity.hpp"
#include "jobs/job_table.hpp"
#include "protocol/control.hpp"
#include "rules/plugin_marker.hpp"
#include "rules/rules.hpp"
#include "scheduling/decisions.hpp"
#include "scheduling/kept_state.hpp"
#include "scheduling/memory_turns.hpp"
#include "scheduling/rate_limit.hpp"
#include "scheduling/reactions.hpp"
#include "scheduling/recorder.hpp"
#include "scheduling/rights.hpp"
#include "scheduling/runs.hpp"
#include "scheduling/sensing.hpp"
#include "scheduling/switching.hpp"
#include "system/log.hpp"

#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace xpreemptd {

// Needs no clock and no descriptors: main() calls it with the time.
class Daemon final : public Control {
public:
    Daemon(Provider& provider, Rules rules, Sensing::Facts facts, OriginOf origin, Clock clock,
           Log log);

    // Reads the rules file again; for a plug-in that was left out.
    using ReadAgain = std::function<tl::expected<Rules, std::string>()>;
    void set_read_again(ReadAgain read_again) { read_again_ = std::move(read_again); }

    struct Polls {
        // While a job waits for another one to become idle. As long as the resume grace by default.
        std::chrono::nanoseconds hurried = std::chrono::milliseconds{1};
        // While no job waits: only the accounts depend on it.
        std::chrono::nanoseconds calm = std::chrono::milliseconds{10};
    };
    void set_polls(const Polls& polls) { polls_ = polls; }

    // Logs the state of all jobs after each call of the driver.
    void log_each_switch() { logs_switches_ = true; }

    // Takes over what a daemon before has kept in this file, and keeps it there from now on.
    void keep_state_in(std::filesystem::path file);

    void start();
    void on_events();                // the provider's event_fd is readable
    void on_moved();                 // the provider's moved_fd is readable
    void on_time();                  // next() has come
    [[nodiscard]] Time next() const; // when on_time() is due
    // Applies rules, policy and limits, also to jobs that run; what was set by hand stays, and so
    // do holds that the new rules agree with. Logs what it changed and what needs a restart.
    void reload(Rules rules);

    [[nodiscard]] std::vector<JobReport> jobs(std::uint64_t from, std::size_t most) const override;
    [[nodiscard]] std::vector<JobReport> jobs() const { return jobs(0, SIZE_MAX); }
    [[nodiscard]] StatusReport status() const override;
    [[nodiscard]] TracePage trace(std::optional<std::uint64_t> from) const override;
    Answer<void> adopt(const Caller& caller, const AttributeChange& change) override;
    Answer<void> change(const Caller& caller, const JobSelector& job,
                        const AttributeChange& change) override;
    Answer<void> set_policy(const Caller& caller, std::string_view name) override;
    Answer<void> focus(const Caller& caller, std::optional<pid_t> pid) override;
    Answer<void> hint(const Caller& caller, const Hint& hint) override;
    void forget(std::uint64_t connection) override;

private:
    [[nodiscard]] std::string joined_job(const ProcessFacts& facts) const;
    [[nodiscard]] std::string key_without_run(const ProcessFacts& facts) const;
    Placement place(const ProcessFacts& facts) const;
    [[nodiscard]] JobIdentity identity(const ProcessFacts& facts) const;
    [[nodiscard]] bool has_members(const std::string& key) const;
    void assign_to(Job& job) const;
    void check_partition(const Job& job);
    void keep_state();
    void decide(Time now, Cause cause, std::uint64_t rung = 0);
    void mark_plugin();
    [[nodiscard]] bool plugin_decides() const;
    [[nodiscard]] Answer<void> load_left_out();
    void log_switches();
    void plan_poll();
    void rest_after(Time began);
    void rest_from_switches();
    [[nodiscard]] std::chrono::nanoseconds poll_interval() const;
    [[nodiscard]] JobReport report_of(const Job& job) const;
    // Names the attributes that rules set and the policy does not read.
    void report_ignored() const;
    [[nodiscard]] Answer<Job*> find(const JobSelector& selector) const;
    [[nodiscard]] Answer<ProcessFacts> facts_of(const Caller& caller) const;
    // A hint may be taken in part: then a decision is due, and the answer is an error.
    struct Taken {
        bool is_due;
        Answer<void> answer;
    };
    [[nodiscard]] Taken take(const Caller& caller, const Hint& hint, Time now);
    [[nodiscard]] Taken take(const Caller& caller, Job& job, const Hint& hint, Time now);

    Provider& provider_;
    Rules rules_;
    Sensing::Facts facts_;
    OriginOf origin_;
    Clock clock_;
    Log log_;
    JobTable table_;
    Sensing sensing_;
    Decisions decisions_;
    Switching switching_;
    MemoryTurns memory_;
    Reactions ring_to_switch_, ring_to_stopped_;
    Recorder recorder_;
    const SocketFile socket_; // that main() has opened
    std::string left_out_;    // why the plug-in is; or empty
    ReadAgain read_again_;
    PluginMarker marker_;
    Hints hints_{counts};
    CpuPriorities cpu_priorities_;
    Runs runs_;
    RateLimit<uid_t> run_searches_;   // for those that have ended
    RateLimit<uid_t> focus_searches_; // for the job of a process without queues
    // For the job of a hint, by user and, if that is root, by connection: root's programs do not
    // take the searches of each other.
    RateLimit<std::pair<uid_t, std::uint64_t>> job_searches_;
    std::filesystem::path state_file_; // empty: nothing is kept
    KeptState before_;                 // of the daemon before, until its jobs were found
    Time forget_before_at_{}, next_keep_{};
    bool unkept_ = false, cannot_keep_ = false, is_kept_ = false;
    bool warned_of_partition_ = false;
    std::uint64_t kept_changes_ = 0; // of the table
    bool logs_switches_ = false;
    std::uint64_t logged_calls_ = 0;
    Polls polls_;

    Time next_scan_{};
    Time next_poll_ = Time::max();
    Time rest_until_{};           // from polls
    Time next_try_ = Time::max(); // of what the driver refused
    Time next_switch_{};          // after a call that took long
    bool postponed_ = false;      // a decision, until then
    std::chrono::nanoseconds retry_after_{};
};

} // namespace xpreemptd
