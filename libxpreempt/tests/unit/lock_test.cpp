// SPDX-License-Identifier: MIT
// Locks of the library and the hook that launches of different threads share: none, once the
// streams are known. A program of its own, because it stands in front of pthread_mutex_lock().
#include "fake/fake_rocm.hpp"

#include <algorithm>
#include <barrier>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <iterator>
#include <pthread.h>
#include <set>
#include <thread>
#include <vector>

extern "C" {
int hipStreamCreate(void** stream);
int hipModuleLaunchKernel(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                          unsigned, void* stream, void**, void**);
}

namespace {

using Locks = std::set<const pthread_mutex_t*>;
thread_local Locks* recorded = nullptr; // of this thread, while it records

bool is_ours(const void* caller) {
    Dl_info info{};
    return dladdr(caller, &info) != 0 && std::strstr(info.dli_fname, "libxpreempt") != nullptr;
}

} // namespace

extern "C" int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
    using Lock = int(pthread_mutex_t*);
    // dlsym() is the hook's, and has locks.
    static auto* const next =
        reinterpret_cast<Lock*>(dlvsym(RTLD_NEXT, "pthread_mutex_lock", "GLIBC_2.2.5"));
    if (recorded != nullptr && is_ours(__builtin_return_address(0)))
        recorded->insert(mutex);
    return next(mutex);
}

namespace {

int launch(void* stream) {
    return hipModuleLaunchKernel(nullptr, 1, 1, 1, 1, 1, 1, 0, stream, nullptr, nullptr);
}

TEST(Locks, launches_of_automatic_streams_share_none) {
    fake_driver()->patched = true;
    setenv("XSCHED_AUTO_XQUEUE", "ON", 1);
    setenv("XSCHED_AUTO_XQUEUE_LEVEL", "3", 1);
    setenv("XSCHED_POLICY", "HPF", 1);
    constexpr unsigned num_threads = 2;
    Locks locks[num_threads];
    std::barrier known(num_threads);
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < num_threads; ++i)
        threads.emplace_back([&, i] {
            void* stream = nullptr;
            EXPECT_EQ(0, hipStreamCreate(&stream));
            fake_hip()->running[i] = stream; // its work does not end, so that nothing is reported
            EXPECT_EQ(0, launch(stream));
            known.arrive_and_wait();
            EXPECT_EQ(0, launch(stream)); // the second stream came after the first launch
            recorded = &locks[i];
            for (int n = 0; n < 100; ++n)
                EXPECT_EQ(0, launch(stream));
            recorded = nullptr;
            known.arrive_and_wait();
        });
    for (std::thread& thread : threads)
        thread.join();
    Locks shared;
    std::ranges::set_intersection(locks[0], locks[1], std::inserter(shared, shared.end()));
    EXPECT_FALSE(locks[0].empty()); // that of its stream
    EXPECT_TRUE(shared.empty()) << shared.size() << " of " << locks[0].size();
    for (auto& running : fake_hip()->running)
        running = nullptr;
}

} // namespace
