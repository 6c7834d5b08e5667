// SPDX-License-Identifier: MIT
// Runs, choices, the focus and hints: what clients ask of jobs, within the rights of each.
#include "scheduling/daemon.hpp"

#include <algorithm>
#include <cerrno>
#include <fmt/format.h>

namespace xpreemptd {

Answer<ProcessFacts> Daemon::facts_of(const Caller& caller) const {
    const auto facts = caller.pid > 0
                           ? facts_(caller.pid)
                           : Result<ProcessFacts>(xpreempt::fail(ESRCH, xpreempt::Op::read_proc));
    if (!facts)
        return refuse(ESRCH, "the caller's process cannot be seen: it is in another pid namespace, "
                             "or has ended");
    // Before Linux 6.5 nothing proves that the pid is still the caller's.
    if (caller.uid != 0 && facts->uid != caller.uid)
        return refuse(EPERM, fmt::format("pid {} is user {}'s, the caller is user {}", caller.pid,
                                         facts->uid, caller.uid));
    return *facts;
}

Answer<void> Daemon::adopt(const Caller& caller, const AttributeChange& change) {
    const Answer<ProcessFacts> facts = facts_of(caller);
    if (!facts)
        return tl::make_unexpected(facts.error());
    // The caller executes its program later. assign_to() then lowers each attribute to the highest
    // that the rules allow for this program.
    if (auto allowed = check_choice(caller, change, highest_of_any_program(rules_, *facts));
        !allowed)
        return allowed;
    if (table_.find_pid(caller.pid).process != nullptr)
        return refuse(EBUSY, fmt::format("pid {} uses the GPU already: use `kfd-preempt renice {}`",
                                         caller.pid, caller.pid));
    // Without room all runs of the user are visited: hundreds of files.
    const bool may_search = runs_.has_room(facts->uid) || run_searches_.admit(facts->uid, clock_());
    if (may_search)
        runs_.forget_ended(facts->uid, origin_, [this](const std::string& key) {
            return table_.find_key(key) != nullptr || has_members(key);
        });
    Run run{{facts->pid, facts->start_ticks},
            {},
            facts->uid,
            facts->run_marks.empty() ? "" : facts->run_marks.back()};
    // `run` could not make a pipe and has inherited this one.
    if (runs_.has_mark_of_other(run))
        run.mark.clear();
    run.choices.add(change, caller.uid);
    if (!runs_.add(std::move(run))) {
        const std::string bound = fmt::format("{} runs of uid {}, or {} of all users,",
                                              Runs::most_of_user, facts->uid, Runs::most);
        if (!may_search)
            return refuse(EAGAIN, bound + " are known, and those that have ended are searched for "
                                          "at most 10 times a second: try again");
        return refuse(EUSERS, bound + " have not ended: end some");
    }
    unkept_ = true;
    keep_state();
    return {};
}

Answer<Job*> Daemon::find(const JobSelector& selector) const {
    if (const pid_t* pid = std::get_if<pid_t>(&selector)) {
        if (Job* job = table_.find_pid(*pid).job)
            return job;
        return refuse(ESRCH, fmt::format("pid {} has no queues on a GPU: `kfd-preempt jobs` shows "
                                         "those that have",
                                         *pid));
    }
    const auto& name = std::get<std::string>(selector);
    if (Job* job = table_.find_name(name))
        return job;
    return refuse(ENOENT, fmt::format("there is no job '{}': `kfd-preempt jobs` shows them", name));
}

Answer<void> Daemon::change(const Caller& caller, const JobSelector& selector,
                            const AttributeChange& change) {
    const Answer<Job*> found = find(selector);
    if (!found)
        return tl::make_unexpected(found.error());
    Job& job = **found;
    if (auto allowed = check_change(caller, job, change); !allowed)
        return allowed;
    job.choices.add(change, caller.uid);
    assign_to(job);
    hints_.sum_up(job);
    unkept_ = true;
    decide(clock_(), Cause::request);
    keep_state();
    return {};
}

// The process may be one without queues, such as the owner of the window, in a job that has some.
// Each user has a focus of its own, so no user can take another's.
Answer<void> Daemon::focus(const Caller& caller, std::optional<pid_t> pid) {
    Job* job = nullptr;
    if (pid) {
        job = table_.find_pid(*pid).job;
        // The process and its ancestors cost hundreds of files.
        if (job == nullptr && caller.uid != 0 && !focus_searches_.admit(caller.uid, clock_()))
            return refuse(EAGAIN, fmt::format("pid {} has no queues on a GPU: ask for the focus of "
                                              "such a process at most 10 times a second",
                                              *pid));
        if (job == nullptr)
            if (const auto facts = facts_(*pid))
                job = table_.find_key(place(*facts).key);
        if (job == nullptr)
            return refuse(ESRCH, fmt::format("no job with queues on a GPU has pid {}: `kfd-preempt "
                                             "jobs` shows the jobs",
                                             *pid));
        if (auto allowed = check_focus(caller, *job); !allowed)
            return allowed;
    }
    const uid_t user = job != nullptr ? job->uid : caller.uid;
    const bool of_all = job == nullptr && caller.uid == 0;
    for (const auto& other : table_.jobs())
        if (of_all || other->focus_of == user)
            other->focus_of.reset();
    if (job != nullptr)
        job->focus_of = user;
    unkept_ = true;
    decide(clock_(), Cause::request);
    keep_state();
    return {};
}

Daemon::Taken Daemon::take(const Caller& caller, const Hint& hint, Time now) {
    // A connection is that of one process, and a process stays in its job.
    if (Job* known = hints_.job_of(caller, table_))
        return take(caller, *known, hint, now);
    // The process and its ancestors cost hundreds of files, also after a hint that was kept.
    if (!job_searches_.admit({caller.uid, caller.uid == 0 ? caller.connection : 0}, now))
        return {false, refuse(EAGAIN, fmt::format("the job of pid {} has no queues on a GPU yet: "
                                                  "send at most 10 hints a second for such jobs of "
                                                  "uid {}",
                                                  caller.pid, caller.uid))};
    const Answer<ProcessFacts> facts = facts_of(caller);
    if (!facts)
        return {false, tl::make_unexpected(facts.error())};
    Job* job = table_.find_pid(caller.pid).job;
    std::string key;
    if (job == nullptr) {
        key = place(*facts).key;
        job = table_.find_key(key);
    }
    if (job != nullptr)
        return take(caller, *job, hint, now);
    if (!is_lasting(hint))
        return {false, refuse(ESRCH, fmt::format("the job of pid {} has no queues on a GPU yet",
                                                 caller.pid))};
    AllowedHint allowed = allowed_part(caller, hint, assign(rules_, *facts).highest);
    if (allowed.hint)
        hints_.keep(caller, key, *allowed.hint);
    return {false, std::move(allowed.answer)};
}

Daemon::Taken Daemon::take(const Caller& caller, Job& job, const Hint& hint, Time now) {
    AllowedHint allowed = allowed_part(caller, job, hint);
    if (!allowed.hint)
        return {false, std::move(allowed.answer)};
    const Answer<bool> taken = hints_.take(job, caller, bounded(caller, job, *allowed.hint), now);
    if (!taken)
        return {false, tl::make_unexpected(taken.error())};
    if (std::holds_alternative<EndHint>(hint))
        (void)sensing_.scan_job(job, now);
    return {*taken, std::move(allowed.answer)};
}

// The rings that came before the hint count first: an end is that of the work that was submitted.
Answer<void> Daemon::hint(const Caller& caller, const Hint& hint) {
    const Time now = clock_();
    const bool rang = sensing_.take_events(now);
    hints_.settle(table_);
    auto [is_due, answer] = take(caller, hint, now);
    if (rang || is_due)
        decide(now, Cause::request);
    return std::move(answer);
}

void Daemon::forget(std::uint64_t connection) {
    const Time now = clock_();
    if (hints_.forget(table_, connection, now))
        decide(now, Cause::request);
}

} // namespace xpreemptd
