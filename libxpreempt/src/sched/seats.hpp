// SPDX-License-Identifier: MIT
// State of a policy for each job, in the order of job ids.
#pragma once

#include "sched/snapshot.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <span>
#include <vector>

namespace xpreempt::sched {

// Sized by admit() when jobs come and go, which is the only place that allocates. The rank of a job
// is its place among the ids: a policy that visits jobs by rank doesn't depend on the order of the
// snapshot, and ties go to the lower id.
template <class State> class Seats {
public:
    struct Seat {
        std::uint64_t id = 0;
        State state{};
        bool operator==(const Seat&) const = default;
    };

    // Keeps the state of jobs that stay; a new job gets State{}.
    void admit(std::span<const JobView> jobs) {
        std::vector<Seat> seats;
        seats.reserve(jobs.size());
        for (const JobView& job : jobs)
            seats.push_back({job.id, {}});
        std::ranges::sort(seats, {}, &Seat::id);
        for (auto old = seats_.begin(); Seat & seat : seats) {
            while (old != seats_.end() && old->id < seat.id)
                ++old;
            if (old != seats_.end() && old->id == seat.id)
                seat.state = old->state;
        }
        by_rank_.reserve(jobs.size());
        sequence_.reserve(jobs.size());
        // From here on nothing allocates: matches() must not find seats without a place.
        seats_ = std::move(seats);
        by_rank_.resize(jobs.size());
        sequence_.resize(jobs.size());
    }

    // To be called first in each decision. False: admit() wasn't called for these jobs.
    [[nodiscard]] bool matches(std::span<const JobView> jobs) {
        if (jobs.size() != seats_.size())
            return false;
        for (std::uint32_t i = 0; i < jobs.size(); ++i)
            by_rank_[i] = i;
        const auto id = [&](std::uint32_t i) { return jobs[i].id; };
        if (!std::ranges::is_sorted(by_rank_, {}, id))
            std::ranges::sort(by_rank_, {}, id);
        for (std::size_t rank = 0; rank < seats_.size(); ++rank)
            if (seats_[rank].id != jobs[by_rank_[rank]].id)
                return false;
        return true;
    }

    [[nodiscard]] std::size_t size() const { return seats_.size(); }
    [[nodiscard]] std::uint32_t index(std::size_t rank) const { return by_rank_[rank]; }
    [[nodiscard]] State& operator[](std::size_t rank) { return seats_[rank].state; }
    [[nodiscard]] const State& operator[](std::size_t rank) const { return seats_[rank].state; }

    // The jobs of the last matches(), by rank: for (auto [rank, index, job, state] : ...).
    [[nodiscard]] auto visit(std::span<const JobView> jobs) { return visit_in(*this, jobs); }
    [[nodiscard]] auto visit(std::span<const JobView> jobs) const { return visit_in(*this, jobs); }

    // Room for ranks in another order, one for each job. Its content isn't kept.
    [[nodiscard]] std::span<std::uint32_t> sequence() { return sequence_; }

    bool operator==(const Seats& other) const { return seats_ == other.seats_; }

private:
    template <class Self> static auto visit_in(Self& self, std::span<const JobView> jobs) {
        struct Visit {
            std::size_t rank;
            std::uint32_t index; // into the snapshot
            const JobView& job;
            decltype(self[0])& state;
        };
        return std::views::iota(std::size_t{0}, self.size()) |
               std::views::transform([&self, jobs](std::size_t rank) {
                   return Visit{rank, self.index(rank), jobs[self.index(rank)], self[rank]};
               });
    }

    std::vector<Seat> seats_;            // by id
    std::vector<std::uint32_t> by_rank_; // index into the snapshot, by id
    std::vector<std::uint32_t> sequence_;
};

} // namespace xpreempt::sched
