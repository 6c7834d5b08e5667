// SPDX-License-Identifier: MIT
// The library on a real HIP runtime and GPU: fills as commands, a suspend at each level.
#include "suites.hpp"

#include <xpreempt/xpreempt.h>

#include <algorithm>
#include <cstring>
#include <dlfcn.h>
#include <random>
#include <unistd.h>

namespace bench {

namespace {

struct Hip {
    int (*get_device_count)(int*) = nullptr;
    int (*malloc)(void**, std::size_t) = nullptr;
    int (*free)(void*) = nullptr;
    int (*memset_async)(void*, int, std::size_t, void*) = nullptr;
    int (*stream_synchronize)(void*) = nullptr;
};

template <typename Function> bool find(void* runtime, const char* name, Function*& function) {
    // The hook's, where it is loaded.
    void* found = dlsym(RTLD_DEFAULT, name);
    function = reinterpret_cast<Function*>(found != nullptr ? found : dlsym(runtime, name));
    return function != nullptr;
}

Failure load(Hip& hip) {
    void* runtime = nullptr;
    for (const char* name : {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5"})
        if (runtime == nullptr)
            runtime = dlopen(name, RTLD_NOW | RTLD_GLOBAL);
    if (runtime == nullptr)
        return "no HIP runtime (libamdhip64.so.7, .6 or .5) can be loaded: install ROCm, or set "
               "LD_LIBRARY_PATH to it";
    const bool complete = find(runtime, "hipGetDeviceCount", hip.get_device_count) &&
                          find(runtime, "hipMalloc", hip.malloc) &&
                          find(runtime, "hipFree", hip.free) &&
                          find(runtime, "hipMemsetAsync", hip.memset_async) &&
                          find(runtime, "hipStreamSynchronize", hip.stream_synchronize);
    if (!complete)
        return "the HIP runtime lacks hipGetDeviceCount, hipMalloc, hipFree, hipMemsetAsync or "
               "hipStreamSynchronize: use another version of it";
    int devices = 0;
    if (hip.get_device_count(&devices) != 0 || devices == 0)
        return "HIP finds no GPU: check that rocminfo lists one";
    return {};
}

// One command: a fill, which HIP makes a kernel.
struct Fill {
    const Hip* hip;
    void* buffer;
    std::size_t bytes;
};

int fill(void* stream, void* argument) {
    const auto& command = *static_cast<Fill*>(argument);
    return command.hip->memset_async(command.buffer, 0x5a, command.bytes, stream);
}

std::string said(int answer) {
    return std::string(std::strerror(-answer)) + ": " + xp_last_detail();
}

// Time of one command, from many in a row.
double command_us(const Fill& command, void* stream) {
    constexpr int count = 32;
    (void)fill(stream, const_cast<Fill*>(&command));
    (void)command.hip->stream_synchronize(stream);
    const double begin = wall_ns();
    for (int i = 0; i < count; ++i)
        (void)fill(stream, const_cast<Fill*>(&command));
    (void)command.hip->stream_synchronize(stream);
    return (wall_ns() - begin) * 1e-3 / count;
}

const char* level_name(std::uint32_t level) {
    return level == XP_LEVEL_BLOCK        ? "block"
           : level == XP_LEVEL_DEACTIVATE ? "deactivate"
                                          : "interrupt";
}

// Suspends of a busy stream, until nothing of it runs any more.
Failure suspends(const Options& options, Fill& command, void* stream, std::uint32_t level,
                 Run& run) {
    xp_xqueue_options how{};
    how.sz = sizeof how;
    how.max_level = level;
    xp_xqueue_t xqueue{};
    if (const int answer = xp_xqueue_create(stream, &how, &xqueue); answer != 0)
        return said(answer);
    const std::string name = level_name(level);
    Figure suspend{
        "hip_suspend_" + name, "us", Kind::measured,
        "wall time of a suspend of a busy stream at that level, until nothing of it runs"};
    Figure resume{"hip_resume_" + name, "us", Kind::measured, "wall time of its resume"};
    std::mt19937_64 random(options.seed);
    Failure failure;
    for (std::size_t i = 0; i < options.samples && !failure; ++i) {
        std::uint64_t last = 0;
        for (int submitted = 0; submitted < 32; ++submitted)
            xp_xqueue_submit(xqueue, fill, &command, &last);
        usleep(static_cast<useconds_t>(random() % 2000));
        const double begin = wall_ns();
        const int suspended =
            xp_xqueue_suspend(xqueue, XP_SUSPEND_EXACT | XP_SUSPEND_FINISH_LAUNCHED, nullptr);
        const double middle = wall_ns();
        if (suspended != 0) {
            failure = "level " + name + ": " + said(suspended);
            xp_xqueue_state state{};
            state.sz = sizeof state;
            if (xp_xqueue_query(xqueue, &state) == 0 && state.reason[0] != '\0')
                *failure += "; " + std::string(state.reason);
            break;
        }
        xp_xqueue_resume(xqueue);
        resume.samples.push_back((wall_ns() - middle) * 1e-3);
        suspend.samples.push_back((middle - begin) * 1e-3);
        xp_xqueue_wait_all(xqueue);
    }
    xp_xqueue_destroy(xqueue);
    if (!suspend.samples.empty()) {
        run.figures.push_back(std::move(suspend));
        run.figures.push_back(std::move(resume));
    }
    return failure;
}

void predict(void* stream, Run& run) {
    xp_prediction prediction{};
    prediction.sz = sizeof prediction;
    if (xp_stream_predict(stream, &prediction) != 0 || prediction.full_us_most <= 0)
        return;
    run.figures.push_back(
        {"hip_save_full_gpu",
         "us",
         Kind::predicted,
         "bytes of all waves over memory bandwidth, 80 % of it at most; a part of "
         "hip_suspend_interrupt, never below it",
         Statistic::none,
         0,
         {prediction.full_us_least, prediction.full_us_most}});
}

} // namespace

Failure run_hip(const Options& options, Run& run) {
    Hip hip;
    if (Failure failure = load(hip))
        return failure;
    void* stream = nullptr;
    if (const int answer = xp_stream_create(&stream); answer != 0)
        return said(answer) + " (run it with LD_PRELOAD=libxpreempt-hook.so)";
    Fill command{&hip, nullptr, options.fill_bytes};
    if (const int error = hip.malloc(&command.buffer, command.bytes); error != 0)
        return "hipMalloc of " + std::to_string(command.bytes) + " bytes: HIP error " +
               std::to_string(error);
    (void)xp_stream_touch(stream);
    run.figures.push_back({"hip_command",
                           "us",
                           Kind::measured,
                           "a fill of " + std::to_string(command.bytes) + " bytes, mean of 32",
                           Statistic::none,
                           0,
                           {command_us(command, stream)}});
    predict(stream, run);
    Failure failure;
    for (const std::uint32_t level : {XP_LEVEL_BLOCK, XP_LEVEL_DEACTIVATE, XP_LEVEL_INTERRUPT})
        if (const Failure one = suspends(options, command, stream, level, run))
            failure = failure ? *failure + "; " + *one : *one;
    (void)hip.free(command.buffer);
    (void)xp_stream_destroy(stream);
    return failure;
}

} // namespace bench
