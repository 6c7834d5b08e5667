// SPDX-License-Identifier: MIT
// One run for each baseline and policy, then the ratios.
#include "comparison.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <fmt/format.h>
#include <map>
#include <numeric>
#include <thread>

#include "xpreemptd/protocol/attributes.hpp"

namespace sim {

namespace {

constexpr double per_ms = 1e-6;

struct Distribution {
    double mean = 0, p50 = 0, p99 = 0, max = 0;
};

// Nearest rank, in ms.
Distribution distribution_of(std::vector<Time>& times) {
    if (times.empty())
        return {};
    std::ranges::sort(times);
    const auto at = [&](std::size_t percent) {
        const std::size_t rank = (times.size() * percent + 99) / 100;
        return static_cast<double>(times[std::max<std::size_t>(rank, 1) - 1]) * per_ms;
    };
    double sum = 0;
    for (const Time time : times)
        sum += static_cast<double>(time);
    return {sum / static_cast<double>(times.size()) * per_ms, at(50), at(99), at(100)};
}

// Appends, for a band.
void add(JobResult& sum, const JobResult& job) {
    const auto append = [](std::vector<Time>& to, const std::vector<Time>& from) {
        to.insert(to.end(), from.begin(), from.end());
    };
    append(sum.record.latencies, job.record.latencies);
    append(sum.record.first_tokens, job.record.first_tokens);
    append(sum.record.token_times, job.record.token_times);
    sum.record.ended += job.record.ended;
    sum.work += job.work;
    sum.longest_wait = std::max(sum.longest_wait, job.longest_wait);
    sum.stops += job.stops;
    sum.preemptions += job.preemptions;
}

struct Task {
    std::size_t scenario = 0;
    std::string policy;
    RunOptions options;
    bool slices = false;
    // The result: by job, by band, of all.
    std::vector<Measures> jobs;
    std::array<Measures, sched::num_bands> bands{};
    Measures all;
    std::uint64_t events = 0;
    std::string fault;
};

void run(const Scenario& scenario, Task& task) {
    Scenario changed;
    if (task.slices) {
        changed = scenario;
        changed.gpu.processes = 1;
    }
    RunResult result = simulate(task.slices ? changed : scenario, task.options);
    std::array<JobResult, sched::num_bands> bands;
    JobResult all;
    task.jobs.resize(scenario.jobs.size());
    for (std::size_t i = 0; i < scenario.jobs.size(); ++i) {
        if (!result.jobs[i].ran)
            continue;
        add(bands.at(static_cast<std::size_t>(scenario.jobs[i].band)), result.jobs[i]);
        add(all, result.jobs[i]);
        task.jobs[i] = measure(result.jobs[i], result.measured);
    }
    for (std::size_t band = 0; band < sched::num_bands; ++band)
        task.bands.at(band) = measure(bands.at(band), result.measured);
    task.all = measure(all, result.measured);
    task.events = result.events;
    task.fault = fault_text(result);
}

std::vector<sched::Band> bands_of(const Scenario& scenario) {
    std::vector<sched::Band> bands;
    for (std::size_t band = 0; band < sched::num_bands; ++band)
        if (const auto of = static_cast<sched::Band>(band);
            std::ranges::find(scenario.jobs, of, &JobSpec::band) != scenario.jobs.end())
            bands.push_back(of);
    return bands;
}

std::vector<Task> tasks_of(std::span<const Scenario> scenarios, const CompareOptions& options) {
    std::vector<Task> tasks;
    for (std::size_t s = 0; s < scenarios.size(); ++s) {
        const auto append = [&](std::string_view name, RunOptions how, bool slices) {
            Task task;
            task.scenario = s;
            task.policy = name;
            task.options = std::move(how);
            task.slices = slices;
            tasks.push_back(std::move(task));
        };
        for (std::size_t job = 0; job < scenarios[s].jobs.size(); ++job)
            append(alone_name, {.policy = {}, .only_job = job}, false);
        for (const sched::Band band : bands_of(scenarios[s]))
            append(alone_name, {.policy = {}, .only_band = band}, false);
        append(free_name, {}, false);
        if (options.slices && scenarios[s].gpu.hws)
            append(slices_name, {}, true);
        for (const std::string& name : options.policies)
            append(name, {.policy = name}, false);
    }
    return tasks;
}

void run_all(std::span<const Scenario> scenarios, std::vector<Task>& tasks,
             const CompareOptions& options) {
    std::atomic<std::size_t> next = 0, done = 0;
    const auto work = [&] {
        for (std::size_t i = next++; i < tasks.size(); i = next++) {
            run(scenarios[tasks[i].scenario], tasks[i]);
            if (const std::size_t ended = ++done; options.progress)
                options.progress(ended, tasks.size());
        }
    };
    std::vector<std::jthread> threads;
    for (unsigned i = 1; i < options.threads; ++i)
        threads.emplace_back(work);
    work();
}

double ratio(double value, double base) {
    return base > 0 ? value / base : 0;
}

void set_ratios(Measures& of, const Measures& alone, const Measures& free) {
    of.mean_over_alone = ratio(of.mean, alone.mean);
    of.p99_over_alone = ratio(of.p99, alone.p99);
    of.throughput_over_free = ratio(of.rate, free.rate);
    of.work_over_free = ratio(of.share, free.share);
    of.first_token_over_alone = ratio(of.first_token_mean, alone.first_token_mean);
    of.token_over_alone = ratio(of.token_mean, alone.token_mean);
}

// The mean over jobs that have one: a job of which no request ended has none.
void set_band_ratios(Measures& band, std::span<const Measures> jobs, const Measures& free) {
    const auto mean = [&](double Measures::* field) {
        double sum = 0;
        std::size_t count = 0;
        for (const Measures& job : jobs)
            if (job.*field > 0) {
                sum += job.*field;
                ++count;
            }
        return count > 0 ? sum / static_cast<double>(count) : 0;
    };
    for (double Measures::* field :
         {&Measures::mean_over_alone, &Measures::p99_over_alone, &Measures::first_token_over_alone,
          &Measures::token_over_alone})
        band.*field = mean(field);
    band.throughput_over_free = ratio(band.rate, free.rate);
    band.work_over_free = ratio(band.share, free.share);
}

// The bases of ratios: jobs alone, jobs alone with their band, and free sharing.
struct Baselines {
    std::vector<Measures> alone, band_alone;
    const Task& free;
};

Row band_row(const Scenario& scenario, Task& task, sched::Band band, const Baselines& baselines) {
    std::vector<Measures> jobs;
    for (std::size_t i = 0; i < scenario.jobs.size(); ++i) {
        if (scenario.jobs[i].band != band)
            continue;
        jobs.push_back(task.jobs[i]);
        set_ratios(jobs.back(), baselines.band_alone[i], baselines.free.jobs[i]);
    }
    Measures& of = task.bands.at(static_cast<std::size_t>(band));
    set_band_ratios(of, jobs, baselines.free.bands.at(static_cast<std::size_t>(band)));
    return {task.policy,
            fmt::format("{} ({} job{})", xpreemptd::name_of(band), jobs.size(),
                        jobs.size() == 1 ? "" : "s"),
            Row::Of::band, band, of};
}

void add_rows(Comparison& to, const Scenario& scenario, Task& task, const Baselines& baselines) {
    for (std::size_t i = 0; i < scenario.jobs.size(); ++i) {
        const JobSpec& spec = scenario.jobs[i];
        set_ratios(task.jobs[i], baselines.alone[i], baselines.free.jobs[i]);
        to.rows.push_back({task.policy, spec.name, Row::Of::job, spec.band, task.jobs[i]});
    }
    for (const sched::Band band : bands_of(scenario))
        to.rows.push_back(band_row(scenario, task, band, baselines));
    task.all.throughput_over_free = ratio(task.all.rate, baselines.free.all.rate);
    task.all.work_over_free = ratio(task.all.share, baselines.free.all.share);
    to.rows.push_back({task.policy, "all", Row::Of::all, sched::Band::idle, task.all});
}

// The tasks are in the order of tasks_of().
Comparison comparison_of(const Scenario& scenario, std::span<Task> tasks) {
    Comparison comparison;
    comparison.name = scenario.name;
    comparison.published = scenario.published;
    const std::vector<sched::Band> bands = bands_of(scenario);
    comparison.first = bands.front();
    comparison.last = bands.back();
    const std::size_t count = scenario.jobs.size(), free = count + bands.size();
    Baselines baselines{std::vector<Measures>(count), std::vector<Measures>(count), tasks[free]};
    for (std::size_t i = 0; i < count; ++i) {
        const JobSpec& job = scenario.jobs[i];
        comparison.serves = comparison.serves || job.serving.enabled;
        const auto band = std::ranges::find(bands, job.band) - bands.begin();
        baselines.alone[i] = tasks[i].jobs[i];
        baselines.band_alone[i] = tasks[count + static_cast<std::size_t>(band)].jobs[i];
    }
    for (std::size_t i = 0; i < count; ++i) {
        set_ratios(tasks[i].jobs[i], baselines.alone[i], baselines.free.jobs[i]);
        comparison.rows.push_back({std::string(alone_name), scenario.jobs[i].name, Row::Of::job,
                                   scenario.jobs[i].band, tasks[i].jobs[i]});
    }
    for (std::size_t i = 0; i < bands.size(); ++i)
        comparison.rows.push_back(band_row(scenario, tasks[count + i], bands[i], baselines));
    for (std::size_t i = free; i < tasks.size(); ++i)
        add_rows(comparison, scenario, tasks[i], baselines);
    for (const Task& task : tasks) {
        comparison.events += task.events;
        if (comparison.fault.empty())
            comparison.fault = task.fault;
    }
    return comparison;
}

} // namespace

std::string fault_text(const RunResult& result) {
    return result.fault.empty()
               ? ""
               : fmt::format("after {:.6f} s {}",
                             static_cast<double>(result.ended) / static_cast<double>(second),
                             result.fault);
}

Measures measure(JobResult& job, Time measured) {
    const auto passed = static_cast<double>(measured);
    const auto requests = static_cast<double>(std::max<std::uint64_t>(job.record.ended, 1));
    const Distribution latency = distribution_of(job.record.latencies);
    const Distribution first = distribution_of(job.record.first_tokens);
    const Distribution token = distribution_of(job.record.token_times);
    Measures measures;
    measures.requests = job.record.ended;
    measures.rate = static_cast<double>(job.record.ended) * 1e9 / passed;
    measures.mean = latency.mean;
    measures.p50 = latency.p50;
    measures.p99 = latency.p99;
    measures.max = latency.max;
    measures.share = job.work / passed;
    measures.stops = static_cast<double>(job.stops) / requests;
    measures.preemptions = static_cast<double>(job.preemptions) / requests;
    measures.longest_wait = static_cast<double>(job.longest_wait) * per_ms;
    measures.first_token_mean = first.mean;
    measures.first_token_p99 = first.p99;
    measures.token_mean = token.mean;
    measures.token_p99 = token.p99;
    return measures;
}

std::vector<Comparison> compare(std::span<const Scenario> scenarios,
                                const CompareOptions& options) {
    std::vector<Task> tasks = tasks_of(scenarios, options);
    run_all(scenarios, tasks, options);
    std::vector<Comparison> comparisons;
    for (std::size_t s = 0, first = 0; s < scenarios.size(); ++s) {
        std::size_t count = 0;
        while (first + count < tasks.size() && tasks[first + count].scenario == s)
            ++count;
        comparisons.push_back(comparison_of(scenarios[s], std::span(tasks).subspan(first, count)));
        first += count;
    }
    return comparisons;
}

} // namespace sim
