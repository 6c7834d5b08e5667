// SPDX-License-Identifier: MIT
// The whole library through its C interface, on a HIP runtime that does nothing.
#include "suites.hpp"

#include <xpreempt/xpreempt.h>

#include <array>
#include <climits>
#include <cstring>
#include <dlfcn.h>
#include <unistd.h>

namespace bench {

namespace {

constexpr unsigned batch = 1000;
constexpr unsigned many = 500000;
constexpr std::size_t xqueues = 64; // each has a thread

int nothing(void*, void*) {
    return 0;
}
int note_time(void*, void* argument) {
    *static_cast<double*>(argument) = wall_ns();
    return 0;
}

// Installed beside us, as in the build tree.
Failure load_null_hip() {
    std::array<char, PATH_MAX> path{};
    if (readlink("/proc/self/exe", path.data(), path.size() - 1) < 0)
        return std::string("/proc/self/exe: ") + std::strerror(errno);
    std::string directory = path.data();
    directory.resize(directory.rfind('/'));
    const std::string library = directory + "/../lib/kfd-preempt-bench/libamdhip64.so.6";
    if (dlopen(library.c_str(), RTLD_NOW | RTLD_GLOBAL) == nullptr)
        return std::string(dlerror()) + "; is kfd-preempt-bench installed completely?";
    return {};
}

class XQueue {
public:
    XQueue() {
        xp_xqueue_options options{};
        options.sz = sizeof options;
        options.capacity = many + 1;
        options.max_level = XP_LEVEL_BLOCK;
        error_ = xp_xqueue_create(&stream_, &options, &xqueue_);
    }
    ~XQueue() {
        if (error_ == 0)
            xp_xqueue_destroy(xqueue_);
    }
    XQueue(const XQueue&) = delete;
    XQueue& operator=(const XQueue&) = delete;
    XQueue(XQueue&&) = delete;
    XQueue& operator=(XQueue&&) = delete;

    [[nodiscard]] int error() const { return error_; }
    [[nodiscard]] xp_xqueue_t get() const { return xqueue_; }
    void submit(unsigned count) const {
        for (unsigned i = 0; i < count; ++i)
            xp_xqueue_submit(xqueue_, nothing, nullptr, nullptr);
    }

private:
    char stream_ = 0; // the runtime looks at no handle
    xp_xqueue_t xqueue_{};
    int error_;
};

double resident_bytes() {
    std::FILE* file = std::fopen("/proc/self/statm", "re");
    unsigned long size = 0, resident = 0;
    const bool read = file != nullptr && std::fscanf(file, "%lu %lu", &size, &resident) == 2;
    if (file != nullptr)
        std::fclose(file);
    return read ? static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE)) : 0;
}

// First of all: later the heap would have room already.
Figure memory() {
    Figure figure{"memory_500k_queued",
                  "MB",
                  Kind::measured,
                  "growth of the resident set by 500,000 commands submitted to a suspended xqueue",
                  Statistic::p50,
                  16};
    const XQueue xqueue;
    xp_xqueue_suspend(xqueue.get(), 0, nullptr);
    const double before = resident_bytes();
    xqueue.submit(many);
    figure.samples.push_back((resident_bytes() - before) / 1e6);
    xp_xqueue_drop(xqueue.get(), nullptr);
    return figure;
}

void submits(const Options& options, Run& run) {
    Figure wall{"submit_inline",
                "ns",
                Kind::measured,
                "wall time of the caller, mean of 1,000 submits a sample; launched at once",
                Statistic::p50,
                100};
    Figure cpu{"cpu_per_command_inline",
               "ns",
               Kind::measured,
               "CPU time of all threads from submit to completion, mean of 1,000 a sample",
               Statistic::p50,
               150};
    const XQueue xqueue;
    for (std::size_t i = 0; i < options.samples; ++i) {
        const double cpu_begin = cpu_ns(), begin = wall_ns();
        xqueue.submit(batch);
        wall.samples.push_back((wall_ns() - begin) / batch);
        xp_xqueue_wait_all(xqueue.get());
        cpu.samples.push_back((cpu_ns() - cpu_begin) / batch);
    }
    Figure queued{"submit_queued",
                  "ns",
                  Kind::measured,
                  "wall time of the caller, mean of 1,000 submits a sample; the xqueue's thread "
                  "launches later",
                  Statistic::p50,
                  100};
    Figure cpu_queued{"cpu_per_command_queued",
                      "ns",
                      Kind::measured,
                      "CPU time of all threads from submit to completion, mean of 20,000 a sample; "
                      "the xqueue's thread launches",
                      Statistic::p50,
                      150};
    for (std::size_t i = 0; i < options.samples; i += 20) {
        const double cpu_begin = cpu_ns();
        xp_xqueue_suspend(xqueue.get(), 0, nullptr);
        for (unsigned part = 0; part < 20; ++part) {
            const double begin = wall_ns();
            xqueue.submit(batch);
            queued.samples.push_back((wall_ns() - begin) / batch);
        }
        xp_xqueue_resume(xqueue.get());
        xp_xqueue_wait_all(xqueue.get());
        cpu_queued.samples.push_back((cpu_ns() - cpu_begin) / (20.0 * batch));
    }
    for (Figure* figure : {&wall, &cpu, &queued, &cpu_queued})
        run.figures.push_back(std::move(*figure));
}

Figure idle_launch(const Options& options) {
    Figure figure{"idle_submit_to_launch",
                  "ns",
                  Kind::measured,
                  "wall time from before the submit to an idle xqueue until its launch function "
                  "runs, one a sample; includes a read of the clock",
                  Statistic::p50,
                  300};
    const XQueue xqueue;
    for (std::size_t i = 0; i < options.samples; ++i) {
        double launched = 0;
        const double begin = wall_ns();
        xp_xqueue_submit(xqueue.get(), note_time, &launched, nullptr);
        figure.samples.push_back(launched - begin);
        xp_xqueue_wait_all(xqueue.get());
    }
    return figure;
}

void suspends(const Options& options, Run& run) {
    const char* method = "wall time at XP_LEVEL_BLOCK, mean over 64 idle xqueues a sample";
    Figure suspend{"suspend_idle", "ns", Kind::measured, method, Statistic::p50, 100};
    Figure resume{"resume_idle", "ns", Kind::measured, method, Statistic::p50, 100};
    const std::array<XQueue, xqueues> all;
    for (std::size_t i = 0; i < options.samples; ++i) {
        const double begin = wall_ns();
        for (const XQueue& xqueue : all)
            xp_xqueue_suspend(xqueue.get(), 0, nullptr);
        const double middle = wall_ns();
        for (const XQueue& xqueue : all)
            xp_xqueue_resume(xqueue.get());
        const double end = wall_ns();
        suspend.samples.push_back((middle - begin) / static_cast<double>(xqueues));
        resume.samples.push_back((end - middle) / static_cast<double>(xqueues));
    }
    run.figures.push_back(std::move(suspend));
    run.figures.push_back(std::move(resume));
}

} // namespace

Failure run_null(const Options& options, Run& run) {
    if (const Failure failure = load_null_hip())
        return failure;
    if (const XQueue first; first.error() != 0)
        return std::string(std::strerror(-first.error())) + ": " + xp_last_detail();
    run.figures.push_back(memory());
    submits(options, run);
    run.figures.push_back(idle_launch(options));
    suspends(options, run);
    reactions(options, run);
    return {};
}

} // namespace bench
