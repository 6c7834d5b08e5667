// SPDX-License-Identifier: MIT
// Owners over tools/queues.
#include "queues.hpp"

#include "kfd-preempt/output/names.hpp"
#include "kfd/save_cost.hpp"

#include <cstring>
#include <fmt/format.h>
#include <fstream>

namespace verify {

namespace kfd = xpreempt::kfd;

unsigned patience_ms = 60000;

namespace {

// Drivers before 6.13 don't report the sizes of the CWSR area, and accept what the program
// computes.
void compute_sizes(kfd_device& device) {
    const auto gpu = kfd::gpu_of(kfd::Roots{}, device.gpu_id);
    if (device.cwsr_bytes != 0 || !gpu)
        return;
    const kfd::SaveCost cost = kfd::predict_save(*gpu, kfd::Memory::system);
    const std::uint32_t xccs = gpu->xccs == 0 ? 1 : gpu->xccs;
    device.cwsr_bytes = static_cast<std::uint32_t>((cost.full_bytes - cost.debug_bytes) / xccs);
    device.ctl_stack_bytes = static_cast<std::uint32_t>(cost.control_bytes / xccs);
}

} // namespace

std::string text_of(int error) {
    return fmt::format("{} ({})", std::strerror(-error), cli::errno_name(-error));
}

tl::expected<std::unique_ptr<Gpu>, std::string> Gpu::open(std::uint32_t gpu_id) {
    std::unique_ptr<Gpu> gpu(new Gpu);
    const int error =
        gpu_id == 0 ? kfd_device_open(&gpu->device_) : kfd_device_open_gpu(&gpu->device_, gpu_id);
    if (error != 0) {
        gpu->device_.kfd_fd = gpu->device_.render_fd = -1;
        const std::string name = gpu_id == 0 ? "a GPU" : fmt::format("GPU {}", gpu_id);
        return tl::make_unexpected(fmt::format(
            "cannot open {}: {}; `kfd-preempt doctor` says what is missing", name, text_of(error)));
    }
    compute_sizes(gpu->device_);
    // Kernels are written into VRAM by the CPU. Without the register, as in some partitions, that
    // is seen in time all the same, or the first stage fails.
    (void)kfd_hdp_map(&gpu->device_);
    return gpu;
}

bool Gpu::is_software() const {
    std::string vbios;
    std::ifstream(
        fmt::format("/sys/class/drm/renderD{}/device/vbios_version", device_.render_minor)) >>
        vbios;
    return vbios.starts_with("113-VGPU");
}

Gpu::~Gpu() {
    kfd_device_close(&device_);
}

tl::expected<std::unique_ptr<Queue>, std::string> Queue::create(Gpu& gpu) {
    std::unique_ptr<Queue> queue(new Queue);
    if (const int error = aql_queue_create(gpu.device(), &queue->queue_); error != 0) {
        queue->queue_.dev = nullptr;
        return tl::make_unexpected("cannot create a queue: " + text_of(error));
    }
    return queue;
}

Queue::~Queue() {
    if (queue_.dev != nullptr)
        aql_queue_destroy(&queue_);
}

tl::expected<std::unique_ptr<BusyQueue>, std::string> BusyQueue::create(Gpu& gpu,
                                                                        std::uint32_t workgroups) {
    std::unique_ptr<BusyQueue> busy(new BusyQueue);
    auto queue = Queue::create(gpu);
    if (!queue)
        return tl::make_unexpected(queue.error());
    busy->queue_ = std::move(*queue);
    if (const int error = checksum_job_start(&busy->job_, busy->queue_->get(), workgroups, 2);
        error != 0)
        return tl::make_unexpected("cannot start a kernel: " + text_of(error));
    if (!busy->moves())
        return tl::make_unexpected(
            fmt::format("a kernel does not begin within {} s", patience_ms / 1000));
    return busy;
}

BusyQueue::~BusyQueue() {
    if (job_.dev == nullptr)
        return;
    job_stop(&job_);
    // The queue goes first: what it still runs uses the memory of the job.
    queue_.reset();
    job_free(&job_);
}

bool BusyQueue::ends_right() {
    if (ended_)
        return false;
    ended_ = true;
    return job_ends_right(&job_, patience_ms);
}

namespace {

Entries entries_of(std::span<const std::uint32_t> queue_ids, std::uint16_t op,
                   std::uint16_t preempt_type) {
    Entries entries;
    for (const std::uint32_t id : queue_ids) {
        kfd_preempt_switch_entry entry{};
        entry.queue_id = id;
        entry.op = op;
        entry.preempt_type = preempt_type;
        entries.push_back(entry);
    }
    return entries;
}

} // namespace

Entries stops_of(std::span<const std::uint32_t> queue_ids) {
    return entries_of(queue_ids, KFD_PREEMPT_OP_PREEMPT, KFD_PREEMPT_TYPE_SAVE);
}

Entries resumes_of(std::span<const std::uint32_t> queue_ids) {
    return entries_of(queue_ids, KFD_PREEMPT_OP_RESUME, 0);
}

tl::expected<std::uint64_t, std::string> send(int fd, pid_t pid, std::uint32_t flags,
                                              Entries& entries) {
    const auto begin = std::chrono::steady_clock::now();
    const int error =
        preempt_switch(fd, pid, flags, entries.data(), static_cast<std::uint32_t>(entries.size()));
    const auto took = std::chrono::steady_clock::now() - begin;
    if (error != 0)
        return tl::make_unexpected(text_of(error));
    for (const kfd_preempt_switch_entry& entry : entries)
        if (entry.result != 0)
            return tl::make_unexpected(
                fmt::format("queue {}: {}", entry.queue_id, text_of(entry.result)));
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(took).count());
}

} // namespace verify
