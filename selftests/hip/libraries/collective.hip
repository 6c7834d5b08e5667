// SPDX-License-Identifier: MIT
// RCCL: two GPUs add up what each of them has, in kernels that wait for each other across the GPUs.
#include "../check.hpp"

#include <rccl/rccl.h>

#include <array>

namespace {

constexpr std::size_t count = 20000;
constexpr int gpus = 2;

void must(ncclResult_t result, const char* call, int line) {
    if (result != ncclSuccess)
        test::die(2, "line %d: %s: %s", line, call, ncclGetErrorString(result));
}
#define RCCL_MUST(call) must((call), #call, __LINE__)

struct Gpu {
    std::uint32_t* values = nullptr;
    std::uint32_t* sums = nullptr;
    hipStream_t stream = nullptr;
    ncclComm_t communicator = nullptr;
};

std::vector<std::uint32_t> values_of(int gpu) {
    std::vector<std::uint32_t> values(count);
    for (std::size_t i = 0; i < count; ++i)
        values[i] =
            test::scramble(static_cast<std::uint32_t>(i * gpus) + static_cast<std::uint32_t>(gpu));
    return values;
}

std::vector<std::uint32_t> sums() {
    std::vector<std::uint32_t> sums(count, 0);
    for (int gpu = 0; gpu < gpus; ++gpu) {
        const std::vector<std::uint32_t> values = values_of(gpu);
        for (std::size_t i = 0; i < count; ++i)
            sums[i] += values[i];
    }
    return sums;
}

void prepare(std::array<Gpu, gpus>& all) {
    constexpr std::size_t bytes = count * sizeof(std::uint32_t);
    std::array<ncclComm_t, gpus> communicators{};
    RCCL_MUST(ncclCommInitAll(communicators.data(), gpus, nullptr));
    for (int i = 0; i < gpus; ++i) {
        Gpu& gpu = all[static_cast<std::size_t>(i)];
        gpu.communicator = communicators[static_cast<std::size_t>(i)];
        HIP_MUST(hipSetDevice(i));
        HIP_MUST(hipStreamCreate(&gpu.stream));
        HIP_MUST(hipMalloc(reinterpret_cast<void**>(&gpu.values), bytes));
        HIP_MUST(hipMalloc(reinterpret_cast<void**>(&gpu.sums), bytes));
        HIP_MUST(hipMemcpy(gpu.values, values_of(i).data(), bytes, hipMemcpyHostToDevice));
    }
}

} // namespace

int main(int argc, char** argv) {
    test::Rounds rounds("collective", argc, argv, 2);
    int present = 0;
    HIP_MUST(hipGetDeviceCount(&present));
    if (present < gpus)
        test::die(64, "needs %d GPUs, there is %d", gpus, present);
    const std::vector<std::uint32_t> want = sums();
    std::array<Gpu, gpus> all;
    prepare(all);
    test::Digest digest;
    digest.add(want);
    while (rounds.next()) {
        RCCL_MUST(ncclGroupStart());
        for (const Gpu& gpu : all)
            RCCL_MUST(ncclAllReduce(gpu.values, gpu.sums, count, ncclUint32, ncclSum,
                                    gpu.communicator, gpu.stream));
        RCCL_MUST(ncclGroupEnd());
        for (const Gpu& gpu : all) {
            HIP_MUST(hipStreamSynchronize(gpu.stream));
            std::vector<std::uint32_t> got(count);
            HIP_MUST(
                hipMemcpy(got.data(), gpu.sums, count * sizeof(got[0]), hipMemcpyDeviceToHost));
            test::must_equal("sum over the GPUs", got, want);
        }
    }
    for (const Gpu& gpu : all)
        RCCL_MUST(ncclCommDestroy(gpu.communicator));
    return test::passed(rounds, digest, "20000 sums over 2 GPUs");
}
