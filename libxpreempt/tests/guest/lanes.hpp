// SPDX-License-Identifier: MIT
// A stream of a test with an xqueue, a kernel of it that the host ends, and threads that wait for
// it.
#pragma once

#include <xpreempt/xpreempt.h>

#include <hip/hip_runtime.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <thread>
#include <unistd.h>

namespace lanes {

constexpr std::size_t copy_bytes = 256 * 1024; // beyond 16 KiB HIP copies by DMA engine

inline int failures = 0;
inline const char* current_case = "";

inline void check(bool good, const char* what) {
    std::printf("%s - %s: %s\n", good ? "ok" : "not ok", current_case, what);
    failures += good ? 0 : 1;
}

inline void must(int error, const char* call) {
    if (error == 0)
        return;
    std::printf("not ok - %s: %s: %d %s\n", current_case, call, error, xp_last_detail());
    std::fflush(stdout);
    _exit(1);
}
#define MUST(call) must(static_cast<int>(call), #call)

// In host memory, for both sides to look at while a kernel runs.
struct Flags {
    std::uint32_t started, go, done, count;
};

inline __device__ std::uint32_t load(const std::uint32_t* word) {
    return __hip_atomic_load(word, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
}
inline __device__ void store(std::uint32_t* word, std::uint32_t value) {
    __hip_atomic_store(word, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
}

__global__ void run_until_told(Flags* flags) {
    if (threadIdx.x != 0)
        return;
    store(&flags->started, 1);
    while (load(&flags->go) == 0)
        __builtin_amdgcn_s_sleep(8);
    store(&flags->done, 1);
}

__global__ void count_one(Flags* flags) {
    if (threadIdx.x == 0)
        __hip_atomic_fetch_add(&flags->count, 1U, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
}

inline std::uint32_t peek(const std::uint32_t& word) {
    return __atomic_load_n(&word, __ATOMIC_ACQUIRE);
}
inline void poke(std::uint32_t& word, std::uint32_t value) {
    __atomic_store_n(&word, value, __ATOMIC_RELEASE);
}
inline void wait_until(const std::function<bool()>& condition) {
    while (!condition())
        usleep(500);
}

// A stream with a queue of its own and an xqueue in front of it. Its memory stays until the end of
// the program, because freeing memory is one of the hazards.
struct Lane {
    hipStream_t stream = nullptr;
    xp_xqueue_t xqueue{};
    Flags* flags = nullptr;
    std::uint32_t* device = nullptr;
    std::uint32_t* host = nullptr;

    explicit Lane(unsigned stream_flags = hipStreamNonBlocking, std::int32_t priority = 0) {
        MUST(hipStreamCreateWithFlags(&stream, stream_flags));
        MUST(hipHostMalloc(&flags, sizeof *flags, 0));
        MUST(hipHostMalloc(&host, copy_bytes, 0));
        MUST(hipMalloc(&device, copy_bytes));
        std::memset(flags, 0, sizeof *flags);
        std::memset(host, 0x5a, copy_bytes);
        MUST(xp_xqueue_create(stream, nullptr, &xqueue));
        MUST(xp_xqueue_set_priority(xqueue, priority));
    }
    ~Lane() {
        if (stream == nullptr)
            return;
        MUST(xp_xqueue_destroy(xqueue));
        MUST(hipStreamDestroy(stream));
    }
    Lane(const Lane&) = delete;
    Lane& operator=(const Lane&) = delete;
    void start() {
        poke(flags->started, 0);
        poke(flags->go, 0);
        poke(flags->done, 0);
        run_until_told<<<dim3(1), dim3(64), 0, stream>>>(flags);
        MUST(hipGetLastError());
        wait_until([&] { return peek(flags->started) == 1; });
    }
    void hold() {
        std::uint32_t level = 0;
        MUST(xp_xqueue_suspend(xqueue, XP_SUSPEND_EXACT, &level));
        check(level == XP_LEVEL_INTERRUPT, "the stream is held");
    }
    void start_and_hold() {
        start();
        hold();
    }
    void set_go() { poke(flags->go, 1); }
    void resume() { MUST(xp_xqueue_resume(xqueue)); }
    [[nodiscard]] bool done() const { return peek(flags->done) == 1; }
    [[nodiscard]] std::uint32_t count() const { return peek(flags->count); }
    void launch() {
        count_one<<<dim3(1), dim3(64), 0, stream>>>(flags);
        MUST(hipGetLastError());
    }
    [[nodiscard]] xp_xqueue_state state() const {
        xp_xqueue_state state{};
        state.sz = sizeof state;
        MUST(xp_xqueue_query(xqueue, &state));
        return state;
    }
    [[nodiscard]] xp_stream_info info() const {
        xp_stream_info info{};
        info.sz = sizeof info;
        MUST(xp_stream_query(stream, &info));
        return info;
    }
    [[nodiscard]] std::uint64_t preempts() const { return info().preempts; }
};

// A thread in a call that is expected to wait for the lane.
class Caller {
public:
    Caller(Lane& lane, std::function<int()> call)
        : lane_(lane), thread_([this, call = std::move(call)] {
              error_ = call();
              finished_ = true;
          }) {}
    void wait_until_waiting() {
        wait_until([&] { return lane_.state().waiters == 1 || finished_; });
        check(!finished_ && lane_.info().waiters == 1, "the caller waits, and the state says so");
    }
    void join() {
        thread_.join();
        check(error_ == 0, "the call succeeds when the stream has been resumed");
        check(lane_.state().waiters == 0, "nobody waits any more");
    }
    [[nodiscard]] bool finished() const { return finished_; }

private:
    Lane& lane_;
    std::atomic<bool> finished_{false};
    int error_ = 0;
    std::thread thread_;
};

// Other threads continue: HIP's locks are free.
inline void others_go_on(Lane& other) {
    const std::uint32_t before = other.count();
    other.launch();
    MUST(hipStreamSynchronize(other.stream));
    MUST(hipMemcpyAsync(other.device, other.host, copy_bytes, hipMemcpyHostToDevice, other.stream));
    MUST(hipStreamSynchronize(other.stream));
    hipStream_t another = nullptr;
    MUST(hipStreamCreateWithFlags(&another, hipStreamNonBlocking));
    MUST(hipStreamDestroy(another));
    void* memory = nullptr;
    MUST(hipMalloc(&memory, 4096)); // stays: hipFree() waits for every stream
    check(other.count() == before + 1, "other streams continue");
}

} // namespace lanes
