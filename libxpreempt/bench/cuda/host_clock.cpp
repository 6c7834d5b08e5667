// SPDX-License-Identifier: MIT
// Matches the clocks by asking a kernel for its time.
#include "host_clock.hpp"

#include "kernels.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <sched.h>
#include <stdexcept>

namespace cuda {

namespace {

constexpr std::uint32_t least_rounds = 8, most_rounds = 128;
constexpr double longest_match_us = 10e3; // on a busy machine
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double good_uncertainty_us = 2.5;
constexpr double usual_answer_us = 5, answer_timeout_us = 10e6;
constexpr double polled_us = 100; // before the end of a wait, as a timer is late by less

} // namespace

void wait_until_us(double time) {
    const double sleep = time - now_us() - polled_us;
    if (sleep > 0) {
        const auto ns = static_cast<long>(sleep * 1e3);
        const timespec pause{ns / 1'000'000'000, ns % 1'000'000'000};
        nanosleep(&pause, nullptr);
    }
    while (now_us() < time) {
    }
}

GpuClock::GpuClock(const Device& device)
    : device_(device), stream_(device.create_stream()), memory_(device, 256),
      mailbox_(memory_.at<std::uint32_t>(mailbox_byte)),
      times_(memory_.at<std::uint64_t>(times_byte)) {
    match();
}

// Asks once. Returns the host's time at the answer.
double GpuClock::ask(std::uint32_t round) {
    const double begin = now_us();
    std::atomic_ref(*mailbox_).store(round, std::memory_order_release);
    while (std::atomic_ref(times_[1]).load(std::memory_order_acquire) != round) {
        const double end = now_us();
        if (end - begin > usual_answer_us)
            sched_yield(); // the fake driver needs a processor
        if (end - begin > answer_timeout_us)
            throw std::runtime_error("the GPU's clock cannot be read: a kernel does not see "
                                     "mapped memory");
    }
    return now_us();
}

GpuClock::Match GpuClock::measure() {
    times_[1] = 0;
    std::atomic_ref(*mailbox_).store(0, std::memory_order_seq_cst);
    device_.check("cuLaunchKernel", device_.launch_answer(stream_, memory_.address(mailbox_byte),
                                                          memory_.address(times_byte)));
    (void)ask(1); // includes the start of the kernel
    if (epoch_ns_ == 0)
        epoch_ns_ = times_[0];
    double least = -infinity, most = infinity; // of the offset
    double gpu_us = 0;
    const double deadline = now_us() + longest_match_us;
    const auto enough = [&](std::uint32_t round) {
        return round > least_rounds && (most - least <= good_uncertainty_us || now_us() > deadline);
    };
    for (std::uint32_t round = 2; round <= most_rounds && !enough(round); ++round) {
        const double begin = now_us();
        const double end = ask(round);
        gpu_us = relative_us(times_[0]);
        least = std::max(least, begin - gpu_us);
        most = std::min(most, end - gpu_us);
    }
    std::atomic_ref(*mailbox_).store(end_of_answers, std::memory_order_release);
    device_.synchronize(stream_);
    // The bounds may cross: some cards count in steps of 1 us.
    return {gpu_us, (least + most) / 2, std::fabs(most - least)};
}

void GpuClock::match() {
    first_ = last_;
    last_ = measure();
    if (first_.uncertainty_us == 0)
        first_ = last_;
}

double GpuClock::relative_us(std::uint64_t gpu_ns) const {
    return static_cast<double>(static_cast<std::int64_t>(gpu_ns - epoch_ns_)) * 1e-3;
}

double GpuClock::to_us(std::uint64_t gpu_ns) const {
    const double gpu_us = relative_us(gpu_ns);
    const double span = last_.gpu_us - first_.gpu_us;
    const double part = span > 0 ? (gpu_us - first_.gpu_us) / span : 0;
    return gpu_us + first_.offset_us + part * (last_.offset_us - first_.offset_us);
}

} // namespace cuda
