// SPDX-License-Identifier: MIT
// The loop over events: kernels that end, requests that come, decisions.
#include "simulation.hpp"

#include "agenda.hpp"

#include <algorithm>
#include <memory>

namespace sim {

namespace {

class Simulation {
public:
    Simulation(const Scenario& scenario, const RunOptions& options);
    RunResult run();

private:
    static constexpr std::size_t gpu_slot = 0, scheduler_slot = 1, first_source = 2;

    void on_gpu(Time now);
    void on_source(std::size_t job, Time now);
    void report_work(std::size_t job, bool was_busy, Time now);
    void plan(std::size_t job) { agenda_.set(first_source + job, sources_[job]->next()); }
    void plan() {
        agenda_.set(gpu_slot, gpu_.next());
        if (scheduler_)
            agenda_.set(scheduler_slot, scheduler_->next());
    }
    void begin_measuring(Time now);
    [[nodiscard]] RunResult results(Time now);
    [[nodiscard]] RunResult failed(const std::string& fault, Time now);

    const Scenario& scenario_;
    std::vector<std::size_t> of_scenario_; // indexes of the jobs that run
    std::vector<JobSpec> specs_;           // parallel
    Gpu gpu_;
    std::vector<std::unique_ptr<Source>> sources_;
    std::optional<Scheduler> scheduler_;
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

Simulation::Simulation(const Scenario& scenario, const RunOptions& options)
    : scenario_(scenario), of_scenario_(chosen(scenario, options)),
      specs_(specs_of(scenario, of_scenario_)), gpu_(scenario.gpu, specs_),
      agenda_(first_source + specs_.size()) {
    for (std::size_t i = 0; i < specs_.size(); ++i)
        sources_.push_back(make_source(specs_[i], i, scenario.seed, gpu_));
    if (options.policy)
        scheduler_.emplace(scenario, specs_, *options.policy, gpu_);
    if (scheduler_ && options.keep_calls)
        scheduler_->keep_calls();
}

void Simulation::report_work(std::size_t job, bool was_busy, Time now) {
    if (!scheduler_)
        return;
    if (!was_busy && gpu_.is_busy(job))
        scheduler_->on_work(job, now);
    if (const auto until = sources_[job]->take_announcement())
        scheduler_->on_announcement(job, now, *until);
}

void Simulation::on_gpu(Time now) {
    gpu_.on_time(now);
    if (const Gpu::Done* done = gpu_.done()) {
        const Gpu::Done ended = *done;
        sources_[ended.job]->on_done(ended.stream, now);
        // A kernel that follows at once was in the queue already.
        report_work(ended.job, true, now);
        plan(ended.job);
    }
}

void Simulation::on_source(std::size_t job, Time now) {
    const bool was_busy = gpu_.is_busy(job);
    sources_[job]->on_time(now);
    report_work(job, was_busy, now);
    plan(job);
}

void Simulation::begin_measuring(Time now) {
    gpu_.advance(now);
    gpu_.reset_usage();
    for (const auto& source : sources_)
        source->begin_measuring(now);
    if (scheduler_)
        scheduler_->reset_counts();
}

RunResult Simulation::results(Time now) {
    gpu_.advance(now);
    RunResult result;
    result.jobs.resize(scenario_.jobs.size());
    result.measured = now - scenario_.warmup;
    result.events = events_;
    result.runlists = gpu_.runlists();
    if (scheduler_)
        result.calls = scheduler_->calls();
    for (Scheduler::Call& call : result.calls)
        for (Gpu::Change& change : call.changes)
            change.job = of_scenario_[change.job];
    for (std::size_t i = 0; i < specs_.size(); ++i) {
        JobResult& job = result.jobs[of_scenario_[i]];
        const Gpu::Usage usage = gpu_.usage_of(i);
        job = {true, sources_[i]->record(), usage.work, usage.longest_wait, 0, 0,
               0,    gpu_.saves_of(i)};
        if (!scheduler_)
            continue;
        job.edges = scheduler_->counts_of(i).edges;
        job.stops = scheduler_->counts_of(i).stops;
        job.preemptions = scheduler_->counts_of(i).preemptions;
    }
    return result;
}

RunResult Simulation::failed(const std::string& fault, Time now) {
    RunResult result = results(std::max(now, scenario_.warmup + 1));
    result.fault = fault;
    result.ended = now;
    return result;
}

RunResult Simulation::run() {
    for (std::size_t i = 0; i < sources_.size(); ++i) {
        sources_[i]->start();
        plan(i);
    }
    plan();
    const Time end = scenario_.duration;
    bool measures = scenario_.warmup == 0;
    for (Time now = 0;;) {
        const std::size_t slot = agenda_.first();
        const Time next = std::max(now, agenda_.time_of(slot));
        if (!measures && next >= scenario_.warmup) {
            measures = true;
            begin_measuring(scenario_.warmup);
        }
        if (next >= end)
            break;
        now = next;
        ++events_;
        if (slot == gpu_slot)
            on_gpu(now);
        else if (slot != scheduler_slot)
            on_source(slot - first_source, now);
        else if (scheduler_)
            scheduler_->on_time(now);
        if (scheduler_ && !scheduler_->fault().empty())
            return failed(scheduler_->fault(), now);
        plan();
    }
    return results(end);
}

} // namespace

RunResult simulate(const Scenario& scenario, const RunOptions& options) {
    return Simulation(scenario, options).run();
}

} // namespace sim
