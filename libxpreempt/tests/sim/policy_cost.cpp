// SPDX-License-Identifier: MIT
// Prints what a decision costs: 100 jobs with 1,000 queues on 8 nodes. Fails if one allocates, or
// if half of them take 20 us or more in a build that is made for speed. A plug-in allocates nothing
// by itself, so that counts what the host adds.
#include "sched/plugin_library.hpp"
#include "sched/policy.hpp"
#include "unit/beside.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <vector>

namespace {

std::atomic<std::uint64_t> allocations{0};

} // namespace

void* operator new(std::size_t size) {
    ++allocations;
    if (void* memory = std::malloc(size))
        return memory;
    throw std::bad_alloc();
}
void operator delete(void* memory) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
    std::free(memory);
}

namespace {

using namespace xpreempt::sched;
using namespace std::chrono_literals;

#if defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
constexpr bool is_made_for_speed = true;
#else
constexpr bool is_made_for_speed = false;
#endif
constexpr std::size_t num_jobs = 100, queues_a_job = 10, decisions = 20000;

struct QueueState {
    std::uint64_t written, read;
};

// The work of a daemon before a decision: a job is ready if one of its queues has work.
void look_at_queues(std::vector<JobView>& jobs, const std::vector<QueueState>& queues, Time now) {
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        const auto first = queues.begin() + static_cast<std::ptrdiff_t>(i * queues_a_job);
        const bool ready = std::any_of(first, first + queues_a_job, [](const QueueState& queue) {
            return queue.written != queue.read;
        });
        if (ready && !jobs[i].ready) {
            jobs[i].ready_since = now;
            ++jobs[i].ready_edges;
        }
        jobs[i].ready = ready;
    }
}

bool measure(Policy policy) {
    std::vector<JobView> jobs(num_jobs);
    for (std::size_t i = 0; i < num_jobs; ++i) {
        jobs[i].id = (i * 37 + 11) % 101 + 1; // not sorted
        jobs[i].nodes = i % 10 == 0 ? 0xff : std::uint64_t{1} << i % 8;
        jobs[i].band = Band{static_cast<std::uint8_t>(i % num_bands)};
        jobs[i].priority = static_cast<std::int32_t>(i % 7);
        jobs[i].weight = static_cast<std::uint32_t>(1 + i);
        jobs[i].cpu_priority = static_cast<std::int32_t>(i % 5);
        jobs[i].utilization = static_cast<std::uint32_t>(i);
        jobs[i].relative_deadline = (1 + i % 10) * 1ms;
        jobs[i].lax = (1 + i % 9) * 1ms;
        jobs[i].focused = i % 3 == 0;
    }
    std::vector<QueueState> queues(num_jobs * queues_a_job, QueueState{0, 0});
    std::vector<Verdict> verdicts(num_jobs, Verdict::run);
    std::vector<double> costs;
    costs.reserve(decisions);
    const std::string_view name = name_of(policy);
    Time now{};
    (void)decide(policy, {now, jobs}, verdicts); // admits
    const std::uint64_t before = allocations;
    std::uint32_t random = 1;
    for (std::size_t i = 0; i < decisions; ++i) {
        random = random * 1664525U + 1013904223U;
        QueueState& changed = queues[(random >> 8) % queues.size()];
        changed.written = changed.read + (random >> 31);
        now += 50us;
        const auto begin = std::chrono::steady_clock::now();
        look_at_queues(jobs, queues, now);
        (void)decide(policy, {now, jobs}, verdicts);
        const auto end = std::chrono::steady_clock::now();
        costs.push_back(std::chrono::duration<double, std::micro>(end - begin).count());
        for (std::size_t job = 0; job < num_jobs; ++job)
            jobs[job].held = verdicts[job] == Verdict::hold;
    }
    const std::uint64_t in_decisions = allocations - before;
    std::ranges::sort(costs);
    std::printf("%-5.*s one decision, %zu jobs, %zu queues: p50 %.1f us, p99 %.1f us; "
                "%llu allocations\n",
                static_cast<int>(name.size()), name.data(), num_jobs, queues.size(),
                costs[decisions / 2], costs[decisions * 99 / 100],
                static_cast<unsigned long long>(in_decisions));
    return in_decisions == 0 && (!is_made_for_speed || costs[decisions / 2] < 20);
}

} // namespace

int main() {
    bool passed = true;
    for (const std::string_view name : policy_names)
        passed = measure(*policy_named(name)) && passed;
    const auto plugin = load_plugin(test::beside_program(PLUGINS) / "misbehaving.so");
    if (!plugin)
        std::printf("%s\n", plugin.error().c_str());
    passed = plugin && measure(*plugin) && passed;
    return passed ? 0 : 1;
}
