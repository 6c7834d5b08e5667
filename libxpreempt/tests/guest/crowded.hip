// SPDX-License-Identifier: MIT
// Two processes with STREAMS streams each, and a running kernel on each stream: more queues than the GPU has slots.
// Every queue gets turns, a held stream makes no progress, and doctor reports the cost. usage: crowded STREAMS
//
// The streams are plain ones, so the hook decides how many queues they get. The library's warning is on stderr.
#include "lanes.hpp"

#include <xpreempt/xpreempt.h>

#include <hip/hip_runtime.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

using namespace lanes;

namespace {

// The other process, by one end each of two pipes.
struct Other {
    int from, to;

    // Returns when the other process has called it as often.
    void meet() const {
        char byte = 0;
        if (write(to, &byte, 1) != 1 || read(from, &byte, 1) != 1) {
            check(false, "the other process is there");
            std::_Exit(1);
        }
    }
};

struct Stream {
    hipStream_t stream = nullptr;
    Flags* flags = nullptr;

    [[nodiscard]] bool done() const { return peek(flags->done) == 1; }
};

std::vector<Stream> prepare(unsigned count) {
    std::vector<Stream> streams(count);
    for (Stream& one : streams) {
        MUST(hipStreamCreateWithFlags(&one.stream, hipStreamNonBlocking));
        MUST(hipHostMalloc(&one.flags, sizeof *one.flags, 0));
        *one.flags = {};
    }
    return streams;
}

void start(const Stream& one) {
    run_until_told<<<dim3(1), dim3(64), 0, one.stream>>>(one.flags);
    MUST(hipGetLastError());
    wait_until([&] { return peek(one.flags->started) == 1; });
}

void end(const Stream& one) {
    poke(one.flags->go, 1);
    MUST(hipStreamSynchronize(one.stream));
}

std::string doctor() {
    const std::unique_ptr<FILE, int (*)(FILE*)> said(popen("kfd-preempt doctor", "r"), pclose);
    std::string text;
    for (int byte = 0; said && (byte = std::fgetc(said.get())) != EOF;)
        text += static_cast<char>(byte);
    return text;
}

void hold_one(const std::vector<Stream>& streams) {
    const Stream& held = streams.front();
    const auto begin = std::chrono::steady_clock::now();
    MUST(xp_stream_hold(held.stream, XP_HOLD_LEAST(XP_LEVEL_INTERRUPT), nullptr));
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
    std::printf("# %s: a stop took %.1f ms\n", current_case, took.count());
    poke(held.flags->go, 1);
    bool all = true;
    for (std::size_t i = 1; i < streams.size(); ++i) {
        end(streams[i]);
        all = all && streams[i].done();
    }
    check(all, "all other streams had their turns");
    check(!held.done(), "the held stream is where it was");
    MUST(xp_stream_release(held.stream));
    MUST(hipStreamSynchronize(held.stream));
    check(held.done(), "and ends when it is released");
}

int share_the_gpu(const char* name, unsigned count, const Other& other) {
    current_case = name;
    const std::vector<Stream> streams = prepare(count);
    for (const Stream& one : streams)
        start(one);
    other.meet();
    check(doctor().find("processes share") != std::string::npos, "doctor says that queues take turns");
    other.meet();
    hold_one(streams);
    other.meet();
    for (const Stream& one : streams)
        MUST(hipStreamDestroy(one.stream));
    std::fflush(stdout);
    return failures == 0 ? 0 : 1;
}

} // namespace

int main(int argc, char** argv) {
    const unsigned long count = argc == 2 ? std::strtoul(argv[1], nullptr, 10) : 0;
    int there[2], back[2];
    if (count == 0 || pipe(there) != 0 || pipe(back) != 0) {
        std::fprintf(stderr, "usage: crowded STREAMS\n");
        return 2;
    }
    // Before the first call of HIP. A process that ends closes its pipes, and the other one sees it.
    const pid_t second = fork();
    if (second == 0) {
        close(there[1]);
        close(back[0]);
        std::_Exit(share_the_gpu("second", static_cast<unsigned>(count), {there[0], back[1]}));
    }
    close(there[0]);
    close(back[1]);
    const int failed = share_the_gpu("first", static_cast<unsigned>(count), {back[0], there[1]});
    int status = 1;
    if (second < 0 || waitpid(second, &status, 0) != second)
        status = 1;
    return failed != 0 || status != 0 ? 1 : 0;
}
