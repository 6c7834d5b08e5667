// SPDX-License-Identifier: MIT
// Launches, waits and suspends from many threads: after a suspend no launch is in progress and none
// begins.
//
//   leak_stress LAUNCHES SEED    exits 1 when a launch leaked
#include "xqueue/xqueue.hpp"

#include "null_hw_queue.hpp"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <thread>
#include <vector>

namespace {

using xpreempt::xqueue::Level;
using xpreempt::xqueue::XQueue;

struct Launches {
    std::atomic<std::uint64_t> begun{0};
    std::atomic<std::uint64_t> ended{0};
};

// Now and then gives the processor away, so that a suspend comes in the middle of it.
int launch(void*, void* argument) {
    auto& launches = *static_cast<Launches*>(argument);
    if (launches.begun.fetch_add(1) % 64 == 0)
        std::this_thread::yield();
    launches.ended.fetch_add(1);
    return 0;
}

struct Found {
    std::uint64_t suspends = 0;
    std::uint64_t going_on = 0; // a launch had begun, and not ended, when the suspend returned
    std::uint64_t begun = 0;    // launches that began before the resume
};

Found suspend_at_random(XQueue& queue, Launches& launches, std::uint64_t until,
                        std::uint64_t seed) {
    std::mt19937_64 random(seed);
    Found found;
    while (launches.begun.load() < until) {
        for (std::uint64_t pause = random() % 4; pause > 0; --pause)
            std::this_thread::yield();
        if (!queue.suspend({}))
            std::abort();
        const std::uint64_t ended = launches.ended.load();
        const std::uint64_t begun = launches.begun.load();
        found.going_on += begun != ended ? 1 : 0;
        if (random() % 2 == 0)
            std::this_thread::yield();
        found.begun += launches.begun.load() - begun;
        ++found.suspends;
        if (!queue.resume())
            std::abort();
    }
    return found;
}

} // namespace

int main(int argc, char** argv) {
    if (argc != 3) {
        std::fprintf(stderr, "usage: leak_stress LAUNCHES SEED\n");
        return 64;
    }
    const std::uint64_t until = std::strtoull(argv[1], nullptr, 10);
    const std::uint64_t seed = std::strtoull(argv[2], nullptr, 10);
    Launches launches;
    Found found;
    {
        XQueue queue(std::make_unique<bench::NullHwQueue>(), {4, 2, 64}, Level::block);
        std::atomic<bool> stop = false;
        std::vector<std::thread> threads;
        for (int i = 0; i < 2; ++i)
            threads.emplace_back([&] {
                while (!stop)
                    if (!queue.submit({launch, &launches}))
                        std::abort();
            });
        threads.emplace_back([&] {
            while (!stop) {
                (void)queue.wait_all();
                std::this_thread::yield();
            }
        });
        found = suspend_at_random(queue, launches, until, seed);
        stop = true;
        for (std::thread& thread : threads)
            thread.join();
    }
    std::printf("seed %llu: %llu launches, %llu suspends, leaked: %llu going on, %llu begun\n",
                static_cast<unsigned long long>(seed),
                static_cast<unsigned long long>(launches.begun.load()),
                static_cast<unsigned long long>(found.suspends),
                static_cast<unsigned long long>(found.going_on),
                static_cast<unsigned long long>(found.begun));
    return found.going_on == 0 && found.begun == 0 ? 0 : 1;
}
