// SPDX-License-Identifier: MIT
// Kernels that wait for each other, as RCCL's: two ranks on one GPU, each a kernel in a stream of
// its own, sum their gradients around a ring, while a model runs in the default stream. A rank ends
// only if both are on the GPU, or take turns on it.
#include "models/session.hpp"

#include <array>

namespace {

constexpr int ranks = 2;
constexpr int channels = 2; // workgroups of a rank
constexpr int steps = 2 * (ranks - 1);
constexpr int chunk = 1024; // of a channel, one for each rank
constexpr int count = channels * ranks * chunk;
constexpr unsigned lanes = 256;
constexpr unsigned launches = 4;

// Memory of a rank to which the one before it writes.
struct Inbox {
    float* values;     // a slot for each channel and step
    unsigned* arrived; // steps, for each channel, of all launches
};

__device__ int modulo(int rank) {
    return (rank + 2 * ranks) % ranks;
}

__device__ void send(const float* values, Inbox to, int channel, int step, unsigned arrived) {
    float* const slot = to.values + (channel * steps + step) * chunk;
    for (int i = static_cast<int>(threadIdx.x); i < chunk; i += static_cast<int>(lanes))
        slot[i] = values[i];
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0)
        __hip_atomic_store(to.arrived + channel, arrived, __ATOMIC_RELEASE,
                           __HIP_MEMORY_SCOPE_AGENT);
}

__device__ const float* receive(Inbox from, int channel, int step, unsigned arrived) {
    if (threadIdx.x == 0)
        while (__hip_atomic_load(from.arrived + channel, __ATOMIC_ACQUIRE,
                                 __HIP_MEMORY_SCOPE_AGENT) < arrived)
            __builtin_amdgcn_s_sleep(8);
    __syncthreads();
    __threadfence();
    return from.values + (channel * steps + step) * chunk;
}

// First each chunk travels around the ring and is summed, then the sums travel.
__global__ void all_reduce(float* gradients, Inbox mine, Inbox next, int rank, unsigned launch) {
    const int channel = static_cast<int>(blockIdx.x);
    float* const values = gradients + channel * ranks * chunk;
    for (int step = 0; step < steps; ++step) {
        const bool sums = step < ranks - 1;
        const int turn = sums ? step : step - (ranks - 1);
        const int sent = sums ? modulo(rank - turn) : modulo(rank + 1 - turn);
        const int received = modulo(sent - 1);
        const unsigned arrived = launch * steps + static_cast<unsigned>(step) + 1;
        send(values + sent * chunk, next, channel, step, arrived);
        const float* const slot = receive(mine, channel, step, arrived);
        for (int i = static_cast<int>(threadIdx.x); i < chunk; i += static_cast<int>(lanes)) {
            float& value = values[received * chunk + i];
            value = sums ? value + slot[i] : slot[i];
        }
        __syncthreads();
    }
}

__host__ __device__ float gradient(int rank, unsigned launch, int i) {
    const std::uint32_t random =
        test::scramble(static_cast<std::uint32_t>(i * ranks + rank) + launch * 0x10000);
    return static_cast<float>(static_cast<int>(random % 201) - 100);
}

__global__ void compute(float* gradients, int rank, unsigned launch) {
    const int i = static_cast<int>(blockIdx.x * lanes + threadIdx.x);
    gradients[i] = gradient(rank, launch, i);
}

// Streams of high priority have hardware queues of their own, so that two never share one: then the
// second rank would wait behind the first, which waits for it. PyTorch has an option for that.
class CommunicationStream {
public:
    CommunicationStream() {
        int least = 0;
        int greatest = 0;
        HIP_MUST(hipDeviceGetStreamPriorityRange(&least, &greatest));
        HIP_MUST(hipStreamCreateWithPriority(&stream_, hipStreamNonBlocking, greatest));
    }
    CommunicationStream(const CommunicationStream&) = delete;
    CommunicationStream& operator=(const CommunicationStream&) = delete;
    ~CommunicationStream() { (void)hipStreamDestroy(stream_); }
    [[nodiscard]] hipStream_t get() const { return stream_; }

private:
    hipStream_t stream_ = nullptr;
};

struct Rank {
    CommunicationStream stream;
    test::DeviceArray<float> gradients{count};
    test::DeviceArray<float> slots{channels * steps * chunk};
    test::DeviceArray<unsigned> arrived{channels};
    models::Event reduced;
    Rank() { arrived.clear(); }
    [[nodiscard]] Inbox inbox() const { return {slots.get(), arrived.get()}; }
};

class Ring {
public:
    // Queues the launch; the default stream waits for its end.
    void queue(unsigned launch) {
        for (int rank = 0; rank < ranks; ++rank)
            compute<<<count / lanes, lanes>>>(at(rank).gradients.get(), rank, launch);
        LAUNCH_MUST();
        computed_.record(nullptr);
        for (int rank = 0; rank < ranks; ++rank) {
            computed_.hold_up(at(rank).stream.get());
            all_reduce<<<channels, lanes, 0, at(rank).stream.get()>>>(
                at(rank).gradients.get(), at(rank).inbox(), at((rank + 1) % ranks).inbox(), rank,
                begun_);
            LAUNCH_MUST();
            at(rank).reduced.record(at(rank).stream.get());
        }
        ++begun_;
    }
    void join() {
        for (const Rank& rank : ranks_)
            rank.reduced.hold_up(nullptr);
    }
    [[nodiscard]] std::vector<float> gradients(int rank) { return at(rank).gradients.to_host(); }

private:
    Rank& at(int rank) { return ranks_[static_cast<std::size_t>(rank)]; }

    std::array<Rank, ranks> ranks_;
    models::Event computed_;
    unsigned begun_ = 0;
};

std::vector<float> sums(unsigned launch) {
    std::vector<float> sums(count, 0.0f);
    for (int rank = 0; rank < ranks; ++rank)
        for (int i = 0; i < count; ++i)
            sums[static_cast<std::size_t>(i)] += gradient(rank, launch, i);
    return sums;
}

} // namespace

int main(int argc, char** argv) {
    test::Rounds rounds("all_reduce", argc, argv, 2);
    models::CachingAllocator allocator;
    models::OwnProducts products;
    Ring ring;
    models::Session session(models::named("mlp"), allocator, products, nullptr);
    const models::Result right = models::expected_of(session.model(), 0);
    test::Digest digest;
    digest.add(right.layers);
    for (unsigned launch = 0; launch < launches; ++launch)
        digest.add(sums(launch));
    while (rounds.next()) {
        for (unsigned launch = 0; launch < launches; ++launch) {
            ring.queue(launch);
            session.fill(0);
            session.forget();
            must_be_right(session.model(), session.run(), right);
            ring.join();
            for (int rank = 0; rank < ranks; ++rank)
                test::must_equal("sum of gradients", ring.gradients(rank), sums(launch));
        }
    }
    return test::passed(rounds, digest, "2 ranks, 4 sums of gradients beside a model");
}
