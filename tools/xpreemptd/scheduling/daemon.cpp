// SPDX-License-Identifier: MIT
// The daemon's rhythm: events at once, polls while it matters, a scan ten times a second.
#include "scheduling/daemon.hpp"

#include "jobs/cgroup_path.hpp"
#include "system/replace_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace xpreemptd {

namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr nanoseconds scan_interval = milliseconds{100};
constexpr nanoseconds first_retry = milliseconds{1};
constexpr nanoseconds longest_retry = milliseconds{100};
constexpr std::string_view policy_by_cpu = "CHPF";

} // namespace

Daemon::Daemon(Provider& provider, Rules rules, Sensing::Facts facts, OriginOf origin, Clock clock,
               Log log)
    : provider_(provider), rules_(std::move(rules)), facts_(std::move(facts)),
      origin_(std::move(origin)), clock_(std::move(clock)), log_(std::move(log)),
      table_([this](const ProcessFacts& of) { return place(of); },
             [this](Job& job) {
                 before_.jobs.erase(job.key); // the job has taken it over
                 assign_to(job);
                 check_partition(job);
                 hints_.sum_up(job);
             }),
      sensing_(provider_, table_, facts_, clock_), decisions_(table_, rules_.max_hold),
      switching_(provider_, clock_), memory_(provider_, table_, switching_, clock_, log_),
      socket_(rules_.socket_file()), left_out_(rules_.plugin_left_out),
      marker_(PluginMarker::beside(socket_.path)) {
    decisions_.set_max_decide(rules_.max_decide);
    decisions_.set_policy(rules_.policy());
    decisions_.set_find_unfit(
        [this](const sched::Snapshot& snapshot) { return memory_.plan(snapshot); });
    memory_.set_parameters(rules_.residency);
    sensing_.set_gives(rules_.any_yields());
}

JobIdentity Daemon::identity(const ProcessFacts& facts) const {
    if (const auto known = before_.members.find({facts.pid, facts.start_ticks});
        known != before_.members.end())
        return identity_of_key(known->second).value_or(JobIdentity{});
    const auto gpu_user_of = [this](pid_t pid) -> const ProcessFacts* {
        const Process* process = table_.find_pid(pid).process;
        return process != nullptr ? &process->facts : nullptr;
    };
    const Run* marked = runs_.find_marked(facts);
    return identity_of(facts, gpu_user_of, runs_.processes(), origin_,
                       marked != nullptr ? std::optional(marked->process) : std::nullopt);
}

// The name of the job that a rule joins the process to; empty: none does.
std::string Daemon::joined_job(const ProcessFacts& facts) const {
    const Rule* rule = rules_.rule_for(facts);
    return rule != nullptr ? rule->job : std::string();
}

// The key of the job that a process of a run would belong to without the run.
std::string Daemon::key_without_run(const ProcessFacts& facts) const {
    const std::string joined = joined_job(facts);
    return joined.empty() ? key_of_cgroup(facts.cgroup) : key_of_joined(joined);
}

Placement Daemon::place(const ProcessFacts& facts) const {
    JobIdentity of = identity(facts);
    Placement placement{std::move(of.key), std::move(of.name)};
    if (const Run* run = runs_.find(placement.key)) {
        placement.group = key_without_run(facts);
        placement.choices = run->choices;
        // The attributes of `run` also count for programs that it starts as another user (sudo).
        placement.choices.owner = facts.uid;
    } else if (std::string joined = joined_job(facts); !joined.empty()) {
        placement = {key_of_joined(joined), std::move(joined)};
    }
    if (const auto job = before_.jobs.find(placement.key); job != before_.jobs.end()) {
        placement.choices = job->second.choices;
        placement.focus_of = job->second.focus_of;
    }
    return placement;
}

// First the rules, then what root has chosen, for the owner too, then what the owner has.
void Daemon::assign_to(Job& job) const {
    const Assignment assignment = assign(rules_, job.matched);
    job.attributes = assignment.attributes;
    job.highest = assignment.highest;
    job.choices.by_root.apply_to(job.attributes);
    job.choices.by_root.apply_to(job.highest);
    if (job.uid == job.choices.owner)
        job.choices.by_owner.apply_to(job.attributes);
    lower_to(job.attributes, job.highest); // the rules may be others by now
}

// Once: what is wrong with one job is wrong with all of them.
void Daemon::check_partition(const Job& job) {
    const auto has_partition = [](const Rule& rule) { return rule.slurm_partition.has_value(); };
    const auto of_slurm = slurm_job_of(job.matched.cgroup);
    if (!of_slurm || !job.matched.slurm_partition.empty() || warned_of_partition_ ||
        std::ranges::none_of(rules_.rules, has_partition))
        return;
    warned_of_partition_ = true;
    log_(LogLevel::warning,
         fmt::format("the partition of Slurm job {} is not known, so no rule with slurm_partition "
                     "matches it: the prolog of slurmd has to write "
                     "/run/kfd-preempt/slurm/{}, see xpreemptd.toml(5)",
                     *of_slurm, *of_slurm));
}

void Daemon::keep_state_in(std::filesystem::path file) {
    constexpr std::chrono::seconds found_after{60};
    state_file_ = std::move(file);
    auto before = read_state(state_file_);
    if (!before)
        log_(LogLevel::warning,
             fmt::format("{} is not used: {}; what run, renice and focus have set before is "
                         "forgotten",
                         state_file_.string(), before.error()));
    before_ = std::move(before).value_or(KeptState{});
    forget_before_at_ = clock_() + found_after;
    std::erase_if(before_.members, [this](const auto& of) {
        return !lives(of.first, origin_) || !identity_of_key(of.second);
    });
    for (const Run& run : before_.runs)
        if (lives(run.process, origin_) || !run.mark.empty() ||
            has_members(key_of_run(run.process)))
            (void)runs_.add(run);
    before_.runs.clear();
}

// Processes of the daemon before that this one has not found yet.
bool Daemon::has_members(const std::string& key) const {
    return std::ranges::any_of(before_.members, [&](const auto& of) { return of.second == key; });
}

// Takes a hundredth of the time at most: a thousand jobs make a long text.
void Daemon::keep_state() {
    constexpr int rest = 99;
    constexpr nanoseconds longest_rest = std::chrono::seconds{10};
    const Time now = clock_();
    if (forget_before_at_ <= now && before_ != KeptState{}) {
        before_ = {};
        unkept_ = true;
    }
    if (state_file_.empty() || now < next_keep_)
        return;
    const bool was_removed = is_kept_ && !file_exists(state_file_);
    if (!unkept_ && !was_removed && kept_changes_ == table_.changes())
        return;
    KeptState state = state_of(runs_, table_);
    state.jobs.insert(before_.jobs.begin(), before_.jobs.end());
    state.members.insert(before_.members.begin(), before_.members.end());
    const int error = replace_file(state_file_, text_of(state), 0600);
    if (error != 0 && !cannot_keep_)
        log_(LogLevel::warning,
             fmt::format("{} cannot be written: {}; until it can, a restart forgets what run, "
                         "renice and focus have set",
                         state_file_.string(), std::strerror(error)));
    else if (error == 0 && cannot_keep_)
        log_(LogLevel::notice, fmt::format("{} is written again", state_file_.string()));
    cannot_keep_ = unkept_ = error != 0;
    is_kept_ = error == 0;
    kept_changes_ = table_.changes();
    const nanoseconds took = clock_() - now;
    next_keep_ = clock_() + (error != 0 ? longest_rest : std::min(rest * took, longest_rest));
}

void Daemon::start() {
    mark_plugin();
    if (!left_out_.empty())
        log_(LogLevel::warning, left_out_);
    report_ignored();
    on_time();
}

void Daemon::report_ignored() const {
    if (const std::string ignored = ignored_by(decisions_.policy_name(), rules_.set_by_any());
        !ignored.empty())
        log_(LogLevel::warning, fmt::format("rules: {}", ignored));
}

// Every process that isn't armed is polled: soon if a decision depends on it.
nanoseconds Daemon::poll_interval() const {
    std::size_t ready = 0;
    bool polled = false, to_arm = false;
    for (const auto& job : table_.jobs()) {
        ready += job->ready ? 1U : 0U;
        for (const auto& process : job->processes) {
            if (process->moving || process->lock.is_locked())
                continue;
            polled = polled || !process->armed;
            to_arm = to_arm || (!process->armed && !process->blind && !process->busy());
        }
    }
    if (sensing_.is_behind())
        return nanoseconds{0};
    if (!polled)
        return nanoseconds::max();
    return ready > 1 || to_arm ? polls_.hurried : polls_.calm;
}

// After the call of the driver: nothing waits for a line of the log.
void Daemon::log_switches() {
    if (!logs_switches_ || switching_.counts().calls == logged_calls_)
        return;
    logged_calls_ = switching_.counts().calls;
    for (const auto& job : table_.jobs())
        if (job->ready || job->held())
            log_(LogLevel::debug, fmt::format("job {} ({}) {}", job->id, job->name,
                                              job->held() ? "is stopped" : "runs"));
}

void Daemon::decide(Time now, Cause cause, std::uint64_t rung) {
    hints_.settle(table_);
    const auto carry_out = [&](const Recorder::Decided& decided) {
        const std::uint64_t calls = switching_.counts().calls;
        const bool refused =
            switching_.carry_out(table_, decisions_.decide(now, switching_.cost().value(now)));
        const bool called = switching_.counts().calls != calls;
        memory_.begin(now);
        recorder_.note(decided, table_, switching_, called);
        if (called)
            rest_from_switches();
        return refused;
    };
    bool refused = carry_out({now, cause, rung});
    if (decisions_.settle()) {
        log_(LogLevel::error,
             fmt::format("the policy is ejected, all jobs run: {}", decisions_.ejected()));
        mark_plugin();
        refused = carry_out({now, Cause::ejected});
    }
    if (refused) {
        retry_after_ =
            retry_after_ == nanoseconds{} ? first_retry : std::min(2 * retry_after_, longest_retry);
        next_try_ = now + retry_after_;
    } else {
        retry_after_ = {};
        next_try_ = Time::max();
    }
    for (const std::string& warning : decisions_.take_warnings())
        log_(LogLevel::warning, warning);
    log_switches();
    plan_poll();
}

void Daemon::plan_poll() {
    const nanoseconds interval = poll_interval();
    next_poll_ =
        interval == nanoseconds::max() ? Time::max() : std::max(clock_() + interval, rest_until_);
    next_scan_ = std::max(next_scan_, rest_until_);
}

// Polls take at most a twentieth of a CPU, however slow they are: we run before everybody else. A
// process that comes isn't scheduled until we know it, so that may take a fifth. One that took much
// longer than a wait for a locked process is one in which we did not run.
void Daemon::rest_after(Time began) {
    constexpr nanoseconds longest_rest = std::chrono::seconds{2};
    const int rest = sensing_.has_discovered() ? 4 : 20;
    const Time now = clock_();
    rest_until_ = now + std::min<nanoseconds>(rest * (now - began), longest_rest);
}

// A call that takes long has kept a CPU from everybody else, the driver's own workers too: the
// firmware was slow. The next one waits, unless a ring asks for it, so that they take a quarter.
void Daemon::rest_from_switches() {
    constexpr nanoseconds long_call = milliseconds{10}, longest_rest = std::chrono::seconds{30};
    constexpr int rest = 3;
    const nanoseconds took = switching_.returned_at() - switching_.called_at();
    if (took > long_call)
        next_switch_ = switching_.returned_at() + std::min(rest * took, longest_rest);
}

void Daemon::on_events() {
    const Time now = clock_();
    if (!sensing_.take_events(now))
        return plan_poll();
    const std::uint64_t stops = switching_.counts().stops;
    if (sensing_.last_ring())
        decide(now, Cause::ring, sensing_.last_rung());
    else
        decide(now, Cause::change);
    const auto ring = sensing_.last_ring();
    if (switching_.counts().stops == stops || !ring)
        return;
    ring_to_switch_.add(switching_.called_at() - *ring);
    if (switching_.all_stopped())
        ring_to_stopped_.add(switching_.returned_at() - *ring);
}

void Daemon::on_moved() {
    const Time now = clock_();
    if (memory_.take_moved(now))
        decide(now, Cause::moved);
}

void Daemon::on_time() {
    const Time now = clock_();
    const bool timer = now >= decisions_.next(), retry = now >= next_try_;
    const bool scan = now >= next_scan_;
    bool edge = false;
    if (scan) {
        next_scan_ = now + scan_interval;
        edge = sensing_.scan(now);
        memory_.scan(now);
        if (decisions_.policy_name() == policy_by_cpu)
            edge = cpu_priorities_.refresh(table_, origin_, now) || edge;
        keep_state();
        rest_after(now);
    } else if (now >= next_poll_) {
        edge = sensing_.poll(now);
        rest_after(now);
    } else {
        edge = sensing_.rearm(now);
    }
    postponed_ = postponed_ || edge || timer || retry;
    if (now < next_switch_ || !(postponed_ || scan)) // a scan: for the accounts
        return plan_poll();
    postponed_ = false;
    decide(now, edge ? Cause::poll : timer ? Cause::timer : retry ? Cause::retry : Cause::poll);
}

Time Daemon::next() const {
    const Time decision = postponed_ ? next_switch_ : std::min(next_try_, decisions_.next());
    return std::min(
        {next_scan_, next_poll_, sensing_.rearm_at(), std::max(decision, next_switch_)});
}

void Daemon::reload(Rules rules) {
    rules_ = std::move(rules);
    std::size_t changed = 0;
    for (const auto& job : table_.jobs()) {
        const Attributes before = job->attributes;
        assign_to(*job);
        hints_.sum_up(*job);
        changed += job->attributes == before ? 0U : 1U;
    }
    decisions_.set_max_hold(rules_.max_hold);
    memory_.set_parameters(rules_.residency);
    sensing_.set_gives(rules_.any_yields());
    decisions_.set_max_decide(rules_.max_decide);
    left_out_ = rules_.plugin_left_out;
    decisions_.set_policy(rules_.policy());
    mark_plugin();
    decide(clock_(), Cause::policy);
    log_(LogLevel::notice,
         fmt::format("reloaded: {} rules, policy {}; {} of {} jobs changed{}", rules_.rules.size(),
                     decisions_.policy_name(), changed, table_.jobs().size(),
                     rules_.socket_file() == socket_ ? "" : "; a restart is needed for [socket]"));
    report_ignored();
}

bool Daemon::plugin_decides() const {
    const auto& plugin = rules_.parameters.plugin;
    return plugin && plugin->name() == decisions_.policy_name();
}

// Before the plug-in decides for the first time, and when it does no more.
void Daemon::mark_plugin() {
    if (!plugin_decides())
        return left_out_.empty() ? marker_.clear() : marker_.take_over();
    if (!marker_.set(rules_.plugin))
        log_(LogLevel::warning,
             fmt::format("{} cannot be written: if the plug-in crashes the daemon, it is loaded "
                         "again",
                         PluginMarker::beside(socket_.path).string()));
}

// Only the plug-in: other changes of the file come with a reload.
Answer<void> Daemon::load_left_out() {
    auto again =
        read_again_
            ? read_again_()
            : tl::make_unexpected(std::string("there is no rules file to load the plug-in from"));
    if (!again)
        return refuse(EINVAL, again.error());
    rules_.plugin = again->plugin;
    rules_.parameters.plugin = std::move(again->parameters.plugin);
    left_out_.clear();
    return {};
}

Answer<void> Daemon::set_policy(const Caller& caller, std::string_view name) {
    if (caller.uid != 0)
        return refuse(EPERM, "only root may change the policy");
    if (!left_out_.empty() && !make_policy(name, rules_.parameters))
        if (auto loaded = load_left_out(); !loaded)
            return loaded;
    // With the parameters of the rules file.
    auto policy = make_policy(name, rules_.parameters);
    if (!policy)
        return refuse(EINVAL, fmt::format("there is no policy '{}': give one of {}", name,
                                          fmt::join(names_of_policies(rules_.parameters), ", ")));
    decisions_.set_policy(std::move(*policy));
    mark_plugin();
    report_ignored();
    decide(clock_(), Cause::policy);
    return {};
}

} // namespace xpreemptd
