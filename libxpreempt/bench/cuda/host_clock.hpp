// SPDX-License-Identifier: MIT
// The clocks of the host, and the GPU's clock as one of them.
#pragma once

#include "device.hpp"

#include <cstdint>
#include <ctime>

namespace cuda {

inline double clock_us(clockid_t clock) {
    timespec now{};
    clock_gettime(clock, &now);
    return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) * 1e-3;
}
inline double now_us() {
    return clock_us(CLOCK_MONOTONIC);
}
inline double process_cpu_us() {
    return clock_us(CLOCK_PROCESS_CPUTIME_ID);
}

// Sleeps until shortly before that time, then polls.
void wait_until_us(double time);

// Converts %globaltimer to now_us(). A kernel answers with its time through mapped memory, at a
// moment between two readings of the host's clock; all answers together bound the offset, to about
// 1 us.
class GpuClock {
public:
    explicit GpuClock(const Device& device);
    ~GpuClock() { (void)device_.driver().stream_destroy(stream_); }
    GpuClock(const GpuClock&) = delete;
    GpuClock& operator=(const GpuClock&) = delete;
    GpuClock(GpuClock&&) = delete;
    GpuClock& operator=(GpuClock&&) = delete;

    // Measures the offset now, on an idle GPU. Times between two matches are interpolated.
    void match();
    [[nodiscard]] double to_us(std::uint64_t gpu_ns) const;
    [[nodiscard]] double uncertainty_us() const { return last_.uncertainty_us; }

private:
    struct Match {
        double gpu_us;
        double offset_us; // host less GPU
        double uncertainty_us;
    };
    double ask(std::uint32_t round);
    Match measure();
    [[nodiscard]] double relative_us(std::uint64_t gpu_ns) const;

    const Device& device_;
    Handle stream_;
    // Lines of their own, so that the two directions don't disturb each other.
    static constexpr std::size_t mailbox_byte = 0, times_byte = 128;
    MappedMemory memory_;
    std::uint32_t* const mailbox_;
    std::uint64_t* const times_;
    std::uint64_t epoch_ns_ = 0; // keeps the numbers small
    Match first_{}, last_{};
};

} // namespace cuda
