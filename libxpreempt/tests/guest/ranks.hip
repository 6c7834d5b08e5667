// SPDX-License-Identifier: MIT
// A rank for each GPU but the last, as threads with a current device each: the default stream of a
// rank has priority over its other one, which stops mid-kernel meanwhile; no rank stops a stream of
// another GPU, and nothing of the process is on the last one. To be run with XSCHED_AUTO_XQUEUE=ON,
// XSCHED_AUTO_XQUEUE_LEVEL=3 and XSCHED_POLICY=HPF.   usage: ranks GPUS
#include "../../examples/walk.hpp"

#include <xpreempt/xpreempt.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

int failures = 0;

constexpr int all = -1; // ranks

void check(bool good, const char* what, int rank) {
    const std::string name = rank == all ? "all" : "rank " + std::to_string(rank);
    std::printf("%s - %s: %s\n", good ? "ok" : "not ok", name.c_str(), what);
    std::fflush(stdout);
    failures += good ? 0 : 1;
}

void must(int error, const char* call) {
    if (error == 0)
        return;
    std::printf("not ok - %s: %d %s\n", call, error, xp_last_detail());
    std::fflush(stdout);
    std::_Exit(1);
}
#define MUST(call) must(static_cast<int>(call), #call)

// A stream of the calling thread's device, whose kernel runs until it is told to end.
struct Lane {
    Walk* work = nullptr;
    hipStream_t stream = nullptr;

    Lane() { MUST(hipHostMalloc(&work, sizeof *work, hipHostMallocCoherent)); }
    void launch() {
        *work = {};
        walk<<<dim3(1), dim3(lanes), 0, stream>>>(work);
        MUST(hipGetLastError());
    }
    [[nodiscard]] std::uint32_t rounds() const { return rounds_of(*work); }
    void wait_for_round(std::uint32_t behind) const {
        while (rounds() == behind)
            usleep(200);
    }
    void end() {
        __atomic_store_n(&work->end, 1, __ATOMIC_RELAXED);
        MUST(hipStreamSynchronize(stream));
    }
    // Where it was just being resumed, its stop comes after that.
    [[nodiscard]] bool stands_still() const {
        for (int i = 0; i < 20; ++i) {
            const std::uint32_t stood = rounds();
            usleep(100000);
            if (rounds() == stood)
                return true;
        }
        return false;
    }
};

struct Rank {
    Lane low, high; // high is the default stream
    std::uint32_t gpu_id = 0;

    Rank() {
        MUST(hipStreamCreateWithFlags(&low.stream, hipStreamNonBlocking));
        for (Lane* lane : {&low, &high}) {
            lane->launch();
            lane->end();
        }
        MUST(xp_stream_set_priority(high.stream, 1));
        xp_stream_info info{};
        info.sz = sizeof info;
        MUST(xp_stream_query(low.stream, &info));
        gpu_id = info.gpu_id;
    }
};

// In a thread that has the rank's device as its current one.
void on_device(int rank, const std::function<void()>& body) {
    std::thread([&] {
        MUST(hipSetDevice(rank));
        body();
    }).join();
}

// Queues of this process by the gpu_id of KFD.
std::map<std::uint32_t, int> count_queues() {
    std::map<std::uint32_t, int> queues;
    const auto process = "/sys/class/kfd/kfd/proc/" + std::to_string(getpid()) + "/queues";
    for (const auto& queue : std::filesystem::directory_iterator(process)) {
        std::uint32_t gpu_id = 0;
        std::ifstream(queue.path() / "gpuid") >> gpu_id;
        ++queues[gpu_id];
    }
    return queues;
}

} // namespace

int main(int argc, char** argv) {
    const int gpus = argc == 2 ? std::atoi(argv[1]) : 0;
    int count = 0;
    if (gpus < 2) {
        std::fprintf(stderr, "usage: ranks GPUS\n");
        return 64;
    }
    MUST(hipGetDeviceCount(&count));
    check(count == gpus, "all GPUs are there", all);
    const int ranks = count - 1;
    std::vector<std::unique_ptr<Rank>> rank(static_cast<std::size_t>(ranks));
    for (int i = 0; i < ranks; ++i)
        on_device(i, [&] { rank[i] = std::make_unique<Rank>(); });
    for (int i = 0; i < ranks; ++i) {
        Rank& mine = *rank[i];
        Rank& next = *rank[(i + 1) % ranks];
        on_device(i, [&] { mine.low.launch(); });
        on_device((i + 1) % ranks, [&] { next.low.launch(); });
        mine.low.wait_for_round(0);
        next.low.wait_for_round(0);
        on_device(i, [&] { mine.high.launch(); });
        mine.high.wait_for_round(0);
        check(mine.low.stands_still(), "the lower stream waits while the default stream has work",
              i);
        const std::uint32_t stood = mine.low.rounds(), went = next.low.rounds();
        next.low.wait_for_round(went);
        check(mine.low.rounds() == stood, "the one of the next GPU runs meanwhile", i);
        on_device(i, [&] { mine.high.end(); });
        mine.low.wait_for_round(stood);
        on_device(i, [&] { mine.low.end(); });
        on_device((i + 1) % ranks, [&] { next.low.end(); });
        check(is_right(*mine.low.work) && is_right(*mine.high.work), "its results are right", i);
    }
    const auto queues = count_queues();
    for (int i = 0; i < ranks; ++i)
        check(queues.contains(rank[i]->gpu_id) &&
                  queues.at(rank[i]->gpu_id) == queues.begin()->second,
              "it has as many queues on its GPU as each other rank", i);
    check(queues.size() == static_cast<std::size_t>(ranks), "no queue is on the last GPU", all);
    xp_sched_state state{};
    state.sz = sizeof state;
    MUST(xp_sched_query(&state));
    std::printf("# %d GPUs, %d queues on each, %llu suspends\n", gpus, queues.begin()->second,
                static_cast<unsigned long long>(state.suspends));
    check(state.suspends >= static_cast<std::uint64_t>(ranks) && state.failures == 0,
          "the scheduler stopped a stream of each", all);
    return failures != 0;
}
