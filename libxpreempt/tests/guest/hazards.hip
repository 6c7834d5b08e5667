// SPDX-License-Identifier: MIT
// Hazards that a program meets when one of its streams is held; none does harm.
//
//   hazards [CASE]...     (default: every case that doesn't end the process; TAP on stdout)
//
// A kernel runs until the host tells it to end, so a hold always comes in its middle. A case that
// hangs is "not ok": an alarm ends the program.
#include "hip_5.hpp"
#include "lanes.hpp"

#include <xpreempt/xpreempt.h>

#include <hip/hip_cooperative_groups.h>
#include <hip/hip_runtime.h>

#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace lanes;

namespace {

constexpr unsigned case_seconds = 240; // a machine without KVM may be slow
constexpr int captures = 500;

void hangs(int) {
    char text[160];
    const int length =
        std::snprintf(text, sizeof text, "not ok - %s: hangs\n", current_case);
    (void)!write(STDOUT_FILENO, text, static_cast<std::size_t>(length));
    _exit(1);
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
        held.set_go();
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
    held.set_go();
    MUST(hipStreamDestroy(held.stream));
    check(held.done(), "hipStreamDestroy() let the stream finish");
    others_go_on(other);
    check(xp_xqueue_resume(held.xqueue) == 0, "the xqueue of a destroyed stream can be resumed");
    held.stream = nullptr;
}

void reset() {
    Lane held;
    held.start_and_hold();
    held.set_go();
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
    held.set_go();
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
        held.set_go();
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

// Engines of the GPU, as KFD's topology has them.
std::size_t gpu_engines() {
    std::size_t engines = 0;
    for (int node = 0; node < 8; ++node) {
        std::ifstream properties("/sys/class/kfd/kfd/topology/nodes/" + std::to_string(node) + "/properties");
        std::size_t value = 0;
        for (std::string name; properties >> name >> value;)
            if (name == "num_sdma_engines" || name == "num_sdma_xgmi_engines")
                engines += value;
    }
    return engines;
}

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
            lane.set_go();
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
            lane.set_go();
        }
        if (!is_hip_5()) // has one engine a direction: the second copy waits behind the first
            check(!held[0].done() && !held[1].done(), "nothing but the streams themselves waits");
        copies_pass(other);
        if (gpu_engines() == num_engines) // else another one was free
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
    held.set_go();
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
    held.set_go();
    held.resume();
    MUST(hipStreamSynchronize(held.stream));
}

void graphs() {
    Lane held, other;
    hipGraph_t graph = nullptr;
    hipGraphExec_t exec = nullptr;
    held.start_and_hold();
    // Capturing isn't launching: nothing of it may wait, or be asked for.
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
    held.set_go();
    held.resume();
    caller.join();
    MUST(hipStreamSynchronize(held.stream));
    check(held.count() == 100, "the graph ran once");
}

// Returns how many of them ended well.
int capture_often(Lane& lane, const std::function<void()>& inside) {
    int good = 0;
    for (int i = 0; i < captures; ++i) {
        hipGraph_t graph = nullptr;
        MUST(hipStreamBeginCapture(lane.stream, hipStreamCaptureModeGlobal));
        count_one<<<dim3(1), dim3(64), 0, lane.stream>>>(lane.flags);
        const bool launched = hipGetLastError() == hipSuccess;
        inside();
        const bool ended = hipStreamEndCapture(lane.stream, &graph) == hipSuccess;
        good += launched && ended && graph != nullptr ? 1 : 0;
    }
    std::printf("# %d of %d captures undisturbed\n", good, captures);
    return good;
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
    const int undisturbed = capture_often(other, [&] { (void)held.state(); });
    enough = true;
    changes.join();
    check(undisturbed == captures, "no capture is disturbed by who waits");
    held.set_go();
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
    const int undisturbed = capture_often(other, [&] {
        std::uint64_t ticket = 0;
        for (const std::uint32_t end = submitted + 10; submitted < end; ++submitted)
            MUST(xp_xqueue_submit_command(commands.xqueue, &command, &ticket));
        MUST(xp_xqueue_wait(commands.xqueue, ticket));
    });
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
    held.set_go();
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
    held.set_go();
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
    held.set_go();
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
