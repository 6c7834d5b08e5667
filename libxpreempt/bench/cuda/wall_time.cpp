// SPDX-License-Identifier: MIT
// Wall and CPU time of kernels back to back.
#include "host_clock.hpp"
#include "parts.hpp"
#include "settings.hpp"

#include <algorithm>

namespace cuda {

namespace {

struct Spin {
    const Device* device;
    std::uint64_t ns;
};

int launch_spin(void* stream, void* argument) {
    const Spin& spin = *static_cast<const Spin*>(argument);
    return spin.device->launch_spin(stream, spin.ns);
}

void run(Lane& lane, Spin& spin, std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i)
        (void)lane.submit(launch_spin, &spin);
    lane.wait_all();
}

} // namespace

void measure_wall_time(const Measurement& with) {
    for (const double kernel_us : wall_kernels_us) {
        Lane lane(with.device, with.system, kernel_us);
        Spin spin{&with.device, static_cast<std::uint64_t>(kernel_us * 1e3)};
        const auto count = static_cast<std::uint32_t>(
            std::clamp(with.amounts.wall_ms * 1e3 / kernel_us, 20.0, 20'000.0));
        run(lane, spin, std::max(count / 4, 10U)); // warm-up; a budget learns the kernel time
        const double cpu = process_cpu_us();
        const double begin = now_us();
        run(lane, spin, count);
        const double end = now_us();
        with.samples.add("wall_us", setting_of(kernel_us), (end - begin) / count);
        with.samples.add("cpu_us", setting_of(kernel_us), (process_cpu_us() - cpu) / count);
    }
}

} // namespace cuda
