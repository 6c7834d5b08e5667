// SPDX-License-Identifier: MIT
// Time that each job was ready, ran and was held, from snapshots and verdicts.
#pragma once

#include "sched/seats.hpp"

#include <cstdint>

namespace xpreempt::sched {

struct Account {
    Duration ready{0};             // had work, whether it ran or not
    Duration run{0};               // had work and was not held
    Duration held{0};              // by us
    Duration added_wait{0};        // had work and only we held it
    std::uint64_t preemptions = 0; // verdicts that stopped it
    Duration known{0};             // that all these are of: since the job came
    bool operator==(const Account&) const = default;
};

// Pure, as a policy is. The time between two decisions is charged by what the first snapshot says
// of work and the second of holds, for these change when a decision is carried out.
class Accounts {
public:
    // Keeps the accounts of jobs that stay; a job that left is forgotten, so read it before.
    void admit(std::span<const JobView> jobs) { seats_.admit(jobs); }
    [[nodiscard]] bool matches(std::span<const JobView> jobs) { return seats_.matches(jobs); }
    // Needs matches(), as Policy's decide().
    void note(const Snapshot& snapshot, std::span<const Verdict> verdicts);

    // By index into the jobs of the last matches().
    void read_all(std::span<Account> by_index) const;

    bool operator==(const Accounts&) const = default;

private:
    struct Seat {
        Account account;
        bool ready = false;
        bool held_by_others = false;
        bool asked = false;
        bool known = false; // since the last decision
        bool operator==(const Seat&) const = default;
    };
    Seats<Seat> seats_;
    Time last_{};
};

} // namespace xpreempt::sched
