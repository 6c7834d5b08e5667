// SPDX-License-Identifier: MIT
// A program that dies while it holds a queue of its own: the driver ends the hold with the queue,
// and the next program has the GPU. Prints TAP.
//
// Nothing of the library runs at the end of the dying program, which is what is tested.
#include <xpreempt/xpreempt.h>

#include <hip/hip_runtime.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

constexpr std::uint32_t held_and_standing = 1; // what the dying program tells before it does

__global__ void count_until(std::uint32_t* turns, const std::uint32_t* end) {
    std::uint32_t mine = 0;
    while (__hip_atomic_load(end, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM) == 0)
        __hip_atomic_store(turns, ++mine, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
}

int failures = 0;

void check(bool good, const std::string& what) {
    std::printf("%s - %s\n", good ? "ok" : "not ok", what.c_str());
    std::fflush(stdout);
    failures += good ? 0 : 1;
}

void must(int error, const char* call) {
    if (error == 0)
        return;
    std::fprintf(stderr, "%s: %d; %s\n", call, error, xp_last_detail());
    std::exit(1);
}

// A kernel that was seen to run; words[1] ends it.
std::uint32_t* start_kernel(hipStream_t stream) {
    std::uint32_t* words = nullptr;
    must(hipHostMalloc(&words, 64, hipHostMallocCoherent), "hipHostMalloc");
    std::memset(words, 0, 64);
    count_until<<<1, 1, 0, stream>>>(words, words + 1);
    must(hipGetLastError(), "launch");
    for (int ms = 0; __atomic_load_n(words, __ATOMIC_ACQUIRE) == 0; ++ms, usleep(1000))
        if (ms == 30000)
            must(ETIMEDOUT, "waiting for the kernel");
    return words;
}

[[noreturn]] void die_holding(const char* how, int tell) {
    const rlimit no_core{};
    (void)setrlimit(RLIMIT_CORE, &no_core);
    void* stream = nullptr;
    must(xp_stream_create(&stream), "xp_stream_create");
    (void)start_kernel(static_cast<hipStream_t>(stream));
    must(xp_stream_hold(stream, XP_HOLD_LEAST(XP_LEVEL_INTERRUPT), nullptr), "xp_stream_hold");
    xp_stream_info info{};
    info.sz = sizeof info;
    must(xp_stream_query(stream, &info), "xp_stream_query");
    const std::uint32_t said = info.held == 1 ? held_and_standing : 0;
    (void)!write(tell, &said, sizeof said);
    if (std::strcmp(how, "abort") == 0)
        std::abort();
    std::raise(SIGSEGV);
    std::exit(1);
}

bool has_queues(pid_t pid) {
    const std::string path = "/sys/class/kfd/kfd/proc/" + std::to_string(pid) + "/queues";
    DIR* directory = opendir(path.c_str());
    if (directory == nullptr)
        return false;
    closedir(directory);
    return true;
}

// HIP doesn't survive a fork, so the other one is a program of its own.
void let_die(const char* program, const std::string& how, int signal) {
    int tell[2];
    must(pipe(tell), "pipe");
    const pid_t pid = fork();
    if (pid == 0) {
        close(tell[0]);
        execl(program, program, how.c_str(), std::to_string(tell[1]).c_str(), nullptr);
        _exit(127);
    }
    close(tell[1]);
    std::uint32_t said = 0;
    const bool told = read(tell[0], &said, sizeof said) == sizeof said;
    close(tell[0]);
    check(told && said == held_and_standing, how + ": it holds its queue in mid-kernel");
    int status = 0;
    check(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) && WTERMSIG(status) == signal,
          how + ": the signal ends it");
    bool gone = false;
    for (int ms = 0; ms < 30000 && !gone; ++ms, usleep(1000))
        gone = !has_queues(pid);
    check(gone, how + ": its queues are gone");
}

} // namespace

int main(int argc, char** argv) {
    if (argc == 3)
        die_holding(argv[1], std::atoi(argv[2]));
    let_die(argv[0], "abort", SIGABRT);
    let_die(argv[0], "fault", SIGSEGV);
    hipStream_t stream = nullptr;
    must(hipStreamCreate(&stream), "hipStreamCreate");
    std::uint32_t* words = start_kernel(stream);
    __atomic_store_n(words + 1, 1, __ATOMIC_RELEASE);
    check(hipStreamSynchronize(stream) == hipSuccess, "the next program has the GPU");
    return failures == 0 ? 0 : 1;
}
