// SPDX-License-Identifier: MIT
// Every way to suspend a stream, on a queue of its own and on one that four streams share.
//
//   preemption_matrix own|shared      (shared: with GPU_MAX_HW_QUEUES=1)
//
// A low stream's first command runs, more are launched behind it, and more wait in the xqueue. It
// is suspended, a high stream works, it is resumed. The work that had to stop must not have moved,
// and each result is checked bit for bit. Nothing depends on time: the first command runs until
// the host releases it.
#include <xpreempt/xpreempt.h>

#include "hip_5.hpp"
#include "vgpu_counters.hpp"

#include <hip/hip_runtime.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

constexpr unsigned blocks = 4, lanes = 64, items = blocks * lanes;
constexpr unsigned num_commands = 6, launched_at_once = 4, last_launched = 3;
constexpr std::uint32_t factor = 1664525, summand = 1013904223, rounds = 50;

// In host memory, where the host looks at it without asking HIP.
struct Control {
    std::uint32_t release[2];            // let the gated kernels end
    std::uint32_t heartbeat[2];          // of those kernels while they wait
    std::uint32_t runs[num_commands][2]; // blocks that did a command's first and second kernel
};

struct Step {
    const std::uint32_t* from;
    std::uint32_t* to;
    Control* control;
    std::uint32_t command;
    std::uint32_t kernel;
};

__host__ __device__ std::uint32_t walk(std::uint32_t value, std::uint32_t command) {
    for (std::uint32_t round = 0; round < rounds; ++round)
        value = value * factor + summand + command;
    return value;
}

// Not idempotent where from and to are the same.
__global__ void step(Step work, xp_guardian_t guardian) {
    XP_GUARD(guardian);
    const std::uint32_t gate = work.command == 0 ? 0 : 1;
    if (work.kernel == 0 && (work.command == 0 || work.command == last_launched) &&
        threadIdx.x == 0)
        while (__hip_atomic_load(&work.control->release[gate], __ATOMIC_RELAXED,
                                 __HIP_MEMORY_SCOPE_SYSTEM) == 0) {
            __hip_atomic_fetch_add(&work.control->heartbeat[gate], 1U, __ATOMIC_RELAXED,
                                   __HIP_MEMORY_SCOPE_SYSTEM);
            __builtin_amdgcn_s_sleep(100);
        }
    __syncthreads();
    const unsigned item = blockIdx.x * blockDim.x + threadIdx.x;
    work.to[item] = walk(work.from[item], work.command);
    __syncthreads();
    if (threadIdx.x == 0)
        __hip_atomic_fetch_add(&work.control->runs[work.command][work.kernel], 1U, __ATOMIC_RELAXED,
                               __HIP_MEMORY_SCOPE_SYSTEM);
}

__global__ void add_one(std::uint32_t* word) {
    atomicAdd(word, 1U);
}

int failures = 0;
std::string prefix;

void check(bool good, const std::string& what) {
    std::printf("%s - %s: %s\n", good ? "ok" : "not ok", prefix.c_str(), what.c_str());
    failures += good ? 0 : 1;
}

void must(hipError_t error, const char* call) {
    if (error == hipSuccess)
        return;
    std::printf("Bail out! %s: %s\n", call, hipGetErrorString(error));
    std::exit(1);
}

void must(int error, const char* call) {
    if (error == 0)
        return;
    std::printf("Bail out! %s: %s; %s\n", call, std::strerror(-error), xp_last_detail());
    std::exit(1);
}

std::uint32_t now(const std::uint32_t& word) {
    return __atomic_load_n(&word, __ATOMIC_ACQUIRE);
}

template <typename Done> void until(Done done, const char* what) {
    for (unsigned tries = 0; !done(); ++tries) {
        if (tries == 60'000) {
            std::printf("Bail out! %s: it never happened: %s\n", prefix.c_str(), what);
            std::exit(1);
        }
        usleep(1000);
    }
}

// A stream's commands, each two kernels: from buffer to buffer, or all in place.
class Job {
public:
    Job(hipStream_t stream, bool in_place, std::uint32_t flags, const xp_xqueue_options& options)
        : stream_(stream), in_place_(in_place), flags_(flags) {
        for (unsigned i = 0; i < items; ++i)
            before_[i] = i * 2654435761U;
        const std::size_t bytes = sizeof before_ * (2 * num_commands + 1);
        // No copies: those are gated by rules of their own while a queue is held.
        must(hipHostMalloc(&buffers_, bytes, 0), "hipHostMalloc");
        must(hipHostMalloc(&control, sizeof *control, 0), "hipHostMalloc");
        std::memset(control, 0, sizeof *control);
        std::memcpy(buffers_, before_.data(), sizeof before_);
        must(xp_xqueue_create(stream, &options, &xqueue), "xp_xqueue_create");
    }
    ~Job() {
        must(xp_xqueue_destroy(xqueue), "xp_xqueue_destroy");
        must(hipHostFree(buffers_), "hipHostFree");
        must(hipHostFree(control), "hipHostFree");
    }
    Job(const Job&) = delete;
    Job& operator=(const Job&) = delete;

    void submit(unsigned count) {
        for (unsigned i = 0; i < count; ++i) {
            commands_[i] = {this, i};
            xp_command command{sizeof command, launch, &commands_[i], flags_, 0, nullptr};
            must(xp_xqueue_submit_command(xqueue, &command, nullptr), "xp_xqueue_submit_command");
        }
        submitted_ = count;
    }
    [[nodiscard]] bool ran(unsigned command) const {
        return now(control->runs[command][1]) >= blocks;
    }
    [[nodiscard]] bool touched(unsigned command) const {
        return now(control->runs[command][0]) != 0;
    }
    [[nodiscard]] bool right() const {
        const std::uint32_t* after = buffer(2 * submitted_);
        for (unsigned i = 0; i < items; ++i) {
            std::uint32_t value = before_[i];
            for (unsigned command = 0; command < submitted_; ++command)
                value = walk(walk(value, command), command);
            if (after[i] != value)
                return false;
        }
        return true;
    }
    [[nodiscard]] xp_xqueue_state state() const {
        xp_xqueue_state state{};
        state.sz = sizeof state;
        must(xp_xqueue_query(xqueue, &state), "xp_xqueue_query");
        return state;
    }
    [[nodiscard]] xp_xqueue_stats stats() const {
        xp_xqueue_stats stats{};
        stats.sz = sizeof stats;
        must(xp_xqueue_get_stats(xqueue, &stats), "xp_xqueue_get_stats");
        return stats;
    }
    [[nodiscard]] hipStream_t stream() const { return stream_; }

    Control* control = nullptr;
    xp_xqueue_t xqueue{};

private:
    struct Command {
        Job* job;
        std::uint32_t index;
    };

    static int launch(void* stream, void* argument) {
        const auto* command = static_cast<Command*>(argument);
        const Job& job = *command->job;
        xp_guardian_t guardian{};
        if (const int error = xp_guardian_of_launch(&guardian); error != 0)
            return error;
        for (std::uint32_t kernel = 0; kernel < 2; ++kernel) {
            const unsigned from = 2 * command->index + kernel;
            step<<<dim3(blocks), dim3(lanes), 0, static_cast<hipStream_t>(stream)>>>(
                {job.buffer(from), job.buffer(from + 1), job.control, command->index, kernel},
                guardian);
        }
        return hipGetLastError();
    }
    [[nodiscard]] std::uint32_t* buffer(unsigned index) const {
        return buffers_ + (in_place_ ? 0 : index * items);
    }

    hipStream_t stream_;
    bool in_place_;
    std::uint32_t flags_;
    unsigned submitted_ = 0;
    std::array<std::uint32_t, items> before_{};
    std::array<Command, num_commands> commands_{};
    std::uint32_t* buffers_ = nullptr;
};

enum class Queue { own, shared };

struct Case {
    const char* name;
    Queue queue;
    std::uint32_t level; // wanted
    std::uint32_t method;
    std::uint32_t flags; // of the commands
    bool allow_shared;
    const char* refusal; // in the reason; null: it works
    int waves_saved;     // by the GPU; any: as the driver can
};

constexpr std::uint32_t guarded = XP_COMMAND_GUARDED, idempotent = XP_COMMAND_IDEMPOTENT;
constexpr int all = blocks, any = -1; // a block is one wave
constexpr Case cases[] = {
    {"Lv1", Queue::own, XP_LEVEL_BLOCK, XP_METHOD_NONE, 0, false, nullptr, 0},
    {"Lv2 hardware", Queue::own, XP_LEVEL_DEACTIVATE, XP_METHOD_HARDWARE, 0, false, nullptr, any},
    {"Lv2 guardian", Queue::own, XP_LEVEL_DEACTIVATE, XP_METHOD_GUARDIAN, guarded, false, nullptr,
     0},
    {"Lv2 flush", Queue::own, XP_LEVEL_DEACTIVATE, XP_METHOD_FLUSH, idempotent, false, nullptr,
     all},
    {"Lv3", Queue::own, XP_LEVEL_INTERRUPT, XP_METHOD_HARDWARE, 0, false, nullptr, all},
    {"Lv1", Queue::shared, XP_LEVEL_BLOCK, XP_METHOD_NONE, 0, false, nullptr, 0},
    {"Lv2 hardware", Queue::shared, XP_LEVEL_DEACTIVATE, XP_METHOD_HARDWARE, 0, false,
     "streams share KFD queue", 0},
    {"Lv2 hardware with leave", Queue::shared, XP_LEVEL_DEACTIVATE, XP_METHOD_HARDWARE, 0, true,
     nullptr, any},
    {"Lv2 guardian", Queue::shared, XP_LEVEL_DEACTIVATE, XP_METHOD_GUARDIAN, guarded, false,
     nullptr, 0},
    {"Lv2 flush", Queue::shared, XP_LEVEL_DEACTIVATE, XP_METHOD_FLUSH, idempotent, false, nullptr,
     all},
    {"Lv3", Queue::shared, XP_LEVEL_INTERRUPT, XP_METHOD_HARDWARE, 0, false,
     "streams share KFD queue", 0},
    {"Lv3 with leave", Queue::shared, XP_LEVEL_INTERRUPT, XP_METHOD_HARDWARE, 0, true, nullptr,
     all},
};

class Matrix {
public:
    explicit Matrix(Queue queue) : queue_(queue) {
        for (hipStream_t& stream : streams_) {
            must(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking),
                 "hipStreamCreateWithFlags");
            must(xp_stream_touch(stream), "xp_stream_touch");
        }
        must(xp_stream_create(reinterpret_cast<void**>(&own_)), "xp_stream_create");
        must(hipMalloc(&word_, sizeof *word_), "hipMalloc");
        must(hipMemset(word_, 0, sizeof *word_), "hipMemset");
        xp_stream_info info{};
        info.sz = sizeof info;
        must(xp_stream_query(streams_[0], &info), "xp_stream_query");
        prefix = queue == Queue::own ? "own" : "shared";
        // The null stream is the fifth.
        check(info.num_sharing == (queue == Queue::own ? 1 : 5),
              "the streams share as they should");
    }

    void run(const Case& test, std::uint32_t number) {
        if (test.queue != queue_)
            return;
        prefix = std::string(queue_ == Queue::own ? "own" : "shared") + " " + test.name;
        xp_xqueue_options options{};
        options.sz = sizeof options;
        options.threshold = launched_at_once;
        options.batch = 2;
        options.max_level = test.level;
        options.deactivate_method =
            test.level == XP_LEVEL_DEACTIVATE ? test.method : XP_METHOD_NONE;
        options.flags = test.allow_shared ? XP_ALLOW_SHARED : 0;
        Job low(streams_[0], test.method != XP_METHOD_FLUSH, test.flags, options);
        // A stream that may stop with the low stream's queue can't be the high one.
        options.flags = 0;
        Job high(test.allow_shared ? own_ : streams_[1], true, 0, options);
        *high.control = {{1, 1}, {0, 0}, {}};
        // Closed again where commands are launched twice.
        low.control->release[1] = 1;

        low.submit(num_commands);
        until([&] { return now(low.control->heartbeat[0]) != 0; }, "the low kernel runs");
        until([&] { return low.state().in_flight == launched_at_once; }, "commands are in flight");
        counters_.snapshot(2 * number);
        if (test.refusal != nullptr)
            refused(test, low);
        else
            suspended(test, low, high);
        counters_.snapshot(2 * number + 1);
        // With HIP 5 KFD was seen to evict the process meanwhile, which saves its waves as well.
        const bool exact = test.waves_saved != 0 || !is_hip_5();
        std::printf("# counters %u %u %d %s\n", 2 * number, 2 * number + 1,
                    exact ? test.waves_saved : any, prefix.c_str());
        finished(test, low);
    }

private:
    static void gate(Job& job, unsigned gate, bool open) {
        __atomic_store_n(&job.control->release[gate], open ? 1 : 0, __ATOMIC_RELEASE);
    }

    static void refused(const Case& test, Job& low) {
        std::uint32_t level = 0;
        check(xp_xqueue_suspend(low.xqueue, XP_SUSPEND_EXACT, &level) == -EOPNOTSUPP, "is refused");
        const xp_xqueue_state state = low.state();
        check(std::strstr(state.reason, test.refusal) != nullptr,
              std::string("the reason is told: ") + state.reason);
        check(state.best_level == XP_LEVEL_BLOCK && state.suspends == 0, "Lv1 is what is left");
        gate(low, 0, true);
    }

    void suspended(const Case& test, Job& low, Job& high) {
        std::uint32_t level = 0;
        must(xp_xqueue_suspend(low.xqueue, XP_SUSPEND_EXACT, &level), "xp_xqueue_suspend");
        const xp_xqueue_state state = low.state();
        check(level == test.level && state.held_method == test.method, "it was suspended so");
        const std::uint32_t heartbeat = now(low.control->heartbeat[0]);
        gate(low, 0, true);
        add_one<<<dim3(1), dim3(1), 0, streams_[2]>>>(word_);
        must(hipGetLastError(), "add_one");
        high.submit(2);
        must(xp_xqueue_wait_all(high.xqueue), "xp_xqueue_wait_all");
        check(high.right(), "the high stream's result is right meanwhile");

        const bool held = test.method == XP_METHOD_HARDWARE;
        const bool stands = held && test.allow_shared;
        if (!stands)
            must(hipStreamSynchronize(streams_[2]), "hipStreamSynchronize");
        check((hipStreamQuery(streams_[2]) == hipErrorNotReady) == stands,
              stands ? "a neighbour is stopped with it" : "a neighbour continues");
        if (!held) {
            const unsigned last = test.level == XP_LEVEL_BLOCK ? launched_at_once - 1 : 0;
            until(
                [&] { return low.touched(0) && (test.method == XP_METHOD_FLUSH || low.ran(last)); },
                "what runs may end");
            // The queue is empty: what was launched and didn't run will not.
            until([&] { return hipStreamQuery(low.stream()) == hipSuccess; }, "the stream drains");
            for (unsigned command = last + 1; command < num_commands; ++command)
                check(!low.touched(command), "command " + std::to_string(command) + " has not run");
        } else {
            check(!low.touched(1), "no further command has run");
            check(hipStreamQuery(low.stream()) == hipErrorNotReady, "its stream is not empty");
        }
        if (test.level == XP_LEVEL_INTERRUPT)
            check(now(low.control->heartbeat[0]) == heartbeat && !low.touched(0),
                  "its running kernel has stood still");
        if (held || test.level == XP_LEVEL_BLOCK)
            must(xp_xqueue_resume(low.xqueue), "xp_xqueue_resume");
        else
            launched_again(test, low);
    }

    // A wait for a command that was taken back is one for its second launch: what tells completion
    // of the first has come long ago.
    static void launched_again(const Case& test, Job& low) {
        const std::uint64_t begun = test.method == XP_METHOD_GUARDIAN ? 1 : 0;
        const xp_xqueue_state state = low.state();
        check(low.stats().completed <= begun && state.in_flight <= begun &&
                  state.pending == num_commands - begun,
              "what was taken back does not count as complete");
        gate(low, 1, false);
        bool had_run = false;
        std::thread waiter([&] {
            must(xp_xqueue_wait(low.xqueue, last_launched + 1), "xp_xqueue_wait");
            had_run = low.ran(last_launched);
        });
        must(xp_xqueue_resume(low.xqueue), "xp_xqueue_resume");
        until([&] { return now(low.control->heartbeat[1]) != 0; }, "the last one runs again");
        gate(low, 1, true);
        waiter.join();
        check(had_run, "a wait for it ends after its second launch");
    }

    void finished(const Case& test, Job& low) {
        must(xp_xqueue_wait_all(low.xqueue), "xp_xqueue_wait_all");
        must(hipStreamSynchronize(streams_[2]), "hipStreamSynchronize");
        check(low.right(), "afterwards its result is right");
        // A flush finds the first command half done, and does all of it again.
        const std::uint32_t first = test.method == XP_METHOD_FLUSH ? 2 * blocks : blocks;
        bool once = now(low.control->runs[0][0]) == first;
        for (unsigned i = 1; i < 2 * num_commands; ++i)
            once = once && now(low.control->runs[i / 2][i % 2]) == blocks;
        check(once, "each kernel ran as often as it should");
        const xp_xqueue_stats stats = low.stats();
        const std::uint64_t relaunched = test.method == XP_METHOD_GUARDIAN ? launched_at_once - 1
                                         : test.method == XP_METHOD_FLUSH  ? launched_at_once
                                                                           : 0;
        check(stats.relaunched == relaunched && stats.hw_failures == 0,
              std::to_string(stats.relaunched) + " commands were launched again");
    }

    Queue queue_;
    VgpuCounters counters_;
    std::array<hipStream_t, 4> streams_{};
    hipStream_t own_ = nullptr;
    std::uint32_t* word_ = nullptr;
};

} // namespace

int main(int argc, char** argv) {
    const bool own = argc == 2 && std::strcmp(argv[1], "own") == 0;
    if (!own && !(argc == 2 && std::strcmp(argv[1], "shared") == 0)) {
        std::fprintf(stderr, "usage: preemption_matrix own|shared\n");
        return 2;
    }
    std::setvbuf(stdout, nullptr, _IOLBF, 0);
    xp_probe_info probe{};
    probe.sz = sizeof probe;
    must(xp_probe(&probe), "xp_probe");
    std::printf("# transport %u, hook %s %s\n", probe.transport,
                probe.hook_loaded != 0 ? "loaded" : "missing", probe.reason);
    Matrix matrix(own ? Queue::own : Queue::shared);
    for (std::uint32_t i = 0; i < sizeof cases / sizeof cases[0]; ++i)
        matrix.run(cases[i], i);
    std::printf("%s\n", failures == 0 ? "passed" : "failed");
    return failures == 0 ? 0 : 1;
}
