// SPDX-License-Identifier: MIT
// One pass a decision.
#include "sched/account.hpp"

namespace xpreempt::sched {

void Accounts::note(const Snapshot& snapshot, std::span<const Verdict> verdicts) {
    const Duration passed = std::max(Duration(snapshot.now - last_), Duration{0});
    for (const auto [rank, i, job, seat] : seats_.visit(snapshot.jobs)) {
        if (seat.known) {
            Account& account = seat.account;
            account.known += passed;
            if (job.held)
                account.held += passed;
            if (seat.ready) {
                account.ready += passed;
                if (!job.held && !seat.held_by_others)
                    account.run += passed;
                if (job.held && !seat.held_by_others)
                    account.added_wait += passed;
            }
        }
        const bool hold = verdicts[i] == Verdict::hold;
        if (hold && !job.held && !seat.asked)
            ++seat.account.preemptions;
        seat.ready = job.ready;
        seat.held_by_others = job.held_by_others;
        seat.asked = hold;
        seat.known = true;
    }
    last_ = snapshot.now;
}

void Accounts::read_all(std::span<Account> by_index) const {
    for (std::size_t rank = 0; rank < seats_.size(); ++rank)
        by_index[seats_.index(rank)] = seats_[rank].account;
}

} // namespace xpreempt::sched
