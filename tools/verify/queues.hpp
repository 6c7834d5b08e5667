// SPDX-License-Identifier: MIT
// Owners of a GPU, of queues with a job, and the calls that stop and resume them.
#pragma once

extern "C" {
#include "aql_queue.h"
#include "jobs.h"
#include "kfd_device.h"
#include "preempt.h"
#include "stay_job.h"
}

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <tl/expected.hpp>
#include <vector>

namespace verify {

// How long anything may take that depends on the GPU. Set once, by --patience.
extern unsigned patience_ms;

std::string text_of(int error); // of a negative errno: "Device or resource busy (EBUSY)"

class Gpu {
public:
    // 0: the first one.
    static tl::expected<std::unique_ptr<Gpu>, std::string> open(std::uint32_t gpu_id);
    ~Gpu();
    Gpu(const Gpu&) = delete;
    Gpu& operator=(const Gpu&) = delete;

    kfd_device* device() { return &device_; }
    [[nodiscard]] std::uint32_t id() const { return device_.gpu_id; }
    [[nodiscard]] int fd() const { return device_.kfd_fd; }
    [[nodiscard]] bool is_software() const; // selftests/vgpu

private:
    Gpu() = default;
    kfd_device device_{};
};

// A compute queue without work. The GPU must outlive it.
class Queue {
public:
    static tl::expected<std::unique_ptr<Queue>, std::string> create(Gpu& gpu);
    ~Queue();
    Queue(const Queue&) = delete;
    Queue& operator=(const Queue&) = delete;

    aql_queue* get() { return &queue_; }
    [[nodiscard]] std::uint32_t id() const { return queue_.id; }

private:
    Queue() = default;
    aql_queue queue_{};
};

// A queue in which a kernel computes a checksum until it is stopped: see tools/queues/jobs.h.
class BusyQueue {
public:
    // Returns when every workgroup has made two iterations.
    static tl::expected<std::unique_ptr<BusyQueue>, std::string> create(Gpu& gpu,
                                                                        std::uint32_t workgroups);
    ~BusyQueue();
    BusyQueue(const BusyQueue&) = delete;
    BusyQueue& operator=(const BusyQueue&) = delete;

    [[nodiscard]] std::uint32_t id() const { return queue_->id(); }
    [[nodiscard]] bool stands_still(unsigned polls = 20) const {
        return job_stands_still(&job_, polls);
    }
    [[nodiscard]] bool moves() const { return job_wait_progress(&job_, 2, patience_ms); }
    // The kernel ends, and every word of its results is right. Once.
    bool ends_right();

private:
    BusyQueue() = default;
    std::unique_ptr<Queue> queue_;
    job job_{};
    bool ended_ = false;
};

using Entries = std::vector<kfd_preempt_switch_entry>;

Entries stops_of(std::span<const std::uint32_t> queue_ids);
Entries resumes_of(std::span<const std::uint32_t> queue_ids);

// Returns the time of the call in ns, or why it or the first of its entries failed. pid 0: own
// queues. Entries have results.
tl::expected<std::uint64_t, std::string> send(int fd, pid_t pid, std::uint32_t flags,
                                              Entries& entries);

} // namespace verify
