// SPDX-License-Identifier: MIT
// Streams whose program launches directly, as all programs do that know nothing of the library:
// held, released, scheduled. usage: direct own|shared   (shared: with GPU_MAX_HW_QUEUES=1)
#include "../../examples/walk.hpp"

#include <xpreempt/xpreempt.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <unistd.h>

namespace {

int failures = 0;

void check(bool good, const char* what) {
    std::printf("%s - %s\n", good ? "ok" : "not ok", what);
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

struct Job {
    Walk* work = nullptr;
    hipStream_t stream = nullptr;
    hipEvent_t launched = nullptr;

    Job() {
        MUST(hipHostMalloc(&work, sizeof *work, hipHostMallocCoherent));
        MUST(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
        MUST(hipEventCreate(&launched));
        MUST(xp_stream_touch(stream));
    }
    void launch() {
        *work = {};
        walk<<<dim3(1), dim3(lanes), 0, stream>>>(work);
        MUST(hipGetLastError());
        MUST(hipEventRecord(launched, stream));
    }
    void launch_and_wait_for_it() {
        launch();
        wait_for_round(0);
    }
    [[nodiscard]] std::uint32_t rounds() const { return rounds_of(*work); }
    void wait_for_round(std::uint32_t behind) const {
        while (rounds() == behind)
            usleep(200);
    }
    // Not by the stream: its marker would come behind what another one has put into their queue
    // meanwhile.
    void end() {
        __atomic_store_n(&work->end, 1, __ATOMIC_RELAXED);
        MUST(hipEventSynchronize(launched));
        check(is_right(*work), "the result is right");
    }
    [[nodiscard]] bool stands_still() const {
        const std::uint32_t stood = rounds();
        usleep(200000);
        return rounds() == stood;
    }
    [[nodiscard]] xp_stream_info info() const {
        xp_stream_info info{};
        info.sz = sizeof info;
        MUST(xp_stream_query(stream, &info));
        return info;
    }
    // It waits in its call, and the kernel isn't there.
    void expect_waits(std::thread& launching, const char* what) {
        launching = std::thread([this] { launch(); });
        while (info().waiters == 0)
            usleep(200);
        usleep(100000);
        check(info().waiters == 1 && rounds() == 0, what);
    }
};

void hold_own() {
    Job job;
    job.launch_and_wait_for_it();
    std::uint32_t level = 0;
    MUST(xp_stream_hold(job.stream, XP_HOLD_EXACT, &level));
    check(level == XP_LEVEL_INTERRUPT && job.stands_still(), "a held stream stands still mid-kernel");
    const std::uint32_t stood = job.rounds();
    MUST(xp_stream_release(job.stream));
    job.wait_for_round(stood);
    job.end();
}

void hold_shared() {
    Job job, other;
    std::uint32_t level = 0;
    MUST(xp_stream_hold(job.stream, 0, &level));
    check(level == XP_LEVEL_BLOCK, "a stream that shares its queue is held before its calls");
    std::thread launching;
    job.expect_waits(launching, "a launch into it waits");
    other.launch_and_wait_for_it();
    other.end();
    check(true, "the stream beside it runs meanwhile");
    MUST(xp_stream_release(job.stream));
    launching.join();
    job.wait_for_round(0);
    job.end();
}

// As XSched's shim would have it: an xqueue at level 1, and launches that go past it.
void suspend_block() {
    Job job;
    xp_xqueue_options options = XP_XQUEUE_OPTIONS_INIT;
    options.max_level = XP_LEVEL_BLOCK;
    xp_xqueue_t xqueue{};
    MUST(xp_xqueue_create(job.stream, &options, &xqueue));
    MUST(xp_xqueue_suspend(xqueue, 0, nullptr));
    std::thread launching;
    job.expect_waits(launching, "a launch into the stream of a suspended xqueue waits");
    MUST(xp_xqueue_resume(xqueue));
    launching.join();
    job.wait_for_round(0);
    job.end();
    MUST(xp_xqueue_destroy(xqueue));
}

void schedule(bool own) {
    Job low, high;
    MUST(xp_stream_set_priority(low.stream, 0));
    MUST(xp_stream_set_priority(high.stream, 1));
    MUST(xp_sched_start(XP_POLICY_HIGHEST_PRIORITY_FIRST));
    if (own) {
        low.launch_and_wait_for_it();
        for (int turn = 0; turn < 5; ++turn) {
            high.launch_and_wait_for_it();
            // Where the low one was just being resumed, its stop comes after that.
            bool still = false;
            for (int i = 0; i < 20 && !still; ++i)
                still = low.stands_still();
            check(still, "the low one stands still while the high one has work");
            const std::uint32_t stood = low.rounds();
            high.end();
            low.wait_for_round(stood);
        }
        low.end();
    } else {
        high.launch_and_wait_for_it();
        std::thread launching;
        low.expect_waits(launching, "the low one launches nothing while the high one has work");
        high.end();
        launching.join();
        low.wait_for_round(0);
        low.end();
    }
    xp_sched_state state{};
    state.sz = sizeof state;
    MUST(xp_sched_query(&state));
    std::printf("# %llu suspends, last reaction %.1f us\n",
                static_cast<unsigned long long>(state.suspends),
                static_cast<double>(state.last_reaction_ns) / 1000);
    check(state.failures == 0, "nothing was refused");
    MUST(xp_sched_stop());
}

} // namespace

int main(int argc, char** argv) {
    const bool own = argc == 2 && std::strcmp(argv[1], "own") == 0;
    if (!own && (argc != 2 || std::strcmp(argv[1], "shared") != 0)) {
        std::fprintf(stderr, "usage: direct own|shared\n");
        return 64;
    }
    own ? hold_own() : hold_shared();
    suspend_block();
    schedule(own);
    return failures != 0;
}
