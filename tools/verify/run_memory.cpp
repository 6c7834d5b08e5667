// SPDX-License-Identifier: MIT
// Stage memory: VRAM that a held queue's process gives back.
#include "bench.hpp"

#include "kfd-preempt/output/names.hpp"

extern "C" {
#include <linux/kfd_ioctl.h>
}

#include <algorithm>
#include <fmt/format.h>

namespace verify {

namespace {

constexpr std::size_t most_bytes = std::size_t{4} << 30;
constexpr std::size_t num_buffers = 16;
constexpr std::size_t sample_bytes = 65536; // the CPU reads VRAM slowly

// A share of what KFD gives, every word of which is known.
class Hoard {
public:
    explicit Hoard(Gpu& gpu) : device_(gpu.device()) {
        kfd_ioctl_get_available_memory_args available{};
        available.gpu_id = gpu.id();
        error_ = kfd_ioctl(gpu.fd(), AMDKFD_IOC_AVAILABLE_MEMORY, &available);
        const std::size_t share = std::min<std::size_t>(available.available / 4, most_bytes);
        const std::size_t bytes = share / num_buffers / (1 << 21) * (1 << 21);
        if (error_ == 0 && bytes == 0)
            error_ = -ENOMEM;
        while (error_ == 0 && buffers_.size() < num_buffers) {
            kfd_buffer buffer{};
            error_ = kfd_buffer_alloc(device_, KFD_IN_VRAM, bytes, &buffer);
            if (error_ == 0)
                buffers_.push_back(buffer);
        }
        for (std::size_t b = 0; b < buffers_.size(); ++b)
            for (std::size_t i = 0; i < words_of(b).size(); ++i)
                words_of(b)[i] = word(b, i);
    }
    ~Hoard() {
        for (kfd_buffer& buffer : buffers_)
            kfd_buffer_free(device_, &buffer);
    }
    Hoard(const Hoard&) = delete;
    Hoard& operator=(const Hoard&) = delete;

    [[nodiscard]] int error() const { return error_; }
    [[nodiscard]] std::uint64_t bytes() const {
        return buffers_.empty() ? 0 : buffers_.size() * buffers_.front().bytes;
    }
    // One word in so many bytes.
    [[nodiscard]] bool is_right(std::size_t step_bytes) const {
        for (std::size_t b = 0; b < buffers_.size(); ++b)
            for (std::size_t i = 0; i < words_of(b).size(); i += step_bytes / 4)
                if (words_of(b)[i] != word(b, i))
                    return false;
        return true;
    }

private:
    [[nodiscard]] std::span<std::uint32_t> words_of(std::size_t buffer) const {
        return {static_cast<std::uint32_t*>(buffers_[buffer].addr), buffers_[buffer].bytes / 4};
    }
    static std::uint32_t word(std::size_t buffer, std::size_t i) {
        return static_cast<std::uint32_t>(buffer * 0x9e3779b9 + i * 0x85ebca6b);
    }

    kfd_device* device_;
    std::vector<kfd_buffer> buffers_;
    int error_ = 0;
};

kfd_ioctl_preempt_status_args memory_of(const Gpu& gpu, std::uint32_t queue_id) {
    kfd_ioctl_preempt_status_args status{};
    status.queue_id = queue_id;
    status.flags = KFD_PREEMPT_STATUS_COUNT_MEMORY;
    if (kfd_ioctl(gpu.fd(), AMDKFD_IOC_PREEMPT_STATUS, &status) != 0)
        status.valid = 0;
    return status;
}

std::string rate(std::uint64_t bytes, std::uint64_t ns) {
    return fmt::format(
        "{} in {}, {:.3g} GB/s", cli::rounded_size_text(bytes), cli::duration_text(ns),
        static_cast<double>(bytes) / static_cast<double>(std::max<std::uint64_t>(ns, 1)));
}

} // namespace

void run_memory(Bench& bench, Checks& checks) {
    Gpu& gpu = bench.gpu();
    kfd_ioctl_preempt_query_args query{};
    if (preempt_query(gpu.fd(), gpu.id(), &query) != 0 ||
        (query.caps & KFD_PREEMPT_CAP_YIELD_MEMORY) == 0)
        return checks.skip("the driver does not move memory of held processes here");
    const Hoard hoard(gpu);
    if (!checks.check(hoard.error() == 0, "a quarter of the free VRAM is allocated",
                      text_of(hoard.error())))
        return;
    const auto queue = BusyQueue::create(gpu, 2);
    if (!checks.check(queue.has_value(), "a kernel runs", queue ? "" : queue.error()))
        return;
    const std::vector<std::uint32_t> ids{(*queue)->id()};
    Json rounds = Json::array();
    for (unsigned round = 0; round < 3; ++round) {
        Entries stops = stops_of(ids), resumes = resumes_of(ids);
        const auto yielded = send(gpu.fd(), 0, KFD_PREEMPT_SWITCH_YIELD_MEMORY, stops);
        if (!checks.check(yielded.has_value(), "it is stopped, and its memory leaves VRAM",
                          yielded ? "" : yielded.error()))
            return;
        const kfd_ioctl_preempt_status_args away = memory_of(gpu, ids[0]);
        checks.check(away.yielded_bytes >= hoard.bytes(), "all of it",
                     fmt::format("{} of {} bytes", away.yielded_bytes, hoard.bytes()));
        checks.check(hoard.is_right(4), "every word of it is right");
        const auto resumed = send(gpu.fd(), 0, 0, resumes);
        if (!checks.check(resumed.has_value(), "it is resumed, and its memory returns before",
                          resumed ? "" : resumed.error()))
            return;
        const kfd_ioctl_preempt_status_args back = memory_of(gpu, ids[0]);
        checks.check(back.yielded_bytes == 0, "all of it");
        checks.check(hoard.is_right(sample_bytes), "its words are right");
        checks.note(fmt::format("out: {}; back: {}", rate(away.yielded_bytes, away.yield_ns),
                                rate(away.yielded_bytes, back.reclaim_ns)));
        rounds.push_back({{"bytes", away.yielded_bytes},
                          {"yield_ns", away.yield_ns},
                          {"reclaim_ns", back.reclaim_ns}});
    }
    checks.data["moves"] = std::move(rounds);
    checks.check((*queue)->ends_right(), "the kernel ends with the right results");
}

} // namespace verify
