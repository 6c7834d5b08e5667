// SPDX-License-Identifier: MIT
// Cost of a submit: in a stream of tiny kernels, in bursts, and while suspended.
#include "host_clock.hpp"
#include "parts.hpp"

#include <cstdio>
#include <sys/resource.h>
#include <unistd.h>

namespace cuda {

namespace {

int launch_tiny(void* stream, void* device) {
    return static_cast<const Device*>(device)->launch_tiny(stream);
}

void submit(Lane& lane, std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i)
        (void)lane.submit(launch_tiny, const_cast<Device*>(&lane.device()));
}

double voluntary_switches() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<double>(usage.ru_nvcsw);
}

double resident_mib() {
    std::FILE* file = std::fopen("/proc/self/statm", "re");
    unsigned long size = 0, resident = 0;
    const bool read = file != nullptr && std::fscanf(file, "%lu %lu", &size, &resident) == 2;
    if (file != nullptr)
        std::fclose(file);
    return read ? static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE)) /
                      (1024 * 1024)
                : 0;
}

} // namespace

void measure_submits(const Measurement& with) {
    Lane lane(with.device, with.system, 0);
    submit(lane, 1000); // warm-up
    lane.wait_all();

    const std::uint32_t count = with.amounts.submits;
    const double switches = voluntary_switches();
    const double cpu = process_cpu_us();
    const double begin = now_us();
    submit(lane, count);
    const double submitted = now_us();
    lane.wait_all();
    const double end = now_us();
    with.samples.add("stream_submit_ns", "", (submitted - begin) * 1e3 / count);
    with.samples.add("stream_wall_ns", "", (end - begin) * 1e3 / count);
    with.samples.add("stream_cpu_ns", "", (process_cpu_us() - cpu) * 1e3 / count);
    with.samples.add("switches_per_100k", "", (voluntary_switches() - switches) * 1e5 / count);

    double submitting = 0;
    std::uint32_t done = 0;
    for (; done < count; done += with.amounts.burst) {
        const double burst = now_us();
        submit(lane, with.amounts.burst);
        submitting += now_us() - burst;
        lane.wait_all();
    }
    with.samples.add("burst_submit_ns", "", submitting * 1e3 / done);
}

void measure_drain(const Measurement& with) {
    Lane lane(with.device, with.system, 0);
    submit(lane, 1000);
    lane.wait_all();

    const std::uint32_t count = with.amounts.drained;
    lane.suspend();
    const double resident = resident_mib();
    const double begin = now_us();
    submit(lane, count);
    const double submitted = now_us();
    with.samples.add("suspended_submit_ns", "", (submitted - begin) * 1e3 / count);
    with.samples.add("queued_mib", "", resident_mib() - resident);

    const double cpu = process_cpu_us();
    const double resumed = now_us();
    lane.resume();
    lane.wait_all();
    with.samples.add("drain_wall_ns", "", (now_us() - resumed) * 1e3 / count);
    with.samples.add("drain_cpu_ns", "", (process_cpu_us() - cpu) * 1e3 / count);
}

} // namespace cuda
