// SPDX-License-Identifier: MIT
// From the submit of high-priority work until the hardware gets the command to stop lower
// priorities.
#include "suites.hpp"

#include "null_hw_queue.hpp"
#include "sched/policies/highest_priority_first.hpp"
#include "sched/scheduler.hpp"
#include "xqueue/xqueue.hpp"

#include <atomic>
#include <memory>
#include <thread>

namespace bench {

namespace {

using namespace xpreempt;

// Simulated work of a GPU, which completes when the benchmark sets `over`.
struct Work {
    std::atomic<bool> over{false};
    std::atomic<double> stopped_at{0};
};

class WorkMarker final : public xqueue::Marker {
public:
    explicit WorkMarker(Work& work) : work_(work) {}
    bool passed() override { return work_.over; }
    Result<void> wait() override {
        work_.over.wait(false);
        return {};
    }

private:
    Work& work_;
};

class WorkQueue final : public NullHwQueue {
public:
    explicit WorkQueue(Work& work) : work_(work) {}
    xqueue::LevelChoice best_level(xqueue::Level) override {
        return {xqueue::Level::interrupt, xqueue::DeactivateMethod::hardware, ""};
    }
    Result<std::shared_ptr<xqueue::Marker>> mark() override {
        return std::make_shared<WorkMarker>(work_);
    }
    Result<void> interrupt() override {
        work_.stopped_at = wall_ns();
        return {};
    }

private:
    Work& work_;
};

int nothing(void*, void*) {
    return 0;
}

struct Queue {
    explicit Queue(std::int32_t priority)
        : xqueue(std::make_shared<xqueue::XQueue>(std::make_unique<WorkQueue>(work),
                                                  xqueue::LaunchConfig{},
                                                  xqueue::Level::interrupt)) {
        xqueue->set_priority(priority);
    }
    void begin() {
        work.over = false;
        (void)xqueue->submit({nothing, nullptr});
    }
    void end() {
        work.over = true;
        work.over.notify_all();
    }

    Work work; // outlives the xqueue
    std::shared_ptr<xqueue::XQueue> xqueue;
};

void wait_until(const auto& condition) {
    while (!condition())
        std::this_thread::yield();
}

} // namespace

void reactions(const Options& options, Run& run) {
    const char* method =
        "wall time from before a submit, with a scheduler, until the hardware queue of the lower "
        "priority is told to stop; one a sample, 1 ms of rest before each";
    Figure median{"reaction_p50", "us", Kind::measured, method, Statistic::p50, 10};
    Queue low(0), high(1);
    const auto scheduler = sched::Scheduler::make(sched::by(sched::HighestPriorityFirst{}));
    scheduler->add(low.xqueue, 0);
    scheduler->add(high.xqueue, 0);
    low.begin();
    for (std::size_t i = 0; i < options.samples; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        low.work.stopped_at = 0;
        const double begin = wall_ns();
        high.begin();
        wait_until([&] { return low.work.stopped_at != 0; });
        median.samples.push_back((low.work.stopped_at - begin) / 1000);
        high.end();
        wait_until([&] { return low.xqueue->holds() == 0; });
    }
    scheduler->stop();
    low.end();
    Figure tail = median;
    tail.name = "reaction_p99";
    tail.target_of = Statistic::p99;
    tail.target = 50;
    run.figures.push_back(std::move(median));
    run.figures.push_back(std::move(tail));
}

} // namespace bench
