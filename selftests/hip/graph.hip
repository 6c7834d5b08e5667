// SPDX-License-Identifier: MIT
// A graph, captured from two streams that fork and join: copy in, a kernel on each half, one that
// joins them, copy out. Launched again and again with new input, and once more after an update of a
// node.
#include "check.hpp"

#include <algorithm>

namespace {

constexpr unsigned half = 16 * 1024;
constexpr unsigned launches = 8;

__global__ void mix(std::uint32_t* values, unsigned steps) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    std::uint32_t value = values[i];
    for (unsigned step = 0; step < steps; ++step)
        value = test::scramble(value + step);
    values[i] = value;
}

__global__ void join(std::uint32_t* values, std::uint32_t salt) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    values[i] ^= test::scramble(values[half + i] + salt);
}

std::vector<std::uint32_t> expected(std::vector<std::uint32_t> values, std::uint32_t salt) {
    for (unsigned i = 0; i < 2 * half; ++i)
        for (unsigned step = 0; step < (i < half ? 64u : 128u); ++step)
            values[i] = test::scramble(values[i] + step);
    for (unsigned i = 0; i < half; ++i)
        values[i] ^= test::scramble(values[half + i] + salt);
    return values;
}

using Pinned = test::PinnedArray<std::uint32_t>;

class Graph {
public:
    Graph(const Pinned& in, const test::DeviceArray<std::uint32_t>& values, const Pinned& out) {
        HIP_MUST(hipStreamCreate(&main_));
        HIP_MUST(hipStreamCreate(&side_));
        HIP_MUST(hipEventCreateWithFlags(&forked_, hipEventDisableTiming));
        HIP_MUST(hipEventCreateWithFlags(&joined_, hipEventDisableTiming));
        HIP_MUST(hipStreamBeginCapture(main_, hipStreamCaptureModeGlobal));
        HIP_MUST(hipMemcpyAsync(values.get(), in.get(), in.bytes(), hipMemcpyHostToDevice, main_));
        HIP_MUST(hipEventRecord(forked_, main_));
        HIP_MUST(hipStreamWaitEvent(side_, forked_, 0));
        mix<<<half / 256, 256, 0, main_>>>(values.get(), 64);
        mix<<<half / 256, 256, 0, side_>>>(values.get() + half, 128);
        HIP_MUST(hipEventRecord(joined_, side_));
        HIP_MUST(hipStreamWaitEvent(main_, joined_, 0));
        join<<<half / 256, 256, 0, main_>>>(values.get(), 1);
        HIP_MUST(hipMemcpyAsync(out.get(), values.get(), in.bytes(), hipMemcpyDeviceToHost, main_));
        HIP_MUST(hipStreamEndCapture(main_, &graph_));
        HIP_MUST(hipGraphInstantiate(&executable_, graph_, nullptr, nullptr, 0));
    }
    Graph(const Graph&) = delete;
    Graph& operator=(const Graph&) = delete;
    ~Graph() {
        (void)hipGraphExecDestroy(executable_);
        (void)hipGraphDestroy(graph_);
        (void)hipEventDestroy(joined_);
        (void)hipEventDestroy(forked_);
        (void)hipStreamDestroy(side_);
        (void)hipStreamDestroy(main_);
    }

    void run() {
        HIP_MUST(hipGraphLaunch(executable_, main_));
        HIP_MUST(hipStreamSynchronize(main_));
    }

    // The kernel that joins gets another salt, in the executable graph.
    void salt(std::uint32_t* values, std::uint32_t salt) {
        void* arguments[] = {&values, &salt};
        hipKernelNodeParams parameters = {};
        parameters.func = reinterpret_cast<void*>(join);
        parameters.gridDim = dim3(half / 256);
        parameters.blockDim = dim3(256);
        parameters.kernelParams = arguments;
        HIP_MUST(hipGraphExecKernelNodeSetParams(executable_, joining_node(), &parameters));
    }

private:
    // The one kernel that waits for two nodes.
    [[nodiscard]] hipGraphNode_t joining_node() const {
        std::size_t count = 0;
        HIP_MUST(hipGraphGetNodes(graph_, nullptr, &count));
        std::vector<hipGraphNode_t> nodes(count);
        HIP_MUST(hipGraphGetNodes(graph_, nodes.data(), &count));
        const auto joins = [](hipGraphNode_t node) {
            std::size_t before = 0;
            HIP_MUST(hipGraphNodeGetDependencies(node, nullptr, &before));
            return before == 2;
        };
        const auto found = std::find_if(nodes.begin(), nodes.end(), joins);
        if (found == nodes.end())
            test::die(1, "none of the %zu nodes of the graph waits for two", count);
        return *found;
    }

    hipStream_t main_ = nullptr;
    hipStream_t side_ = nullptr;
    hipEvent_t forked_ = nullptr;
    hipEvent_t joined_ = nullptr;
    hipGraph_t graph_ = nullptr;
    hipGraphExec_t executable_ = nullptr;
};

} // namespace

int main(int argc, char** argv) {
    test::Rounds rounds("graph", argc, argv, 2);
    const Pinned in(2 * half);
    const Pinned out(2 * half);
    const test::DeviceArray<std::uint32_t> values(2 * half);
    Graph graph(in, values, out);
    test::Digest digest;
    while (rounds.next()) {
        test::Digest round;
        for (unsigned launch = 0; launch < launches; ++launch) {
            for (unsigned i = 0; i < 2 * half; ++i)
                in.get()[i] = test::scramble(i + launch * 2 * half);
            std::fill_n(out.get(), 2 * half, 0);
            const std::uint32_t salt = launch < launches / 2 ? 1 : launch;
            graph.salt(values.get(), salt);
            graph.run();
            test::must_equal("word of a graph", out.values(), expected(in.values(), salt));
            round.add(out.values());
        }
        digest = round;
    }
    return test::passed(rounds, digest, "8 launches of a graph that forks and joins");
}
