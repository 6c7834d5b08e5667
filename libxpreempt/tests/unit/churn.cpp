// SPDX-License-Identifier: MIT
// A long run in small: streams, events, holds, xqueues and threads come and go, and the memory of
// the process stays as it is. usage: xpreempt_churn ROUNDS
#include <xpreempt/xpreempt.h>

#include "fake/fake_rocm.hpp"

#include <cstdio>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <malloc.h>
#include <thread>
#include <unistd.h>

extern "C" {
int hipEventCreateWithFlags(void** event, unsigned flags);
int hipEventDestroy(void* event);
int hipEventRecord(void* event, void* stream);
int hipMemsetAsync(void* to, int value, std::size_t bytes, void* stream);
int hipStreamCreate(void** stream);
int hipStreamDestroy(void* stream);
int hipStreamWaitEvent(void* stream, void* event, unsigned flags);
}

namespace {

constexpr std::size_t live = 50; // streams and events at a time
constexpr std::size_t most_growth = 128 << 10, most_resident_growth = 2 << 20; // bytes

void expect(bool good, const char* what, std::uint64_t round) {
    if (good)
        return;
    std::printf("round %llu: %s\n", static_cast<unsigned long long>(round), what);
    std::exit(1);
}

int launch(void* stream, void*) {
    return hipMemsetAsync(nullptr, 0, 4, stream);
}

std::size_t resident() {
    std::ifstream file("/proc/self/statm");
    std::size_t total = 0, pages = 0;
    file >> total >> pages;
    return pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

void use_xqueue(void* stream, std::uint64_t round) {
    xp_xqueue_t xqueue{};
    std::uint64_t ticket = 0;
    expect(xp_xqueue_create(stream, nullptr, &xqueue) == 0 &&
               xp_xqueue_set_name(xqueue, "churn") == 0 &&
               xp_xqueue_submit(xqueue, launch, nullptr, &ticket) == 0 &&
               xp_xqueue_suspend(xqueue, 0, nullptr) == 0 && xp_xqueue_resume(xqueue) == 0 &&
               xp_xqueue_wait(xqueue, ticket) == 0 && xp_xqueue_destroy(xqueue) == 0,
           xp_last_detail(), round);
}

struct Pair {
    void* stream = nullptr;
    void* event = nullptr;
};

Pair make(std::uint64_t round) {
    Pair made;
    expect(hipStreamCreate(&made.stream) == 0 && hipEventCreateWithFlags(&made.event, 2) == 0 &&
               launch(made.stream, nullptr) == 0,
           "a stream is created", round);
    if (round % 4 == 0)
        expect(xp_stream_set_priority(made.stream, static_cast<int>(round % 3)) == 0 &&
                   xp_stream_set_name(made.stream, "churn") == 0,
               xp_last_detail(), round);
    if (round % 16 == 1)
        use_xqueue(made.stream, round);
    expect(hipEventRecord(made.event, made.stream) == 0, "an event is recorded", round);
    expect(xp_stream_hold(made.stream, XP_HOLD_SHARED, nullptr) == 0 &&
               xp_stream_release(made.stream) == 0,
           xp_last_detail(), round);
    return made;
}

void destroy(const Pair& made, std::uint64_t round) {
    if (round % 8 == 2) // the hold ends with the stream
        expect(xp_stream_hold(made.stream, XP_HOLD_SHARED, nullptr) == 0, xp_last_detail(), round);
    expect(hipStreamDestroy(made.stream) == 0 && hipEventDestroy(made.event) == 0,
           "a stream is destroyed", round);
}

// Launches once more in the last destructor of its thread.
struct LastLaunch {
    void* stream = nullptr;
    ~LastLaunch() {
        if (stream != nullptr)
            (void)launch(stream, nullptr);
    }
};
thread_local LastLaunch last_launch;

void launch_in_a_thread(void* stream) {
    std::thread([stream] {
        last_launch.stream = stream;
        (void)launch(stream, nullptr);
    }).join();
}

void run(std::uint64_t first, std::uint64_t rounds) {
    std::deque<Pair> pairs;
    for (std::uint64_t round = first; round < first + rounds; ++round) {
        pairs.push_back(make(round));
        expect(hipStreamWaitEvent(pairs.front().stream, pairs.back().event, 0) == 0,
               "a stream waits for an event", round);
        if (round % 64 == 0)
            launch_in_a_thread(pairs.back().stream);
        if (pairs.size() > live) {
            destroy(pairs.front(), round);
            pairs.pop_front();
        }
    }
    for (const Pair& pair : pairs)
        destroy(pair, first + rounds);
}

} // namespace

int main(int argc, char** argv) {
    const std::uint64_t rounds = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 20000;
    fake_driver()->patched = true;
    expect(xp_sched_start(XP_POLICY_HIGHEST_PRIORITY_FIRST) == 0, xp_last_detail(), 0);
    const std::uint64_t warm = rounds / 10;
    run(0, warm);
    const std::size_t before = mallinfo2().uordblks, resident_before = resident();
    run(warm, rounds - warm);
    const std::size_t after = mallinfo2().uordblks, resident_after = resident();
    std::printf("%llu rounds: %zu bytes allocated, then %zu; %zu resident, then %zu\n",
                static_cast<unsigned long long>(rounds), before, after, resident_before,
                resident_after);
    return after > before + most_growth || resident_after > resident_before + most_resident_growth;
}
