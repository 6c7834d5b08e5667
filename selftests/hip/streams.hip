// SPDX-License-Identifier: MIT
// Order within a stream, order by events between two, and two streams that need each other.
#include "check.hpp"

namespace {

constexpr unsigned group_size = 128;
constexpr unsigned groups = 16;
constexpr unsigned items = group_size * groups;
constexpr unsigned links = 6;
constexpr unsigned exchanges = 40;

// Not commutative: two steps in the wrong order, or one lost, change the result.
__host__ __device__ std::uint32_t step(std::uint32_t x, unsigned index) {
    for (unsigned i = 0; i < 32; ++i)
        x = test::scramble(x * 3 + index);
    return x;
}

__global__ void link(std::uint32_t* values, unsigned index) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    values[i] = step(values[i], index);
}

__global__ void join(std::uint32_t* values, const std::uint32_t* others) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    values[i] = test::scramble(values[i]) ^ others[i];
}

// Two of these take turns. Each runs only when both are on the GPU at once.
__global__ void take_turns(std::uint32_t* turn, std::uint32_t* log, unsigned parity) {
    if (threadIdx.x != 0)
        return;
    for (unsigned n = parity; n < 2 * exchanges; n += 2) {
        while (__hip_atomic_load(turn, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT) != n)
            __builtin_amdgcn_s_sleep(8);
        log[n] = test::scramble(n + parity);
        __hip_atomic_store(turn, n + 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
    }
}

struct Streams {
    hipStream_t first{};
    hipStream_t second{};
    hipEvent_t forked{};
    hipEvent_t joined{};
    Streams() {
        HIP_MUST(hipStreamCreateWithFlags(&first, hipStreamNonBlocking));
        HIP_MUST(hipStreamCreateWithFlags(&second, hipStreamNonBlocking));
        HIP_MUST(hipEventCreate(&forked));
        HIP_MUST(hipEventCreate(&joined));
    }
    Streams(const Streams&) = delete;
    Streams& operator=(const Streams&) = delete;
    ~Streams() {
        (void)hipEventDestroy(joined);
        (void)hipEventDestroy(forked);
        (void)hipStreamDestroy(second);
        (void)hipStreamDestroy(first);
    }
};

std::vector<std::uint32_t> expected(const std::vector<std::uint32_t>& start) {
    std::vector<std::uint32_t> want(start);
    for (std::uint32_t& value : want) {
        for (unsigned n = 0; n < links; ++n)
            value = step(value, n);
        const std::uint32_t other = step(value, 100);
        for (unsigned n = 0; n < links; ++n)
            value = step(value, 10 + n);
        value = test::scramble(value) ^ other;
    }
    return want;
}

void fork_and_join(const Streams& streams, std::uint32_t* values, std::uint32_t* others) {
    for (unsigned n = 0; n < links; ++n)
        link<<<groups, group_size, 0, streams.first>>>(values, n);
    LAUNCH_MUST();
    HIP_MUST(hipMemcpyAsync(others, values, items * sizeof(*others), hipMemcpyDeviceToDevice,
                            streams.first));
    HIP_MUST(hipEventRecord(streams.forked, streams.first));
    HIP_MUST(hipStreamWaitEvent(streams.second, streams.forked, 0));
    link<<<groups, group_size, 0, streams.second>>>(others, 100);
    HIP_MUST(hipEventRecord(streams.joined, streams.second));
    for (unsigned n = 0; n < links; ++n)
        link<<<groups, group_size, 0, streams.first>>>(values, 10 + n);
    HIP_MUST(hipStreamWaitEvent(streams.first, streams.joined, 0));
    join<<<groups, group_size, 0, streams.first>>>(values, others);
    LAUNCH_MUST();
}

} // namespace

int main(int argc, char** argv) {
    test::Rounds rounds("streams", argc, argv, 5);
    const Streams streams;
    std::vector<std::uint32_t> start(items);
    for (unsigned i = 0; i < items; ++i)
        start[i] = test::scramble(i + 77);
    const std::vector<std::uint32_t> want = expected(start);
    std::vector<std::uint32_t> turns(2 * exchanges);
    for (unsigned n = 0; n < turns.size(); ++n)
        turns[n] = test::scramble(n + n % 2);

    test::DeviceArray<std::uint32_t> values(items);
    const test::DeviceArray<std::uint32_t> others(items);
    test::DeviceArray<std::uint32_t> turn(1);
    test::DeviceArray<std::uint32_t> log(2 * exchanges);
    test::Digest digest;
    digest.add(want);
    digest.add(turns);
    while (rounds.next()) {
        values.copy_from(start);
        turn.clear();
        log.clear();
        // These streams don't wait for the null stream, where the above ran.
        HIP_MUST(hipDeviceSynchronize());
        fork_and_join(streams, values.get(), others.get());
        HIP_MUST(hipStreamSynchronize(streams.first));
        HIP_MUST(hipStreamSynchronize(streams.second));
        test::must_equal("value after fork and join", values.to_host(), want);
        if (hipEventQuery(streams.joined) != hipSuccess)
            test::die(1, "an event whose stream is done is not");

        take_turns<<<1, 64, 0, streams.first>>>(turn.get(), log.get(), 0);
        take_turns<<<1, 64, 0, streams.second>>>(turn.get(), log.get(), 1);
        LAUNCH_MUST();
        HIP_MUST(hipDeviceSynchronize());
        test::must_equal("turn of two streams", log.to_host(), turns);
    }
    return test::passed(rounds, digest, "order, events, two streams at once");
}
