// SPDX-License-Identifier: MIT
// Takes scratch memory back from queues whose kernels use it. From MEC 177 on ROCr can do that
// while the queue stays in use.
#include "check.hpp"

#include <hsa/hsa_ext_amd.h>

#include <memory>

namespace {

constexpr unsigned group_size = 128;
constexpr unsigned groups = 6;
constexpr unsigned items = group_size * groups;
constexpr unsigned streams = 3;
constexpr unsigned launches = 4; // on each stream, between two changes of the limit

// A private array indexed by data. The larger one needs more scratch than its queue has.
template <unsigned words> __host__ __device__ std::uint32_t shuffle(std::uint32_t seed) {
    std::uint32_t deck[words];
    for (unsigned i = 0; i < words; ++i)
        deck[i] = i * 0x9e3779b9u + seed;
    std::uint32_t x = seed;
    for (unsigned i = 0; i < 150; ++i) {
        x = test::scramble(x + deck[x % words]);
        deck[x % words] += x;
    }
    std::uint32_t sum = 0;
    for (unsigned i = 0; i < words; ++i)
        sum = sum * 31 + deck[(deck[i] ^ x) % words];
    return sum;
}

template <unsigned words> __global__ void shuffle_all(std::uint32_t* values) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    values[i] = shuffle<words>(values[i]);
}

void hsa_must(hsa_status_t status, const char* call) {
    if (status != HSA_STATUS_SUCCESS)
        test::die(2, "%s: status 0x%x", call, static_cast<unsigned>(status));
}
#define HSA_MUST(call) hsa_must((call), #call)

// The scratch that ROCr lets a queue keep. A lower limit takes it back from those that have more.
class ScratchLimit {
public:
    ScratchLimit() {
        HSA_MUST(hsa_init());
        HSA_MUST(hsa_iterate_agents(
            [](hsa_agent_t agent, void* found) {
                hsa_device_type_t type{};
                HSA_MUST(hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type));
                if (type == HSA_DEVICE_TYPE_GPU)
                    *static_cast<hsa_agent_t*>(found) = agent;
                return HSA_STATUS_SUCCESS;
            },
            &agent_));
        HSA_MUST(hsa_agent_get_info(
            agent_, static_cast<hsa_agent_info_t>(HSA_AMD_AGENT_INFO_SCRATCH_LIMIT_CURRENT),
            &usual_));
    }
    void take_all_back() const { HSA_MUST(hsa_amd_agent_set_async_scratch_limit(agent_, 0)); }
    void restore() const { HSA_MUST(hsa_amd_agent_set_async_scratch_limit(agent_, usual_)); }

private:
    hsa_agent_t agent_{};
    std::uint64_t usual_ = 0;
};

std::vector<std::uint32_t> initial(unsigned stream) {
    std::vector<std::uint32_t> values(items);
    for (unsigned i = 0; i < items; ++i)
        values[i] = test::scramble(i + 1000 * stream);
    return values;
}

std::vector<std::uint32_t> expected(unsigned stream) {
    std::vector<std::uint32_t> want = initial(stream);
    for (std::uint32_t& value : want) {
        for (unsigned n = 0; n < 4 * launches; ++n)
            value = n % 2 == 0 ? shuffle<100>(value) : shuffle<400>(value);
    }
    return want;
}

} // namespace

int main(int argc, char** argv) {
    test::Rounds rounds("reclaim", argc, argv, 4);
    std::vector<std::unique_ptr<test::DeviceArray<std::uint32_t>>> arrays;
    std::vector<hipStream_t> queues(streams);
    std::vector<std::vector<std::uint32_t>> want;
    test::Digest digest;
    for (unsigned s = 0; s < streams; ++s) {
        arrays.push_back(std::make_unique<test::DeviceArray<std::uint32_t>>(items));
        HIP_MUST(hipStreamCreateWithFlags(&queues[s], hipStreamNonBlocking));
        want.push_back(expected(s));
        digest.add(want.back());
    }
    const ScratchLimit limit;
    const auto launch = [&] {
        for (unsigned n = 0; n < launches; ++n) {
            for (unsigned s = 0; s < streams; ++s) {
                const auto kernel = n % 2 == 0 ? shuffle_all<100> : shuffle_all<400>;
                kernel<<<groups, group_size, 0, queues[s]>>>(arrays[s]->get());
            }
        }
        LAUNCH_MUST();
    };
    const auto wait = [&] {
        for (const hipStream_t queue : queues)
            HIP_MUST(hipStreamSynchronize(queue));
    };
    while (rounds.next()) {
        for (unsigned s = 0; s < streams; ++s)
            arrays[s]->copy_from(initial(s));
        HIP_MUST(hipDeviceSynchronize());
        // ROCr 6.4 answers requests for scratch in another thread. If the limit changes meanwhile,
        // it can take back what it is about to give, and aborts the process. So ask for all of it
        // before.
        launch();
        wait();
        launch();
        limit.take_all_back();
        launch(); // each dispatch gives its scratch back
        limit.restore();
        launch();
        wait();
        for (unsigned s = 0; s < streams; ++s)
            test::must_equal("value over a private array", arrays[s]->to_host(), want[s]);
    }
    return test::passed(rounds, digest, "values over private arrays whose memory was taken back");
}
