// SPDX-License-Identifier: MIT
// The loop over events: kernels that end, requests that come, decisions.
#include "simulation.hpp"

#include "agenda.hpp"
#include "source.hpp"
#include "xpreemptd/scheduling/daemon.hpp"

#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <memory>
#include <utility>

namespace sim {

namespace {

class Simulation {
public:
    Simulation(const Scenario& scenario, const RunOptions& options);
    RunResult run();

private:
    static constexpr std::size_t gpu_slot = 0, ring_slot = 1, timer_slot = 2, first_source = 3;

    struct Announcement {
        std::size_t job;
        Time until;
    };

    bool step();
    void on_gpu();
    void on_source(std::size_t job);
    void report_work(std::size_t job, bool was_busy);
    void start_daemon(const std::string& policy, bool keep_calls);
    void run_call();
    void run_daemon(std::size_t slot);
    void note_preemptions(std::uint64_t from);
    void plan(std::size_t job) { agenda_.set(first_source + job, sources_[job]->next()); }
    void plan();
    void begin_measuring();
    [[nodiscard]] RunResult results(Time now);

    const Scenario& scenario_;
    std::vector<std::size_t> of_scenario_; // indexes of the jobs that run
    std::vector<JobSpec> specs_;           // parallel
    Gpu gpu_;
    std::vector<std::unique_ptr<Source>> sources_;
    Time now_ = 0;
    bool measures_ = false, ended_ = false;
    std::unique_ptr<ModelProvider> provider_; // and the daemon: null without a policy
    std::unique_ptr<xpreemptd::Daemon> daemon_;
    std::vector<Announcement> announcements_; // that the daemon hasn't got yet
    std::vector<std::uint64_t> edges_before_, preemptions_;
    std::string fault_;
    Agenda agenda_;
    std::uint64_t events_ = 0;
};

std::vector<std::size_t> chosen(const Scenario& scenario, const RunOptions& options) {
    std::vector<std::size_t> jobs;
    for (std::size_t i = 0; i < scenario.jobs.size(); ++i)
        if (options.only_job.value_or(i) == i &&
            options.only_band.value_or(scenario.jobs[i].band) == scenario.jobs[i].band)
            jobs.push_back(i);
    return jobs;
}

std::vector<JobSpec> specs_of(const Scenario& scenario, std::span<const std::size_t> jobs) {
    std::vector<JobSpec> specs;
    for (const std::size_t job : jobs)
        specs.push_back(scenario.jobs[job]);
    return specs;
}

// As a rule sets it.
template <typename Value, typename Seen> Value value_of(Seen seen) {
    if constexpr (std::is_same_v<Value, Seen>)
        return seen;
    else
        return std::chrono::duration_cast<Value>(seen);
}

// The attributes of each job, by the executable that its process has.
xpreemptd::Rules rules_of(const Scenario& scenario, std::span<const JobSpec> jobs,
                          const std::string& policy) {
    xpreemptd::Rules rules;
    rules.policy_name = policy;
    rules.parameters = scenario.policies;
    rules.max_decide = std::chrono::hours{1}; // of CPU time, which differs from run to run
    rules.socket = "/dev/null/socket";        // so no marker of a plug-in can be beside it
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        xpreemptd::Rule& rule = rules.rules.emplace_back();
        rule.executable = fmt::format("/{}", i);
#define JOB_ATTRIBUTE(kind, name, least, most, initial, ...)                                       \
    if (jobs[i].name != attribute::kind::seen(initial))                                            \
        rule.set.name = value_of<attribute::kind::Value>(jobs[i].name);
#define ATTRIBUTE JOB_ATTRIBUTE
#include "base/attributes.def"
    }
    return rules;
}

xpreemptd::ProcessFacts facts_of(std::size_t job, const JobSpec& spec) {
    xpreemptd::ProcessFacts facts;
    facts.pid = ModelProvider::pid_of(job);
    facts.parent = 1;
    facts.uid = static_cast<uid_t>(job); // each user has a focus
    facts.executable = facts.cgroup = fmt::format("/{}", job);
    facts.cpu_priority = spec.cpu_priority;
    return facts;
}

Simulation::Simulation(const Scenario& scenario, const RunOptions& options)
    : scenario_(scenario), of_scenario_(chosen(scenario, options)),
      specs_(specs_of(scenario, of_scenario_)), gpu_(scenario.gpu, specs_),
      edges_before_(specs_.size()), preemptions_(specs_.size()),
      agenda_(first_source + specs_.size()) {
    for (std::size_t i = 0; i < specs_.size(); ++i)
        sources_.push_back(make_source(specs_[i], i, scenario.seed, gpu_));
    if (options.policy)
        start_daemon(*options.policy, options.keep_calls);
}

void Simulation::start_daemon(const std::string& policy, bool keep_calls) {
    provider_ =
        std::make_unique<ModelProvider>(scenario_, specs_, gpu_, now_, [this] { run_call(); });
    if (keep_calls)
        provider_->keep_calls();
    const auto facts = [this](pid_t pid) {
        const std::size_t job = ModelProvider::job_of(pid);
        return facts_of(job, specs_[job]);
    };
    daemon_ = std::make_unique<xpreemptd::Daemon>(
        *provider_, rules_of(scenario_, specs_, policy), facts,
        [facts](pid_t pid) {
            const xpreemptd::ProcessFacts of = facts(pid);
            return xpreemptd::ProcessOrigin{of.parent, of.start_ticks, of.cpu_priority};
        },
        [this] { return ModelProvider::daemon_time(now_); },
        [this](xpreemptd::LogLevel level, const std::string& /*line*/) {
            if (level == xpreemptd::LogLevel::error)
                fault_ = daemon_->status().ejected;
        });
    daemon_->set_polls({std::chrono::nanoseconds{scenario_.gpu.hurried_poll},
                        std::chrono::nanoseconds{scenario_.gpu.calm_poll}});
    daemon_->start();
    for (std::size_t i = 0; i < specs_.size(); ++i)
        if (specs_[i].focused)
            (void)daemon_->focus({}, ModelProvider::pid_of(i));
}

void Simulation::report_work(std::size_t job, bool was_busy) {
    if (!daemon_)
        return;
    if (!was_busy && gpu_.is_busy(job))
        provider_->on_work(job);
    if (const auto until = sources_[job]->take_announcement())
        announcements_.push_back({job, *until});
}

void Simulation::on_gpu() {
    gpu_.on_time(now_);
    if (const Gpu::Done* done = gpu_.done()) {
        const Gpu::Done ended = *done;
        sources_[ended.job]->on_done(ended.stream, now_);
        // A kernel that follows at once was in the queue already.
        report_work(ended.job, true);
        plan(ended.job);
    }
}

void Simulation::on_source(std::size_t job) {
    const bool was_busy = gpu_.is_busy(job);
    sources_[job]->on_time(now_);
    report_work(job, was_busy);
    plan(job);
}

// The daemon waits for it.
void Simulation::run_call() {
    plan();
    while (gpu_.in_call() && step()) {
    }
}

void Simulation::run_daemon(std::size_t slot) {
    const std::uint64_t calls = provider_->count(), from = daemon_->trace(std::nullopt).next;
    for (const auto& [job, until] : std::exchange(announcements_, {})) {
        const auto within = std::chrono::nanoseconds{until - now_};
        const xpreemptd::Caller caller{ModelProvider::pid_of(job), 0, job + 1};
        (void)daemon_->hint(
            caller, xpreemptd::SoonHint{std::chrono::ceil<std::chrono::microseconds>(within)});
    }
    if (slot == timer_slot)
        daemon_->on_time();
    else if (provider_->next() <= now_)
        daemon_->on_events();
    if (provider_->count() != calls)
        note_preemptions(from);
}

void Simulation::note_preemptions(std::uint64_t from) {
    std::uint64_t last = 0; // job of this decision
    for (const auto& [record, gpu_ids] : daemon_->trace(from).records) {
        if (record.what == xpreemptd::Happening::decision)
            last = 0;
        if (record.what == xpreemptd::Happening::stop && record.for_job != 0 &&
            std::exchange(last, record.for_job) != record.for_job)
            ++preemptions_[record.for_job - 1];
    }
}

void Simulation::plan() {
    agenda_.set(gpu_slot, gpu_.next());
    if (!daemon_)
        return;
    const bool waits = gpu_.in_call();
    agenda_.set(ring_slot, waits ? never : announcements_.empty() ? provider_->next() : now_);
    agenda_.set(timer_slot, waits ? never : ModelProvider::time_of(daemon_->next()));
}

void Simulation::begin_measuring() {
    measures_ = true;
    gpu_.advance(scenario_.warmup);
    gpu_.reset_usage();
    for (const auto& source : sources_)
        source->begin_measuring(scenario_.warmup);
    if (!daemon_)
        return;
    provider_->reset_stops();
    preemptions_.assign(specs_.size(), 0);
    const auto jobs = daemon_->jobs();
    std::ranges::transform(jobs, edges_before_.begin(), &xpreemptd::JobReport::ready_edges);
}

RunResult Simulation::results(Time now) {
    gpu_.advance(now);
    RunResult result;
    result.jobs.resize(scenario_.jobs.size());
    result.measured = now - scenario_.warmup;
    result.events = events_;
    result.runlists = gpu_.runlists();
    result.fault = fault_;
    result.ended = now_;
    if (provider_)
        result.calls = provider_->calls();
    for (ModelProvider::Call& call : result.calls)
        for (Gpu::Change& change : call.changes)
            change.job = of_scenario_[change.job];
    const auto reports = daemon_ ? daemon_->jobs() : std::vector<xpreemptd::JobReport>{};
    for (std::size_t i = 0; i < specs_.size(); ++i) {
        JobResult& job = result.jobs[of_scenario_[i]];
        const Gpu::Usage usage = gpu_.usage_of(i);
        job = {.ran = true,
               .record = sources_[i]->record(),
               .work = usage.work,
               .longest_wait = usage.longest_wait,
               .preemptions = preemptions_[i],
               .saves = gpu_.saves_of(i)};
        if (!daemon_)
            continue;
        job.edges = reports[i].ready_edges - edges_before_[i];
        job.stops = provider_->stops_of(i);
    }
    return result;
}

// Returns false at the end of the run.
bool Simulation::step() {
    const std::size_t slot = agenda_.first();
    const Time next = std::max(now_, agenda_.time_of(slot));
    if (!measures_ && next >= scenario_.warmup)
        begin_measuring();
    ended_ = ended_ || next >= scenario_.duration || !fault_.empty();
    if (ended_)
        return false;
    now_ = next;
    ++events_;
    if (slot == gpu_slot)
        on_gpu();
    else if (slot >= first_source)
        on_source(slot - first_source);
    else
        run_daemon(slot);
    plan();
    return true;
}

RunResult Simulation::run() {
    for (std::size_t i = 0; i < sources_.size(); ++i) {
        sources_[i]->start();
        plan(i);
    }
    plan();
    while (step()) {
    }
    return results(fault_.empty() ? scenario_.duration : std::max(now_, scenario_.warmup + 1));
}

} // namespace

RunResult simulate(const Scenario& scenario, const RunOptions& options) {
    return Simulation(scenario, options).run();
}

} // namespace sim
