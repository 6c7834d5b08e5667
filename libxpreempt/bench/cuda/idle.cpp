// SPDX-License-Identifier: MIT
// One command on an idle lane: until its kernel starts, and until a wait for it returns.
#include "host_clock.hpp"
#include "parts.hpp"

#include <random>
#include <vector>

namespace cuda {

void measure_idle_starts(const Measurement& with) {
    GpuClock clock(with.device);
    StampedLane stamped(with.device, with.system, 0, false);
    std::mt19937_64 random(with.seed);
    std::uniform_real_distribution<double> rest_us(500, 1500);
    struct Start {
        double called_us, returned_us;
        std::uint64_t begin_ns;
    };
    std::vector<Start> starts;
    constexpr std::uint32_t warm_up = 10;
    for (std::uint32_t i = 0; i < with.amounts.idle_submits + warm_up; ++i) {
        wait_until_us(now_us() + rest_us(random));
        Start start{};
        start.called_us = now_us();
        const std::uint64_t ticket = stamped.submit(0);
        stamped.lane().wait(ticket);
        start.returned_us = now_us();
        start.begin_ns = stamped.begin_ns(stamped.finished());
        if (i >= warm_up)
            starts.push_back(start);
    }
    clock.match();
    for (const Start& start : starts) {
        with.samples.add("start_us", "", clock.to_us(start.begin_ns) - start.called_us);
        with.samples.add("wait_us", "", start.returned_us - start.called_us);
    }
}

} // namespace cuda
