// SPDX-License-Identifier: MIT
// Random jobs in virtual time, for `kfd-preempt-sim check` and for our own tests of policies.
#pragma once

#include "sched/snapshot.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace xpreempt::sched {

constexpr Duration endless = Duration::max();

struct VirtualJob {
    JobView view;
    Duration left{0}; // work; endless: always ready
    Duration ran{0};
    std::uint64_t stops = 0, starts = 0;
    Time held_since{}, run_since{};
    Duration longest_wait{0}; // while held

    [[nodiscard]] bool runs() const { return view.schedulable() && !view.held; }
};

// Verdicts take effect at once; jobs that run progress at full speed.
class RandomJobs {
public:
    explicit RandomJobs(std::uint32_t seed) : random(seed) {}

    VirtualJob& add(std::uint64_t id, std::uint64_t nodes = 1) {
        VirtualJob job;
        job.view.id = id;
        job.view.nodes = nodes;
        jobs.push_back(job);
        return jobs.back();
    }
    VirtualJob& of(std::uint64_t id) {
        return *std::ranges::find(jobs, id, [](const VirtualJob& job) { return job.view.id; });
    }
    void work(VirtualJob& job, Duration work) const {
        if (!job.view.ready) {
            job.view.ready = true;
            job.view.ready_since = now;
            ++job.view.ready_edges;
            job.left = Duration{0};
        }
        job.left = work == endless || job.left == endless ? endless : job.left + work;
    }

    void apply(std::span<const Verdict> verdicts) {
        for (std::size_t i = 0; i < jobs.size(); ++i) {
            VirtualJob& job = jobs[i];
            const bool hold = verdicts[i] == Verdict::hold;
            if (hold && !job.view.held) {
                ++job.stops;
                job.held_since = now;
            }
            if (!hold && job.view.held) {
                ++job.starts;
                job.run_since = now;
                job.longest_wait = std::max(job.longest_wait, Duration(now - job.held_since));
            }
            job.view.held = hold;
        }
    }
    // The time of the next end of work; `end` if none comes before.
    [[nodiscard]] Time next_end(Time end) const {
        for (const VirtualJob& job : jobs)
            if (job.runs() && job.left != endless)
                end = std::min(end, now + job.left);
        return end;
    }
    void pass(Time until) {
        for (VirtualJob& job : jobs)
            if (job.runs()) {
                job.ran += until - now;
                if (job.left != endless)
                    job.left -= until - now;
            }
        now = until;
    }
    // Jobs without work left become idle. Returns whether there was one.
    bool end_work() {
        bool over = false;
        for (VirtualJob& job : jobs)
            if (job.view.ready && job.left == Duration{0}) {
                job.view.ready = false;
                over = true;
            }
        return over;
    }

    std::uint32_t below(std::uint32_t limit) {
        return std::uniform_int_distribution<std::uint32_t>(0, limit - 1)(random);
    }

    std::mt19937 random;
    Time now = Time{} + std::chrono::hours{1};
    std::vector<VirtualJob> jobs;
};

// Attributes other than band, priority and weight. Few values, so that many are equal.
inline void change_attributes(RandomJobs& random_jobs, JobView& job) {
    using std::chrono::microseconds, std::chrono::milliseconds;
    constexpr std::array<Duration, 5> times{Duration{0}, microseconds{300}, milliseconds{7},
                                            milliseconds{40}, endless};
    const auto time = [&] { return times.at(random_jobs.below(times.size())); };
    job.cpu_priority = static_cast<std::int32_t>(random_jobs.below(4)) - 2;
    job.utilization = random_jobs.below(4) * 25;
    const auto draw = [&](auto& value) {
        if constexpr (std::is_same_v<decltype(value), Duration&>)
            value = time();
    };
#define ATTRIBUTE(kind, name, least, most, initial, view, ...) draw(job.view);
#include "base/attributes.def"
    job.focused = random_jobs.below(2) == 0;
    const Duration in = time();
    job.deadline = in == endless ? at_next_event : random_jobs.now + in;
}

// Random arrivals, holds of others, attributes, jobs that come and go.
inline void happen(RandomJobs& random_jobs, std::uint64_t& last_id, std::uint32_t nodes) {
    const std::uint32_t what = random_jobs.below(14);
    auto& jobs = random_jobs.jobs;
    if (jobs.size() < 2 || (what == 0 && jobs.size() < 9)) {
        // Ids that don't grow: their order isn't that of arrival.
        const std::uint64_t id = ++last_id * 7919 % 1009;
        VirtualJob& job = random_jobs.add(id, 1U + random_jobs.below((1U << nodes) - 1));
        job.view.band = Band{static_cast<std::uint8_t>(random_jobs.below(4))};
        job.view.priority = static_cast<std::int32_t>(random_jobs.below(4));
        job.view.weight = 1 + random_jobs.below(300);
        change_attributes(random_jobs, job.view);
        return;
    }
    const std::size_t i = random_jobs.below(static_cast<std::uint32_t>(jobs.size()));
    VirtualJob& job = jobs[i];
    switch (what) {
    case 1: jobs.erase(jobs.begin() + static_cast<std::ptrdiff_t>(i)); break;
    case 2: job.view.held_by_others = !job.view.held_by_others; break;
    case 3: job.view.band = Band{static_cast<std::uint8_t>(random_jobs.below(4))}; break;
    case 4: job.view.weight = 1 + random_jobs.below(10000); break;
    case 5: job.view.priority = static_cast<std::int32_t>(random_jobs.below(4)) - 2; break;
    case 6: job.view.ready = false; break; // its process was killed
    case 7: change_attributes(random_jobs, job.view); break;
    default: random_jobs.work(job, Duration{1 + random_jobs.below(30'000'000)}); break;
    }
}

} // namespace xpreempt::sched
