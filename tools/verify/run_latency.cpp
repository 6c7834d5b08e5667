// SPDX-License-Identifier: MIT
// Stages latency and fast: times of stops and resumes, by the bytes that are saved.
#include "bench.hpp"

#include "kfd-preempt/output/latency.hpp"
#include "kfd-preempt/output/names.hpp"
#include "kfd/save_cost.hpp"
#include "samples.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <linux/kfd_ioctl.h>
#include <set>

namespace verify {

namespace kfd = xpreempt::kfd;

namespace {

// Waves that stay, in a queue of their own.
class Resident {
public:
    // Says in checks what went wrong, and returns nullptr.
    static std::unique_ptr<Resident> start(Gpu& gpu, std::uint32_t workgroups, Checks& checks);
    ~Resident() {
        if (job_.dev == nullptr)
            return;
        stay_job_end(&job_, 0);
        queue_.reset();
        stay_job_free(&job_);
    }
    Resident(const Resident&) = delete;
    Resident& operator=(const Resident&) = delete;

    [[nodiscard]] std::uint32_t queue_id() const { return queue_->id(); }
    // The queue must be held. Returns 0 if the driver doesn't report it.
    [[nodiscard]] std::uint64_t saved_bytes() const;
    bool ends_right() { return stay_job_end(&job_, patience_ms) && stay_job_errors(&job_) == 0; }

private:
    Resident() = default;
    std::unique_ptr<Queue> queue_;
    stay_job job_{};
};

std::unique_ptr<Resident> Resident::start(Gpu& gpu, std::uint32_t workgroups, Checks& checks) {
    std::unique_ptr<Resident> resident(new Resident);
    auto queue = Queue::create(gpu);
    if (!checks.check(queue.has_value(), "a queue is created", queue ? "" : queue.error()))
        return nullptr;
    resident->queue_ = std::move(*queue);
    const int error = stay_job_start(&resident->job_, resident->queue_->get(), workgroups);
    if (!checks.check(error == 0, fmt::format("a kernel of {} workgroups starts", workgroups),
                      text_of(error)))
        return nullptr;
    if (!checks.check(stay_job_wait_resident(&resident->job_, patience_ms),
                      fmt::format("{} workgroups are on the GPU at once", workgroups),
                      fmt::format("{} of {} waves", stay_job_resident(&resident->job_),
                                  workgroups * STAY_WAVES_A_GROUP)))
        return nullptr;
    return resident;
}

std::uint64_t Resident::saved_bytes() const {
    const aql_queue& queue = *queue_->get();
    std::vector<char> control(std::size_t{queue.dev->ctl_stack_bytes} * queue.dev->num_xcc);
    kfd_ioctl_get_queue_wave_state_args args{};
    args.ctl_stack_address = reinterpret_cast<std::uintptr_t>(control.data());
    args.queue_id = queue.id;
    if (kfd_ioctl(queue.dev->kfd_fd, AMDKFD_IOC_GET_QUEUE_WAVE_STATE, &args) != 0)
        return 0;
    return std::uint64_t{args.ctl_stack_used_size} + args.save_area_used_size;
}

// One stop and one resume. False: said in checks.
bool sample(Gpu& gpu, const Resident& resident, std::uint32_t flags, SizeSamples& samples,
            Checks& checks) {
    const std::vector<std::uint32_t> ids{resident.queue_id()};
    Entries stops = stops_of(ids), resumes = resumes_of(ids);
    const auto stopped = send(gpu.fd(), 0, flags, stops);
    if (!stopped)
        return checks.check(false, "stop", stopped.error());
    samples.stop_ns.push_back(stops[0].latency_ns);
    if (samples.bytes == 0)
        samples.bytes = resident.saved_bytes();
    const auto resumed = send(gpu.fd(), 0, 0, resumes);
    if (!resumed)
        return checks.check(false, "resume", resumed.error());
    samples.resume_ns.push_back(*resumed);
    return true;
}

// Bytes of registers and LDS of the job, for a driver that doesn't report the saved bytes.
std::uint64_t computed_bytes(std::uint32_t workgroups) {
    constexpr std::uint64_t vgpr_bytes = 128 * 64 * 4;
    return workgroups * (STAY_WAVES_A_GROUP * vgpr_bytes + STAY_LDS_BYTES);
}

std::optional<SizeSamples> measure(Gpu& gpu, std::uint32_t workgroups, std::uint32_t flags,
                                   unsigned rounds, Checks& checks) {
    const auto resident = Resident::start(gpu, workgroups, checks);
    if (!resident)
        return std::nullopt;
    SizeSamples samples{workgroups, 0, {}, {}};
    for (unsigned round = 0; round < rounds; ++round)
        if (!sample(gpu, *resident, flags, samples, checks))
            return std::nullopt;
    if (samples.bytes == 0)
        samples.bytes = computed_bytes(workgroups);
    checks.check(resident->ends_right(), "every wave finds its registers and LDS as they were");
    return samples;
}

Json json_of(const std::vector<std::uint64_t>& ns) {
    Json times = cli::json_of(cli::percentiles(ns));
    times["samples_ns"] = ns;
    return times;
}

void record_latencies(const SizeSamples& size, const kfd::StopTime& predicted, Checks& checks) {
    const auto stop = cli::percentiles(size.stop_ns), resume = cli::percentiles(size.resume_ns);
    if (!stop || !resume)
        return;
    const std::string beside = predicted.us_most == 0
                                   ? ""
                                   : fmt::format(", stop predicted {:.1f} to {:.1f} µs",
                                                 predicted.us_least, predicted.us_most);
    checks.note(fmt::format("{:6} workgroups, {:8.2f} MiB: stop p50 {} p90 {} p99 {}, "
                            "resume p50 {}{}",
                            size.workgroups, static_cast<double>(size.bytes) / (1 << 20),
                            cli::duration_text(stop->p50), cli::duration_text(stop->p90),
                            cli::duration_text(stop->p99), cli::duration_text(resume->p50),
                            beside));
}

Json json_of(const kfd::StopTime& predicted) {
    return predicted.us_most == 0
               ? Json(nullptr)
               : Json{{"least", predicted.us_least}, {"most", predicted.us_most}};
}

// From one workgroup to all that fit: two of them a CU, on gfx908 one.
std::set<std::uint32_t> sizes_for(const kfd::Gpu& shape) {
    const std::uint32_t cus = std::max(kfd::compute_units(shape), 1U);
    const std::uint32_t most = shape.gfx_version == 90008 ? cus : 2 * cus;
    std::set<std::uint32_t> sizes;
    for (const std::uint32_t part : {16U, 8U, 4U, 2U, 1U})
        sizes.insert(std::max(most / part, 1U));
    sizes.insert(1);
    return sizes;
}

} // namespace

void run_latency(Bench& bench, Checks& checks) {
    Gpu& gpu = bench.gpu();
    const auto shape = Bench::shape_of(gpu.id());
    if (!checks.check(shape.has_value(), "the topology is readable", shape ? "" : shape.error()))
        return;
    std::vector<SizeSamples> sizes;
    for (const std::uint32_t workgroups : sizes_for(*shape)) {
        auto samples = measure(gpu, workgroups, 0, bench.options().rounds, checks);
        if (!samples)
            return;
        const auto predicted_time = kfd::predict_stop(*shape, kfd::Memory::system, samples->bytes);
        record_latencies(*samples, predicted_time, checks);
        checks.data["sizes"].push_back({{"workgroups", workgroups},
                                        {"bytes", samples->bytes},
                                        {"predicted_us", json_of(predicted_time)},
                                        {"stop", json_of(samples->stop_ns)},
                                        {"resume", json_of(samples->resume_ns)}});
        sizes.push_back(std::move(*samples));
    }
    const Fit fitted = fit(sizes);
    // MB/s of 10^6 bytes are bytes per µs.
    const double predicted =
        static_cast<double>(kfd::memory_mbs(*shape, kfd::Memory::system)) / 1000;
    checks.data["predicted_gbs"] = predicted;
    if (fitted.valid) {
        checks.note(
            fmt::format("a stop takes {:.1f} µs and 1 µs for each {:.1f} KB; the prediction "
                        "has {:.1f} GB/s",
                        fitted.fixed_ns / 1000, fitted.bytes_per_ns, predicted));
        checks.data["fit"] = {{"fixed_ns", fitted.fixed_ns}, {"gbs", fitted.bytes_per_ns}};
    } else {
        checks.note("no line fits: the time of a stop does not grow with the bytes here");
    }
    checks.data["svg"] = plot(sizes, fitted, predicted);
}

void run_fast(Bench& bench, Checks& checks) {
    Gpu& gpu = bench.gpu();
    kfd_ioctl_preempt_query_args query{};
    if (preempt_query(gpu.fd(), gpu.id(), &query) != 0 || (query.caps & KFD_PREEMPT_CAP_FAST) == 0)
        return checks.skip(
            "the driver offers no FAST on this GPU: it is for the firmware scheduler");
    const auto slow = measure(gpu, 1, 0, bench.options().rounds, checks);
    const auto fast = measure(gpu, 1, KFD_PREEMPT_SWITCH_FAST, bench.options().rounds, checks);
    if (!slow || !fast)
        return;
    record_latencies(*slow, {}, checks);
    record_latencies(*fast, {}, checks);
    checks.data = {{"default", json_of(slow->stop_ns)}, {"fast", json_of(fast->stop_ns)}};
}

void run_checkpoint(Bench& bench, Checks& checks) {
    Gpu& gpu = bench.gpu();
    kfd_ioctl_preempt_query_args query{};
    if (preempt_query(gpu.fd(), gpu.id(), &query) != 0 ||
        (query.caps & KFD_PREEMPT_CAP_CHECKPOINT) == 0)
        return checks.skip(
            "the driver offers no CHECKPOINT: its parameter preempt_checkpoint is 0");
    const auto samples =
        measure(gpu, 1, KFD_PREEMPT_SWITCH_CHECKPOINT, bench.options().rounds, checks);
    if (!samples)
        return;
    record_latencies(*samples, {}, checks);
    checks.data = {{"stop", json_of(samples->stop_ns)}, {"resume", json_of(samples->resume_ns)}};
}

} // namespace verify
