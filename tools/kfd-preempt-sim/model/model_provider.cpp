// SPDX-License-Identifier: MIT
// Rings become events after their time, switches of queues become one call of the model.
#include "model_provider.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <utility>

namespace sim {

namespace {

using xpreemptd::Result;

constexpr double p99_in_sigmas = 2.3263; // of a normal distribution

std::uint32_t first_node_of(const JobSpec& job) {
    return static_cast<std::uint32_t>(std::countr_zero(job.nodes));
}
std::uint32_t gpu_id_of(std::uint32_t node) {
    return node + 1;
}

} // namespace

ModelProvider::ModelProvider(const Scenario& scenario, std::span<const JobSpec> jobs, Gpu& gpu,
                             const Time& now, std::function<void()> run_call)
    : jobs_(jobs), gpu_(gpu), now_(now), run_call_(std::move(run_call)),
      random_(scenario.seed, "/sensing"), measures_(scenario.gpu.measure_switches),
      processes_(jobs.size()) {
    const GpuModel& model = scenario.gpu;
    const bool trap = model.sensing == Sensing::trap;
    median_ = static_cast<double>(trap ? model.trap_p50 : model.poll_p50);
    const auto p99 = static_cast<double>(trap ? model.trap_p99 : model.poll_p99);
    sigma_ = median_ > 0 ? std::log(p99 / median_) / p99_in_sigmas : 0;
}

void ModelProvider::reset_stops() {
    for (Process& process : processes_)
        process.stops = 0;
}

void ModelProvider::on_work(std::size_t job) {
    Process& process = processes_[job];
    if (!std::exchange(process.armed, false))
        return;
    process.rang = now_;
    process.rings_at = now_ + round_time(median_ > 0 ? random_.lognormal(median_, sigma_) : 0);
    next_ = std::min(next_, process.rings_at);
}

Result<std::vector<pid_t>> ModelProvider::processes() {
    std::vector<pid_t> pids;
    for (std::size_t job = 0; job < jobs_.size(); ++job)
        pids.push_back(pid_of(job));
    return pids;
}

Result<std::vector<std::uint32_t>> ModelProvider::queue_ids(pid_t pid) {
    std::vector<std::uint32_t> ids;
    for (std::uint64_t left = jobs_[job_of(pid)].nodes; left != 0; left &= left - 1)
        ids.push_back(static_cast<std::uint32_t>(std::countr_zero(left)));
    return ids;
}

Result<xpreemptd::QueueFound> ModelProvider::describe(pid_t /*pid*/, std::uint32_t queue_id) {
    return xpreemptd::QueueFound{.gpu_id = gpu_id_of(queue_id), .compute = true};
}

Result<xpreemptd::QueueReading> ModelProvider::read(pid_t pid, std::uint32_t queue_id) {
    const std::size_t job = job_of(pid);
    return xpreemptd::QueueReading{.uid = job * sched::max_nodes + queue_id + 1,
                                   .doorbell = queue_id,
                                   .known = true,
                                   .busy = gpu_.is_busy(job),
                                   .held = gpu_.is_held(job)};
}

Result<std::uint32_t> ModelProvider::watch(pid_t pid, std::uint64_t cookie, bool /*gives*/) {
    processes_[job_of(pid)].cookie = cookie;
    return static_cast<std::uint32_t>(pid);
}

Result<void> ModelProvider::arm(std::span<xpreemptd::Arming> entries) {
    for (xpreemptd::Arming& entry : entries) {
        const std::size_t job = job_of(static_cast<pid_t>(entry.watch_id));
        processes_[job].armed = true;
        entry.busy = gpu_.is_busy(job);
    }
    return {};
}

Result<std::size_t> ModelProvider::take_events(std::span<xpreemptd::Event> events) {
    std::size_t count = 0;
    next_ = never;
    for (std::size_t job = 0; job < processes_.size(); ++job) {
        Process& process = processes_[job];
        if (process.rings_at > now_ || count == events.size()) {
            next_ = std::min(next_, process.rings_at);
            continue;
        }
        process.rings_at = never;
        const std::uint32_t node = first_node_of(jobs_[job]);
        events[count++] = {.cookie = process.cookie,
                           .when = daemon_time(process.rang),
                           .gpu_id = gpu_id_of(node),
                           .doorbell = node};
    }
    return count;
}

Result<void> ModelProvider::change(std::span<xpreemptd::Switch> switches) {
    Call call{now_, {}};
    for (xpreemptd::Switch& each : switches) {
        // The daemon doesn't measure calls that were not needed.
        each.result = measures_ ? 0 : EALREADY;
        const std::size_t job = job_of(each.pid);
        if (!call.changes.empty() && call.changes.back().job == job)
            continue; // its queue on another node
        const bool stop = each.change == xpreemptd::Change::stop;
        call.changes.push_back({job, stop});
        processes_[job].stops += stop ? 1U : 0U;
    }
    ++count_;
    if (keeps_calls_)
        calls_.push_back(call);
    gpu_.begin_call(call.changes, now_);
    run_call_();
    return {};
}

Result<xpreemptd::VramUse> ModelProvider::vram_of(pid_t /*pid*/, std::uint32_t /*queue_id*/) {
    return xpreempt::fail(EOPNOTSUPP, xpreempt::Op::queue_status);
}

Result<std::uint64_t> ModelProvider::free_vram(std::uint32_t /*gpu_id*/) {
    return xpreempt::fail(EOPNOTSUPP, xpreempt::Op::queue_status);
}

} // namespace sim
