// SPDX-License-Identifier: MIT
// Replaces its streams in every round, so that KFD gives the ids of their queues to the new ones.
#include "check.hpp"

#include <memory>

namespace {

constexpr unsigned group_size = 128;
constexpr unsigned groups = 4;
constexpr unsigned items = group_size * groups;
constexpr unsigned streams = 3;
constexpr unsigned links = 3;

__host__ __device__ std::uint32_t step(std::uint32_t x, unsigned index) {
    for (unsigned i = 0; i < 32; ++i)
        x = test::scramble(x * 3 + index);
    return x;
}

__global__ void link(std::uint32_t* values, unsigned index) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    values[i] = step(values[i], index);
}

// HIP keeps the queue of a destroyed stream for the next stream, unless it has a CU mask.
class Stream {
public:
    Stream() {
        const std::uint32_t all_but_the_first = ~1u;
        HIP_MUST(hipExtStreamCreateWithCUMask(&stream_, 1, &all_but_the_first));
    }
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;
    ~Stream() { HIP_MUST(hipStreamDestroy(stream_)); }
    [[nodiscard]] hipStream_t get() const { return stream_; }

private:
    hipStream_t stream_{};
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
        for (unsigned n = 0; n < links; ++n)
            value = step(value, n);
    }
    return want;
}

} // namespace

int main(int argc, char** argv) {
    test::Rounds rounds("turnover", argc, argv, 4);
    std::vector<std::unique_ptr<test::DeviceArray<std::uint32_t>>> arrays;
    std::vector<std::unique_ptr<Stream>> current;
    std::vector<std::vector<std::uint32_t>> want;
    test::Digest digest;
    for (unsigned s = 0; s < streams; ++s) {
        arrays.push_back(std::make_unique<test::DeviceArray<std::uint32_t>>(items));
        current.push_back(std::make_unique<Stream>());
        want.push_back(expected(s));
        digest.add(want.back());
    }
    while (rounds.next()) {
        for (unsigned s = 0; s < streams; ++s)
            arrays[s]->copy_from(initial(s));
        // These streams don't wait for the null stream, where the copies ran.
        HIP_MUST(hipDeviceSynchronize());
        for (unsigned s = 0; s < streams; ++s) {
            for (unsigned n = 0; n < links; ++n)
                link<<<groups, group_size, 0, current[s]->get()>>>(arrays[s]->get(), n);
            LAUNCH_MUST();
        }
        for (const auto& stream : current)
            HIP_MUST(hipStreamSynchronize(stream->get()));
        for (unsigned s = 0; s < streams; ++s)
            test::must_equal("value of a stream's kernels", arrays[s]->to_host(), want[s]);
        // The queues are idle now: those that are held are destroyed held.
        for (auto& stream : current) {
            stream.reset();
            stream = std::make_unique<Stream>();
        }
    }
    return test::passed(rounds, digest, "results of streams that were replaced");
}
