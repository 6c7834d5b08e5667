// SPDX-License-Identifier: MIT
// Random runs, in which the policy is asked several times at each decision.
#include "policy_check.hpp"

#include "random_jobs.hpp"
#include "sched/plugin_library.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <fmt/format.h>
#include <vector>

namespace sim {

namespace {

using namespace std::chrono_literals;
using sched::Duration;
using sched::JobView;
using sched::Time;
using sched::Verdict;

constexpr Duration max_hold = 10s;            // as the daemon's
constexpr std::uint64_t most_timers = 10'000; // in a second

enum Rule : std::size_t {
    keeps_rules,
    copy_decides_alike,
    order_is_no_matter,
    ids_are_no_matter,
    settles,
    is_called_rarely,
    job_alone_runs,
    num_rules
};

constexpr std::array<const char*, num_rules> names{
    "the host finds no fault in a decision",
    "a copy of the state decides alike, and has the same state afterwards",
    "the order of the jobs changes nothing",
    "other ids in the same order change nothing",
    "the same verdicts come again when they are carried out",
    "it asks for at most 10000 calls in a second",
    "a job with work that is alone on its GPUs runs within 10 s",
};

struct Answer {
    std::vector<Verdict> verdicts;
    Time next{};
    bool operator==(const Answer&) const = default;
};

Answer ask(sched::Policy& policy, Time now, const std::vector<JobView>& jobs) {
    Answer answer{std::vector<Verdict>(jobs.size(), Verdict::run), {}};
    answer.next = sched::decide(policy, {now, jobs}, answer.verdicts);
    return answer;
}

// Asks the policy at each event, and copies of it in other ways.
class Check {
public:
    explicit Check(const sched::Policy& policy)
        : initial_(policy), policy_(policy), relabelled_(policy) {}

    void run(std::uint32_t seed);

    [[nodiscard]] bool failed(std::size_t rule) const { return !failures_.at(rule).empty(); }
    [[nodiscard]] const std::string& failure(std::size_t rule) const { return failures_.at(rule); }
    [[nodiscard]] bool is_over() const { return failed(keeps_rules) || failed(is_called_rarely); }

    std::uint64_t decisions = 0, not_conserving = 0;
    Duration longest_wait{0};

private:
    void fail(Rule rule, const std::string& what) {
        if (!failed(rule))
            failures_.at(rule) = fmt::format("seed {}, at {:.6f} s: {}", seed_, seconds(), what);
    }
    [[nodiscard]] double seconds() const {
        return std::chrono::duration<double>(jobs_.now - began_).count();
    }
    [[nodiscard]] std::vector<JobView> views() const;
    void decide();
    Answer ask_all(const std::vector<JobView>& jobs);
    void ask_shuffled(const sched::Policy& before, const std::vector<JobView>& jobs,
                      const Answer& expected);
    void note_conservation(const Answer& answer);
    void advance(Duration time);
    void leave_one_alone();

    const sched::Policy initial_;
    sched::Policy policy_, relabelled_;
    sched::RandomJobs jobs_{1};
    std::array<std::string, num_rules> failures_;
    std::uint32_t seed_ = 0;
    Time began_{}, next_{};
    std::uint64_t timers_ = 0; // since began_, without an event
};

std::vector<JobView> Check::views() const {
    std::vector<JobView> views;
    for (const sched::VirtualJob& job : jobs_.jobs)
        views.push_back(job.view);
    return views;
}

void Check::ask_shuffled(const sched::Policy& before, const std::vector<JobView>& jobs,
                         const Answer& expected) {
    sched::Policy other = before;
    std::vector<JobView> shuffled(jobs.rbegin(), jobs.rend());
    Answer answer = ask(other, jobs_.now, shuffled);
    std::ranges::reverse(answer.verdicts);
    if (answer != expected || other != policy_)
        fail(order_is_no_matter, "it decides otherwise when the same jobs come in reverse order");
}

Answer Check::ask_all(const std::vector<JobView>& jobs) {
    const sched::Policy before = policy_;
    sched::Policy copy = before;
    Answer answer = ask(policy_, jobs_.now, jobs);
    if (const sched::PluginFault* const fault = sched::fault_of(policy_))
        fail(keeps_rules, "it " + fault->text());
    if (answer.next <= jobs_.now)
        fail(keeps_rules,
             "it asked for its next call at the present time or before, expected a later time");
    for (std::size_t i = 0; i < jobs.size(); ++i)
        if (answer.verdicts[i] == Verdict::hold && !jobs[i].schedulable())
            fail(keeps_rules, fmt::format("it held job {}, which is not schedulable", jobs[i].id));
    if (ask(copy, jobs_.now, jobs) != answer || copy != policy_)
        fail(copy_decides_alike, "a copy decides otherwise: a static variable, a pointer in the "
                                 "state, bytes that are not set, or a clock");
    ask_shuffled(before, jobs, answer);
    std::vector<JobView> others = jobs;
    for (JobView& job : others)
        job.id = job.id * 3 + 17;
    if (ask(relabelled_, jobs_.now, others) != answer)
        fail(ids_are_no_matter, "it decides otherwise when each id is replaced by 3 * id + 17");
    return answer;
}

// No ready job waits while all its nodes are free.
void Check::note_conservation(const Answer& answer) {
    std::uint64_t busy = 0;
    const auto& jobs = jobs_.jobs;
    for (std::size_t i = 0; i < jobs.size(); ++i)
        if (jobs[i].view.schedulable() && answer.verdicts[i] == Verdict::run)
            busy |= jobs[i].view.nodes;
    bool conserves = true;
    for (std::size_t i = 0; i < jobs.size(); ++i)
        conserves = conserves && (answer.verdicts[i] == Verdict::run || !jobs[i].view.ready ||
                                  (jobs[i].view.nodes & busy) != 0);
    not_conserving += conserves ? 0 : 1;
}

void Check::decide() {
    ++decisions;
    const Answer answer = ask_all(views());
    note_conservation(answer);
    jobs_.apply(answer.verdicts);
    const Answer again = ask_all(views());
    if (again.verdicts != answer.verdicts)
        fail(settles, "called again at the same time, it gave other verdicts");
    jobs_.apply(again.verdicts);
    next_ = std::max(again.next, jobs_.now + Duration{1});
}

void Check::advance(Duration time) {
    const Time end = jobs_.now + time;
    while (!is_over()) {
        jobs_.pass(jobs_.next_end(std::min(end, next_)));
        const bool over = jobs_.end_work(), timer = jobs_.now >= next_;
        timers_ += timer && !over ? 1 : 0;
        if (timers_ > most_timers * (1 + static_cast<std::uint64_t>(seconds())))
            fail(is_called_rarely, fmt::format("it asked for {} calls without an event", timers_));
        if (over || timer)
            decide();
        if (jobs_.now >= end)
            return;
    }
}

// The others become idle, which no policy expects.
void Check::leave_one_alone() {
    sched::VirtualJob& job = jobs_.jobs[jobs_.below(static_cast<std::uint32_t>(jobs_.jobs.size()))];
    for (sched::VirtualJob& other : jobs_.jobs) {
        other.view.ready = false;
        other.left = Duration{0};
    }
    job.view.held_by_others = false;
    job.view.utilization = sched::max_utilization;
    jobs_.work(job, sched::endless);
    const std::uint64_t id = job.view.id;
    decide();
    const Duration ran = jobs_.of(id).ran;
    advance(max_hold);
    if (!is_over() && jobs_.of(id).ran == ran)
        fail(job_alone_runs,
             fmt::format("it held job {} for 10 s while nothing else had work", id));
}

void Check::run(std::uint32_t seed) {
    constexpr int happenings = 250;
    seed_ = seed;
    policy_ = initial_;
    relabelled_ = initial_;
    jobs_ = sched::RandomJobs(seed);
    began_ = jobs_.now;
    next_ = sched::at_next_event;
    timers_ = 0;
    std::uint64_t last_id = 0;
    for (int i = 0; i < happenings && !is_over(); ++i) {
        sched::happen(jobs_, last_id, 3);
        decide();
        advance(Duration{1 + jobs_.below(8'000'000)});
    }
    for (const sched::VirtualJob& job : jobs_.jobs)
        longest_wait = std::max(longest_wait, job.longest_wait);
    if (!is_over())
        leave_one_alone();
}

std::string seconds_text(Duration time) {
    return fmt::format("{:.3f} s", std::chrono::duration<double>(time).count());
}

} // namespace

Checks check_policy(const sched::Policy& policy, const CheckOptions& options) {
    Check check(policy);
    std::uint32_t seed = options.seed;
    for (; check.decisions < options.events && !check.is_over(); ++seed)
        check.run(seed);
    Checks checks{fmt::format("# {}: {} decisions about random jobs, seeds {} to {}\n",
                              sched::name_of(policy), check.decisions, options.seed, seed - 1),
                  true};
    for (std::size_t rule = 0; rule < num_rules; ++rule) {
        const bool failed = check.failed(rule);
        checks.passed = checks.passed && !failed;
        checks.text +=
            fmt::format("{} {} - {}\n", failed ? "not ok" : "ok", rule + 1, names.at(rule));
        if (failed)
            checks.text += fmt::format("# {}\n", check.failure(rule));
    }
    return {checks.text + fmt::format("# not demanded: {} decisions let a job with work wait while "
                                      "its GPUs were free; the longest wait was {}\n1..{}\n",
                                      check.not_conserving, seconds_text(check.longest_wait),
                                      static_cast<std::size_t>(num_rules)),
            checks.passed};
}

tl::expected<Checks, std::string> check_command(const std::string& plugin,
                                                const CheckOptions& options) {
    auto loaded = sched::load_plugin(plugin);
    if (!loaded)
        return tl::make_unexpected("--plugin: " + loaded.error());
    return check_policy(*loaded, options);
}

} // namespace sim
