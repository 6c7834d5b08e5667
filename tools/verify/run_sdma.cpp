// SPDX-License-Identifier: MIT
// Stage sdma: a queue of an SDMA engine.
#include "bench.hpp"

extern "C" {
#include "sdma_queue.h"
}

#include <cstring>
#include <fmt/format.h>
#include <thread>

namespace verify {

namespace {

constexpr std::size_t copy_bytes = 1 << 16;
constexpr std::uint32_t arrived = 0x5aa5;

// A queue, two buffers and the word that is written when the copy is done.
class Copying {
public:
    explicit Copying(Gpu& gpu) : device_(gpu.device()) {
        error_ = sdma_queue_create(device_, &queue_);
        if (error_ != 0)
            return;
        created_ = true;
        error_ = kfd_buffer_alloc(device_, KFD_IN_SYSTEM, copy_bytes, &from_);
        if (error_ == 0)
            error_ = kfd_buffer_alloc(device_, KFD_IN_SYSTEM, copy_bytes + 64, &to_);
    }
    ~Copying() {
        if (!created_)
            return;
        sdma_queue_destroy(&queue_);
        kfd_buffer_free(device_, &from_);
        kfd_buffer_free(device_, &to_);
    }
    Copying(const Copying&) = delete;
    Copying& operator=(const Copying&) = delete;

    [[nodiscard]] int error() const { return error_; }
    [[nodiscard]] std::uint32_t id() const { return queue_.id; }
    void submit() {
        std::memset(from_.addr, 0xc3, copy_bytes);
        sdma_copy(&queue_, from_.addr, to_.addr, copy_bytes);
        sdma_fence(&queue_, fence(), arrived);
        sdma_submit(&queue_);
    }
    [[nodiscard]] bool done_within(unsigned ms) const {
        for (; ms > 0; --ms) {
            if (*fence() == arrived)
                return std::memcmp(from_.addr, to_.addr, copy_bytes) == 0;
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        return false;
    }

private:
    [[nodiscard]] volatile std::uint32_t* fence() const {
        return reinterpret_cast<volatile std::uint32_t*>(static_cast<char*>(to_.addr) + copy_bytes);
    }
    kfd_device* device_;
    sdma_queue queue_{};
    kfd_buffer from_{}, to_{};
    int error_ = 0;
    bool created_ = false;
};

} // namespace

void run_sdma(Bench& bench, Checks& checks) {
    Copying copying(bench.gpu());
    if (!checks.check(copying.error() == 0, "an SDMA queue is created", text_of(copying.error())))
        return;
    const std::vector<std::uint32_t> ids{copying.id()};
    Entries stops = stops_of(ids), resumes = resumes_of(ids);
    const auto stopped = send(bench.gpu().fd(), 0, 0, stops);
    if (stops[0].result == -EOPNOTSUPP)
        return checks.skip("the driver does not stop SDMA queues here");
    if (!checks.check(stopped.has_value(), "it is stopped", stopped ? "" : stopped.error()))
        return;
    copying.submit();
    checks.check(!copying.done_within(100), "a copy that is submitted meanwhile does not begin");
    const auto resumed = send(bench.gpu().fd(), 0, 0, resumes);
    checks.check(resumed.has_value(), "it is resumed", resumed ? "" : resumed.error());
    checks.check(copying.done_within(patience_ms), "the copy is made, and right");
}

} // namespace verify
