// SPDX-License-Identifier: MIT
// Suspends of a busy lane at random moments: until they return, and until its last kernel ended.
#include "host_clock.hpp"
#include "parts.hpp"
#include "settings.hpp"

#include <algorithm>
#include <random>
#include <vector>

namespace cuda {

namespace {

constexpr std::uint32_t queued = 64; // kernels that aren't finished, at least, while the lane runs

struct Suspend {
    double called_us, returned_us;
    std::uint64_t last_end_ns;
    std::uint32_t leaked; // kernels that ended after the suspend returned
};

void fill(StampedLane& stamped, double kernel_us) {
    while (stamped.submitted() - stamped.finished() < queued)
        (void)stamped.submit(kernel_us);
}

// Keeps the lane busy until that time.
void run_until(StampedLane& stamped, double kernel_us, double time) {
    do {
        fill(stamped, kernel_us);
        wait_until_us(std::min(time, now_us() + kernel_us * queued / 4));
    } while (now_us() < time);
}

Suspend suspend_once(StampedLane& stamped, double kernel_us) {
    Suspend suspend{};
    suspend.called_us = now_us();
    stamped.lane().suspend();
    suspend.returned_us = now_us();
    const std::uint32_t last = stamped.finished();
    suspend.last_end_ns = stamped.end_ns(last);
    wait_until_us(suspend.returned_us + 2 * kernel_us + 100);
    suspend.leaked = stamped.finished() - last;
    stamped.lane().resume();
    return suspend;
}

void measure(const Measurement& with, GpuClock& clock, double kernel_us) {
    StampedLane stamped(with.device, with.system, kernel_us, false);
    std::mt19937_64 random(with.seed);
    std::uniform_real_distribution<double> moment(2, 10);
    clock.match();
    run_until(stamped, kernel_us, now_us() + 32 * kernel_us); // warm-up
    std::vector<Suspend> suspends;
    for (std::uint32_t i = 0; i < with.amounts.suspends; ++i) {
        // After a resume as many kernels as are in flight have to come first.
        const double pause = std::max(moment(random) * kernel_us, 50.0 * moment(random));
        run_until(stamped, kernel_us, now_us() + pause);
        suspends.push_back(suspend_once(stamped, kernel_us));
    }
    stamped.lane().drop();
    stamped.lane().wait_all();
    clock.match();
    const std::string setting = setting_of(kernel_us);
    for (const Suspend& suspend : suspends) {
        const double end_us = clock.to_us(suspend.last_end_ns);
        with.samples.add("return_us", setting, suspend.returned_us - suspend.called_us);
        with.samples.add("end_us", setting, std::max(end_us - suspend.called_us, 0.0));
        // A lane that had run dry was idle when the call came.
        with.samples.add("behind_us", setting,
                         suspend.returned_us - std::max(end_us, suspend.called_us));
        with.samples.add("leaks", setting, suspend.leaked);
    }
}

} // namespace

void measure_suspends(const Measurement& with) {
    GpuClock clock(with.device);
    for (const double kernel_us : suspend_kernels_us)
        measure(with, clock, kernel_us);
    with.samples.add("clock_uncertainty_us", "", clock.uncertainty_us());
}

} // namespace cuda
