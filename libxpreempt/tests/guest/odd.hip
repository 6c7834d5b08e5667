// SPDX-License-Identifier: MIT
// Programs that are odd and allowed: forks in a callback, captures on several threads, streams that
// end while others hold them, threads that end with work on their own stream.
//
//   odd [CASE]...     (default: all; TAP on stdout)
//   odd --rounds N    all, so often
#include "lanes.hpp"

#include <xpreempt/xpreempt.h>

#include <hip/hip_runtime.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <spawn.h>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

extern char** environ;

using namespace lanes;

namespace {

constexpr unsigned case_seconds = 240; // a machine without KVM may be slow

void hangs(int) {
    char text[160];
    const int length =
        std::snprintf(text, sizeof text, "not ok - %s: hangs\n", current_case);
    (void)!write(STDOUT_FILENO, text, static_cast<std::size_t>(length));
    _exit(1);
}

int status_of(pid_t child) {
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status))
        return -1;
    return WEXITSTATUS(status);
}

struct Fork {
    Lane* held;
    int answer = -1, spawned = -1;
    std::atomic<bool> ran{false};
};

// In ROCr's thread. The child may use neither HIP nor the library; a program that is started anew may.
void fork_in_callback() {
    Lane held, other;
    held.start_and_hold();
    Fork made{&held};
    MUST(hipLaunchHostFunc(
        other.stream,
        [](void* argument) {
            auto* told = static_cast<Fork*>(argument);
            const pid_t child = fork();
            if (child == 0)
                _exit(xp_stream_hold(told->held->stream, 0, nullptr) == -EBADF ? 0 : 1);
            told->answer = status_of(child);
            pid_t spawned = -1;
            char name[] = "odd", mode[] = "child";
            char* const arguments[] = {name, mode, nullptr};
            if (posix_spawn(&spawned, "/proc/self/exe", nullptr, nullptr, arguments, environ) == 0)
                told->spawned = status_of(spawned);
            told->ran = true;
        },
        &made));
    wait_until([&] { return made.ran.load(); });
    check(made.answer == 0, "a child of the callback gets EBADF");
    check(made.spawned == 0, "a program that the callback starts uses the GPU");
    check(!held.done() && held.info().held == 1, "the stream is still held");
    others_go_on(other);
    held.set_go();
    held.resume();
    MUST(hipStreamSynchronize(held.stream));
}

// How the program is called by the case before.
int child() {
    Lane lane;
    lane.start_and_hold();
    lane.set_go();
    lane.resume();
    MUST(hipStreamSynchronize(lane.stream));
    return lane.done() ? 0 : 1;
}

void captures_on_threads() {
    constexpr int captures = 60;
    constexpr hipStreamCaptureMode modes[] = {hipStreamCaptureModeGlobal, hipStreamCaptureModeThreadLocal,
                                              hipStreamCaptureModeRelaxed};
    Lane lanes[3], changing;
    std::atomic<int> undisturbed{0}, running{3};
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i)
        threads.emplace_back([&, i] {
            for (int n = 0; n < captures; ++n) {
                hipGraph_t graph = nullptr;
                MUST(hipStreamBeginCapture(lanes[i].stream, modes[i]));
                count_one<<<dim3(1), dim3(64), 0, lanes[i].stream>>>(lanes[i].flags);
                const bool launched = hipGetLastError() == hipSuccess;
                const bool ended = hipStreamEndCapture(lanes[i].stream, &graph) == hipSuccess;
                undisturbed += launched && ended && graph != nullptr ? 1 : 0;
            }
            --running;
        });
    const auto launch = [](void* stream, void* argument) {
        count_one<<<dim3(1), dim3(64), 0, static_cast<hipStream_t>(stream)>>>(
            static_cast<Flags*>(argument));
        return static_cast<int>(hipGetLastError());
    };
    std::uint32_t submitted = 0;
    while (running > 0) {
        std::uint64_t ticket = 0;
        std::uint32_t level = 0, idle = 0;
        MUST(xp_xqueue_submit(changing.xqueue, launch, changing.flags, &ticket));
        ++submitted;
        MUST(xp_xqueue_suspend(changing.xqueue, XP_SUSPEND_EXACT, &level));
        MUST(xp_stream_is_idle(changing.stream, &idle));
        (void)changing.info();
        changing.resume();
        MUST(xp_xqueue_wait(changing.xqueue, ticket));
    }
    for (std::thread& thread : threads)
        thread.join();
    std::printf("# %d of %d captures undisturbed\n", undisturbed.load(), 3 * captures);
    check(undisturbed == 3 * captures, "no capture is disturbed, whatever its mode");
    MUST(hipStreamSynchronize(changing.stream));
    check(changing.count() == submitted, "every command ran");
}

// As the clients of the control socket hold streams: the program destroys them meanwhile.
void streams_end_while_held() {
    constexpr int rounds = 40;
    Lane other;
    std::mutex mutex;
    hipStream_t shown = nullptr; // to the holder; it may have been destroyed
    std::atomic<bool> enough{false};
    std::atomic<int> held{0};
    std::thread holder([&] {
        while (!enough) {
            hipStream_t stream = nullptr;
            {
                const std::lock_guard lock(mutex);
                stream = shown;
            }
            if (stream == nullptr || xp_stream_hold(stream, 0, nullptr) != 0)
                continue;
            ++held;
            usleep(500);
            (void)xp_stream_release(stream);
        }
    });
    for (int round = 0; round < rounds; ++round) {
        hipStream_t stream = nullptr;
        MUST(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
        {
            const std::lock_guard lock(mutex);
            shown = stream;
        }
        for (int i = 0; i < 5; ++i) {
            count_one<<<dim3(1), dim3(64), 0, stream>>>(other.flags);
            MUST(hipGetLastError());
        }
        MUST(hipStreamDestroy(stream));
    }
    enough = true;
    holder.join();
    MUST(hipDeviceSynchronize());
    std::printf("# %d holds in %d streams\n", held.load(), rounds);
    check(other.count() == 5U * rounds, "every kernel ran");
    others_go_on(other);
}

// Its own stream ends with a thread, by HIP's destructor.
void threads_end_with_work() {
    constexpr int rounds = 20;
    Lane held, other;
    held.start_and_hold();
    for (int round = 0; round < rounds; ++round)
        std::thread([&] {
            count_one<<<dim3(1), dim3(64), 0, hipStreamPerThread>>>(other.flags);
            MUST(hipGetLastError());
            if (round % 2 == 0)
                MUST(hipStreamSynchronize(hipStreamPerThread));
        }).join();
    wait_until([&] { return other.count() == rounds; });
    check(!held.done() && held.info().held == 1, "the held stream is held");
    held.set_go();
    held.resume();
    MUST(hipStreamSynchronize(held.stream));
}

const struct {
    const char* name;
    void (*run)();
} cases[] = {
    {"fork-in-callback", fork_in_callback},
    {"captures-on-threads", captures_on_threads},
    {"streams-end-while-held", streams_end_while_held},
    {"threads-end-with-work", threads_end_with_work},
};

bool wanted(const char* name, int argc, char** argv) {
    for (int i = 1; i < argc; ++i)
        if (std::strcmp(argv[i], name) == 0)
            return true;
    return argc == 1;
}

} // namespace

int main(int argc, char** argv) {
    std::setvbuf(stdout, nullptr, _IOLBF, 0);
    std::signal(SIGALRM, hangs);
    alarm(case_seconds);
    if (argc == 2 && std::strcmp(argv[1], "child") == 0)
        return child();
    int rounds = 1;
    if (argc == 3 && std::strcmp(argv[1], "--rounds") == 0) {
        rounds = std::atoi(argv[2]);
        argc = 1;
    }
    for (; rounds > 0; --rounds)
        for (const auto& one : cases) {
            if (!wanted(one.name, argc, argv))
                continue;
            current_case = one.name;
            alarm(case_seconds);
            one.run();
        }
    return failures == 0 ? 0 : 1;
}
