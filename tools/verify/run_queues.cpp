// SPDX-License-Identifier: MIT
// Stages one-queue, queues, neighbours, gpus: queues of this process.
#include "bench.hpp"

#include <fmt/format.h>

namespace verify {

namespace {

using Queues = std::vector<std::unique_ptr<BusyQueue>>;

// Workgroups of each queue: those of all queues together leave room on the smallest GPU.
std::uint32_t workgroups_for(std::size_t queues) {
    return queues == 1 ? 8 : 1;
}

// Without the firmware scheduler a queue is a slot of the hardware, and those can be fewer.
bool is_out_of_slots(Gpu& gpu, const Queues& queues) {
    kfd_ioctl_preempt_query_args query{};
    return !queues.empty() && preempt_query(gpu.fd(), gpu.id(), &query) == 0 &&
           query.sched_mode != KFD_PREEMPT_SCHED_HWS;
}

bool add_queues(Gpu& gpu, std::size_t count, Queues& queues, Checks& checks) {
    const std::size_t wanted = queues.size() + count;
    while (queues.size() < wanted) {
        auto queue = BusyQueue::create(gpu, workgroups_for(count));
        if (!queue && is_out_of_slots(gpu, queues)) {
            checks.note(fmt::format("{} queues fit into the slots of the hardware", queues.size()));
            return true;
        }
        if (!queue)
            return checks.check(false, fmt::format("queue {} of {}", queues.size() + 1, wanted),
                                queue.error());
        queues.push_back(std::move(*queue));
    }
    return true;
}

std::vector<std::uint32_t> ids_of(const Queues& queues) {
    std::vector<std::uint32_t> ids;
    for (const auto& queue : queues)
        ids.push_back(queue->id());
    return ids;
}

// One failed check says which; a round that is right says nothing.
bool stop_and_resume(int fd, const Queues& queues, Checks& checks) {
    const std::vector<std::uint32_t> ids = ids_of(queues);
    Entries stops = stops_of(ids), resumes = resumes_of(ids);
    const auto stopped = send(fd, 0, 0, stops);
    if (!stopped)
        return checks.check(false, "stop", stopped.error());
    for (const auto& queue : queues) {
        kfd_ioctl_preempt_status_args status{};
        const int error = preempt_status(fd, 0, queue->id(), &status);
        if (error != 0 || status.state != KFD_PREEMPT_STATE_HELD)
            return checks.check(false, fmt::format("queue {} is held", queue->id()),
                                error != 0 ? text_of(error)
                                           : fmt::format("state {}", status.state));
    }
    for (const auto& queue : queues)
        if (!queue->stands_still())
            return checks.check(
                false, fmt::format("queue {} makes no progress while it is held", queue->id()),
                "its counters moved");
    const auto resumed = send(fd, 0, 0, resumes);
    if (!resumed)
        return checks.check(false, "resume", resumed.error());
    for (const auto& queue : queues)
        if (!queue->moves())
            return checks.check(false,
                                fmt::format("queue {} runs again after a resume", queue->id()),
                                fmt::format("not within {} s", patience_ms / 1000));
    return true;
}

void end_all(Gpu& gpu, Queues& queues, Checks& checks) {
    // A round that failed may have left them held.
    Entries resumes = resumes_of(ids_of(queues));
    (void)send(gpu.fd(), 0, 0, resumes);
    std::size_t right = 0;
    for (const auto& queue : queues)
        right += queue->ends_right() ? 1 : 0;
    checks.check(right == queues.size(),
                 fmt::format("{} of {} kernels end with the right results", right, queues.size()));
}

void rounds_with(Gpu& gpu, std::size_t count, unsigned rounds, Checks& checks) {
    Queues queues;
    if (!add_queues(gpu, count, queues, checks))
        return;
    unsigned done = 0;
    while (done < rounds && stop_and_resume(gpu.fd(), queues, checks))
        ++done;
    checks.check(done == rounds,
                 fmt::format("GPU {}: {} of {} rounds with queues that run: {}, all stopped in one "
                             "call, all resumed in one",
                             gpu.id(), done, rounds, queues.size()));
    end_all(gpu, queues, checks);
}

} // namespace

void run_one_queue(Bench& bench, Checks& checks) {
    for (const auto& gpu : bench.gpus())
        rounds_with(*gpu, 1, bench.options().rounds, checks);
}

void run_queues(Bench& bench, Checks& checks) {
    for (const std::size_t count : {1UL, 8UL, 30UL})
        rounds_with(bench.gpu(), count, std::max(bench.options().rounds / 10, 1U), checks);
}

void run_neighbours(Bench& bench, Checks& checks) {
    Queues queues;
    if (!add_queues(bench.gpu(), 2, queues, checks))
        return;
    const std::vector<std::uint32_t> first{queues[0]->id()};
    Entries stops = stops_of(first), resumes = resumes_of(first);
    const auto stopped = send(bench.gpu().fd(), 0, 0, stops);
    checks.check(stopped.has_value(), "one of two queues is stopped",
                 stopped ? "" : stopped.error());
    checks.check(queues[0]->stands_still(), "it makes no progress");
    checks.check(queues[1]->moves(), "the other one keeps running");
    checks.check(queues[0]->stands_still(), "the first one still makes no progress");
    const auto resumed = send(bench.gpu().fd(), 0, 0, resumes);
    checks.check(resumed.has_value(), "the first one is resumed", resumed ? "" : resumed.error());
    end_all(bench.gpu(), queues, checks);
}

void run_gpus(Bench& bench, Checks& checks) {
    if (bench.gpus().size() < 2)
        return checks.skip("only one GPU is selected: select more with --gpu or --all-gpus");
    Queues queues;
    for (const auto& gpu : bench.gpus())
        if (!add_queues(*gpu, 1, queues, checks))
            return;
    unsigned done = 0;
    while (done < bench.options().rounds && stop_and_resume(bench.gpu().fd(), queues, checks))
        ++done;
    checks.check(done == bench.options().rounds,
                 fmt::format("queues of {} GPUs stopped and resumed together {} times",
                             bench.gpus().size(), done));
    end_all(bench.gpu(), queues, checks);
}

} // namespace verify
