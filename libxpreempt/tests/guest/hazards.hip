// SPDX-License-Identifier: MIT
// What a program meets when one of its streams is held: each hazard, and that it does no harm.
//
//   hazards [CASE]...     (default: every case that does not end the process; TAP on stdout)
//
// A kernel runs until the host tells it to end, so a hold always comes in its middle. A case that
// hangs is "not ok": an alarm ends the program.
#include <xpreempt/xpreempt.h>

#include <hip/hip_cooperative_groups.h>
#include <hip/hip_runtime.h>

#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

constexpr unsigned case_seconds = 240; // a machine without KVM may be slow
constexpr int captures = 500;
constexpr std::size_t copy_bytes = 256 * 1024; // beyond 16 KiB HIP copies by DMA engine

int failures = 0;
const char* current_case = "";

void check(bool good, const char* what) {
    std::printf("%s - %s: %s\n", good ? "ok" : "not ok", current_case, what);
    failures += good ? 0 : 1;
}

void must(int error, const char* call) {
    if (error == 0)
        return;
    std::printf("not ok - %s: %s: %d %s\n", current_case, call, error, xp_last_detail());
    std::fflush(stdout);
    _exit(1);
}
#define MUST(call) must(static_cast<int>(call), #call)

void hangs(int) {
    char text[160];
    const int length =
        std::snprintf(text, sizeof text, "not ok - %s: hangs\n", current_case);
    (void)!write(STDOUT_FILENO, text, static_cast<std::size_t>(length));
    _exit(1);
}

// In host memory, for both sides to look at while a kernel runs.
struct Flags {
    std::uint32_t started, go, done, count;
};

__device__ std::uint32_t load(const std::uint32_t* word) {
    return __hip_atomic_load(word, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
}
__device__ void store(std::uint32_t* word, std::uint32_t value) {
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

// The private array is indexed by data, so it needs scratch.
__global__ void use_scratch(Flags* flags, std::uint32_t seed) {
    volatile std::uint32_t words[64];
    for (std::uint32_t i = 0; i < 64; ++i)
        words[(i * 7 + seed) & 63U] = i;
    std::uint32_t sum = 0;
    for (std::uint32_t i = 0; i < 64; ++i)
        sum += words[i];
    if (threadIdx.x == 0)
        store(&flags->count, sum);
}

__global__ void cooperate(Flags* flags) {
    cooperative_groups::this_grid().sync();
    if (threadIdx.x == 0 && blockIdx.x == 0)
        store(&flags->count, 1);
}

std::uint32_t peek(const std::uint32_t& word) { return __atomic_load_n(&word, __ATOMIC_ACQUIRE); }
void poke(std::uint32_t& word, std::uint32_t value) {
    __atomic_store_n(&word, value, __ATOMIC_RELEASE);
}
void wait_until(const std::function<bool()>& condition) {
    while (!condition())
        usleep(500);
}

// A stream with a queue of its own and an xqueue in front of it. What it owns stays until the end of
// the program: to free memory is one of the hazards.
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
    void tell() { poke(flags->go, 1); }
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
    [[nodiscard]] std::uint64_t preempts() const {
        xp_queue_t queue{};
        MUST(xp_queue_open(stream, XP_ALLOW_SHARED, &queue));
        xp_queue_info info{};
        info.sz = sizeof info;
        MUST(xp_queue_query(queue, &info));
        MUST(xp_queue_close(queue));
        return info.preempts;
    }
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

// Other threads go on: what HIP has of locks is free.
void others_go_on(Lane& other) {
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
    check(other.count() == before + 1, "other streams go on");
}

void waits() {
    Lane held(hipStreamDefault);
    Lane other;
    hipEvent_t event = nullptr;
    void* memory = nullptr;
    MUST(hipEventCreate(&event));
    MUST(hipMalloc(&memory, copy_bytes));
    const struct {
        const char* name;
        std::function<int()> call;
    } calls[] = {
        {"hipStreamSynchronize", [&] { return hipStreamSynchronize(held.stream); }},
        {"hipStreamSynchronize of the null stream", [&] { return hipStreamSynchronize(nullptr); }},
        {"hipDeviceSynchronize", [&] { return hipDeviceSynchronize(); }},
        {"hipEventSynchronize", [&] { return hipEventSynchronize(event); }},
        {"hipMemcpy", [&] { return hipMemcpy(other.host, held.device, 64, hipMemcpyDeviceToHost); }},
        {"hipFree", [&] { return hipFree(memory); }},
    };
    for (const auto& call : calls) {
        current_case = call.name;
        held.start();
        MUST(hipEventRecord(event, held.stream));
        held.hold();
        Caller caller(held, call.call);
        caller.wait_until_waiting();
        others_go_on(other);
        check(!caller.finished() && !held.done(), "the stream is still held");
        held.tell();
        held.resume();
        caller.join();
        check(held.done(), "the wait ended after the kernel");
    }
}

// Nothing of the held stream is unfinished: a wait for it has nothing to wait for.
void idle() {
    Lane held, other;
    held.launch();
    MUST(hipStreamSynchronize(held.stream));
    held.hold();
    MUST(hipStreamSynchronize(held.stream));
    MUST(hipDeviceSynchronize());
    void* memory = nullptr;
    MUST(hipMalloc(&memory, 4096));
    MUST(hipFree(memory));
    check(held.state().suspends == 1, "waits do not wait for a held stream without work");
    held.resume();
}

void destroy() {
    Lane held, other;
    held.start_and_hold();
    held.tell();
    MUST(hipStreamDestroy(held.stream));
    check(held.done(), "hipStreamDestroy() let the stream finish");
    others_go_on(other);
    check(xp_xqueue_resume(held.xqueue) == 0, "the xqueue of a destroyed stream can be resumed");
    held.stream = nullptr;
}

void reset() {
    Lane held;
    held.start_and_hold();
    held.tell();
    check(hipDeviceReset() == hipSuccess, "hipDeviceReset() returns");
    held.stream = nullptr;
}

void edges() {
    Lane held, waiter;
    hipEvent_t event = nullptr;
    MUST(hipEventCreateWithFlags(&event, hipEventDisableTiming));
    held.start();
    MUST(hipEventRecord(event, held.stream));
    held.hold();
    MUST(hipStreamWaitEvent(waiter.stream, event, 0));
    waiter.launch();
    const xp_stream_info info = waiter.info();
    check(info.held == 0 && info.blocked == 1, "the waiting stream is blocked");
    check(info.blocker == held.info().kfd_queue_id, "and the state says by which queue");
    check(held.info().held == 1 && held.info().blocked == 0, "the held one is held");
    Caller caller(held, [&] { return hipStreamSynchronize(waiter.stream); });
    caller.wait_until_waiting();
    check(held.state().lifted == 0 && waiter.count() == 0, "equal priority changes nothing");
    held.tell();
    held.resume();
    caller.join();
    check(waiter.count() == 1 && waiter.info().blocked == 0, "the edge went with the resume");
}

// How an edge to a stream of higher priority comes about: before the hold or after it.
void inheritance() {
    Lane held(hipStreamNonBlocking, -10), high(hipStreamNonBlocking, 10);
    hipEvent_t event = nullptr;
    MUST(hipEventCreateWithFlags(&event, hipEventDisableTiming));
    for (const bool edge_first : {true, false}) {
        current_case = edge_first ? "inheritance, edge before hold" : "inheritance, hold before edge";
        const std::uint32_t before = high.count();
        const std::uint64_t preempts = held.preempts();
        held.start();
        MUST(hipEventRecord(event, held.stream));
        if (edge_first) {
            MUST(hipStreamWaitEvent(high.stream, event, 0));
            high.launch();
            held.hold();
        } else {
            held.hold();
            MUST(hipStreamWaitEvent(high.stream, event, 0));
            high.launch();
        }
        wait_until([&] { return held.state().lifted == 1; });
        check(held.state().suspends == 1 && !held.done(), "the held stream runs for the higher one");
        held.tell();
        MUST(hipStreamSynchronize(high.stream));
        check(high.count() == before + 1 && held.done(), "the higher stream got what it waited for");
        wait_until([&] { return held.state().lifted == 0; });
        check(held.state().suspends == 1, "then it is held again");
        check(held.info().held == 1, "its queue is stopped");
        if (preempts != 0 || held.preempts() != 0) // a driver that counts
            check(held.preempts() > preempts + 1 - (edge_first ? 1 : 0), "the driver stopped it");
        const std::uint32_t count = held.count();
        held.launch();
        check(hipStreamQuery(held.stream) == hipErrorNotReady && held.count() == count,
              "a launch on it does not run");
        held.resume();
        MUST(hipStreamSynchronize(held.stream));
        check(held.count() == count + 1, "resumed, it does");
    }
}

// HIP gives a stream an engine that is free, so that both engines have to be taken.
constexpr std::size_t num_engines = 2;

int copy(Lane& lane, bool to_device) {
    return to_device ? hipMemcpyAsync(lane.device, lane.host, copy_bytes, hipMemcpyHostToDevice,
                                      lane.stream)
                     : hipMemcpyAsync(lane.host, lane.device, copy_bytes, hipMemcpyDeviceToHost,
                                      lane.stream);
}

void copies_pass(Lane& lane) {
    for (const bool to_device : {true, false}) {
        MUST(copy(lane, to_device));
        MUST(hipStreamSynchronize(lane.stream));
    }
}

void copies() {
    Lane held[num_engines], other;
    for (const bool to_device : {true, false}) {
        current_case = to_device ? "copy to the device while held" : "copy from it while held";
        std::vector<std::unique_ptr<Caller>> callers;
        for (Lane& lane : held) {
            lane.start_and_hold();
            callers.push_back(
                std::make_unique<Caller>(lane, [&lane, to_device] { return copy(lane, to_device); }));
            callers.back()->wait_until_waiting();
        }
        copies_pass(other);
        check(!held[0].done() && !held[1].done(), "copies of another stream pass the DMA engines");
        for (Lane& lane : held) {
            lane.tell();
            lane.resume();
        }
        for (const auto& caller : callers)
            caller->join();
        for (Lane& lane : held)
            MUST(hipStreamSynchronize(lane.stream));
    }
}

// The copies are in the engines' rings when the hold comes: nothing can take them out again.
void parked_copies() {
    Lane held[num_engines], other;
    for (const bool to_device : {true, false}) {
        current_case = to_device ? "copy to the device before the hold" : "copy from it before the hold";
        for (Lane& lane : held) {
            lane.start();
            MUST(copy(lane, to_device));
            lane.hold();
            lane.tell();
        }
        check(!held[0].done() && !held[1].done(), "nothing but the streams themselves waits");
        copies_pass(other);
        check(held[0].done() || held[1].done(), "one ran until its copy was out of the way");
        wait_until([&] { return held[0].state().lifted + held[1].state().lifted == 0; });
        for (Lane& lane : held) {
            check(lane.state().suspends == 1 && lane.info().held == 1, "then it is held again");
            lane.resume();
            MUST(hipStreamSynchronize(lane.stream));
        }
    }
}

void launches() {
    constexpr std::uint32_t many = 3000;
    Lane held, other;
    held.start_and_hold();
    Caller caller(held, [&] {
        for (std::uint32_t i = 0; i < many; ++i)
            held.launch();
        return 0;
    });
    caller.wait_until_waiting();
    check(hipStreamQuery(held.stream) == hipErrorNotReady, "the stream itself can be asked");
    others_go_on(other);
    held.tell();
    held.resume();
    caller.join();
    MUST(hipStreamSynchronize(held.stream));
    check(held.count() == many, "every launch came through");
}

void scratch() {
    Lane held, other;
    use_scratch<<<dim3(1), dim3(64), 0, held.stream>>>(held.flags, 3);
    MUST(hipStreamSynchronize(held.stream));
    held.start_and_hold();
    use_scratch<<<dim3(64), dim3(256), 0, other.stream>>>(other.flags, 5);
    MUST(hipStreamSynchronize(other.stream));
    check(other.count() == 64 * 63 / 2, "a kernel with scratch runs beside a held queue");
    held.tell();
    held.resume();
    MUST(hipStreamSynchronize(held.stream));
}

void graphs() {
    Lane held, other;
    hipGraph_t graph = nullptr;
    hipGraphExec_t exec = nullptr;
    held.start_and_hold();
    // Capturing is not launching: nothing of it may wait, or be asked for.
    MUST(hipStreamBeginCapture(held.stream, hipStreamCaptureModeGlobal));
    for (int i = 0; i < 100; ++i)
        held.launch();
    MUST(hipMemcpyAsync(held.device, held.host, copy_bytes, hipMemcpyHostToDevice, held.stream));
    MUST(hipStreamEndCapture(held.stream, &graph));
    MUST(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
    check(held.count() == 0, "a held stream can be captured");
    Caller caller(held, [&] { return hipGraphLaunch(exec, held.stream); });
    caller.wait_until_waiting();
    others_go_on(other);
    held.tell();
    held.resume();
    caller.join();
    MUST(hipStreamSynchronize(held.stream));
    check(held.count() == 100, "the graph ran once");
}

// A global capture forbids every other thread's questions to HIP; ours too. Whenever anything else is
// held or resumed, who waits looks again.
void capture() {
    Lane held, other, changing;
    held.start_and_hold();
    Caller caller(held, [&] { return hipStreamSynchronize(held.stream); });
    caller.wait_until_waiting();
    std::atomic<bool> enough{false};
    std::thread changes([&] {
        while (!enough) {
            std::uint32_t level = 0;
            MUST(xp_xqueue_suspend(changing.xqueue, XP_SUSPEND_EXACT, &level));
            changing.resume();
        }
    });
    int undisturbed = 0;
    for (int i = 0; i < captures; ++i) {
        hipGraph_t graph = nullptr;
        MUST(hipStreamBeginCapture(other.stream, hipStreamCaptureModeGlobal));
        count_one<<<dim3(1), dim3(64), 0, other.stream>>>(other.flags);
        const bool launched = hipGetLastError() == hipSuccess;
        (void)held.state(); // looks at the waiters
        undisturbed += hipStreamEndCapture(other.stream, &graph) == hipSuccess && launched ? 1 : 0;
    }
    enough = true;
    changes.join();
    std::printf("# %d of %d captures undisturbed\n", undisturbed, captures);
    check(undisturbed == captures, "no capture is disturbed by who waits");
    held.tell();
    held.resume();
    caller.join();
}

// Nor do the library's threads, which have to know what of an xqueue's commands is done.
void capture_beside_commands() {
    Lane commands, other;
    const auto launch = [](void* stream, void* argument) {
        count_one<<<dim3(1), dim3(64), 0, static_cast<hipStream_t>(stream)>>>(
            static_cast<Flags*>(argument));
        return static_cast<int>(hipGetLastError());
    };
    xp_command command{};
    command.sz = sizeof command;
    command.flags = XP_COMMAND_GUARDED; // the first needs memory
    command.launch = launch;
    command.argument = commands.flags;
    std::uint32_t submitted = 0;
    int undisturbed = 0;
    for (int i = 0; i < captures; ++i) {
        hipGraph_t graph = nullptr;
        std::uint64_t ticket = 0;
        MUST(hipStreamBeginCapture(other.stream, hipStreamCaptureModeGlobal));
        count_one<<<dim3(1), dim3(64), 0, other.stream>>>(other.flags);
        const bool launched = hipGetLastError() == hipSuccess;
        for (const std::uint32_t end = submitted + 10; submitted < end; ++submitted)
            MUST(xp_xqueue_submit_command(commands.xqueue, &command, &ticket));
        MUST(xp_xqueue_wait(commands.xqueue, ticket));
        undisturbed += hipStreamEndCapture(other.stream, &graph) == hipSuccess && launched ? 1 : 0;
    }
    std::printf("# %d of %d captures undisturbed, %u commands\n", undisturbed, captures, submitted);
    check(undisturbed == captures, "no capture is disturbed by an xqueue's commands");
    check(commands.count() == submitted, "every command ran");
}

struct Callback {
    Lane* held;
    std::atomic<bool> ran{false};
};

void callbacks() {
    Lane held, other;
    held.start_and_hold();
    Callback callback{&held};
    // Not what HIP allows there, but a program that does it must not lose ROCr's event thread.
    MUST(hipStreamAddCallback(
        other.stream,
        [](hipStream_t, hipError_t, void* argument) {
            auto* told = static_cast<Callback*>(argument);
            (void)hipGraphLaunch(nullptr, told->held->stream);
            (void)hipMemcpyAsync(nullptr, nullptr, 0, hipMemcpyDefault, told->held->stream);
            told->ran = true;
        },
        &callback, 0));
    wait_until([&] { return callback.ran.load(); });
    check(held.state().waiters == 0, "a callback is never made to wait");
    others_go_on(other);
    held.tell();
    held.resume();
    MUST(hipStreamSynchronize(held.stream));
}

void cooperative() {
    Lane held, other;
    held.start_and_hold();
    void* arguments[] = {&held.flags};
    Caller caller(held, [&] {
        return hipLaunchCooperativeKernel(cooperate, dim3(2), dim3(64), arguments, 0, held.stream);
    });
    caller.wait_until_waiting();
    void* other_arguments[] = {&other.flags};
    MUST(hipLaunchCooperativeKernel(cooperate, dim3(2), dim3(64), other_arguments, 0, other.stream));
    MUST(hipStreamSynchronize(other.stream));
    check(other.count() == 1, "another stream's cooperative kernel runs meanwhile");
    held.tell();
    held.resume();
    caller.join();
    MUST(hipStreamSynchronize(held.stream));
    check(held.count() == 1, "the one that waited ran");
}

void exit_while_held() {
    Lane held;
    held.start_and_hold();
    std::thread([&held] { (void)hipStreamSynchronize(held.stream); }).detach();
    wait_until([&] { return held.state().waiters == 1; });
    held.tell();
    std::printf("ok - exit: held and waited for\n");
    std::exit(failures);
}

void die_while_held() {
    Lane held;
    held.start_and_hold();
    std::printf("ok - die: held\n");
    std::fflush(stdout);
    std::raise(SIGSEGV);
}

const struct {
    const char* name;
    void (*run)();
    bool ends;
} cases[] = {
    {"waits", waits, false},           {"idle", idle, false},
    {"destroy", destroy, false},       {"edges", edges, false},
    {"inheritance", inheritance, false}, {"copies", copies, false},
    {"parked-copies", parked_copies, false}, {"launches", launches, false},
    {"scratch", scratch, false},       {"graphs", graphs, false},
    {"capture", capture, false},       {"capture-beside-commands", capture_beside_commands, false},
    {"callbacks", callbacks, false},
    {"cooperative", cooperative, false}, {"reset", reset, true},
    {"exit", exit_while_held, true},   {"die", die_while_held, true},
};

bool wanted(const char* name, bool ends, int argc, char** argv) {
    for (int i = 1; i < argc; ++i)
        if (std::strcmp(argv[i], name) == 0)
            return true;
    return argc == 1 && !ends;
}

} // namespace

int main(int argc, char** argv) {
    std::setvbuf(stdout, nullptr, _IOLBF, 0);
    std::signal(SIGALRM, hangs);
    for (const auto& one : cases) {
        if (!wanted(one.name, one.ends, argc, argv))
            continue;
        current_case = one.name;
        alarm(case_seconds);
        one.run();
    }
    return failures == 0 ? 0 : 1;
}
