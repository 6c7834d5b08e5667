// SPDX-License-Identifier: MIT
// Reads the CPU priorities of processes again while a policy decides by them.
#pragma once

#include "jobs/job_identity.hpp"
#include "jobs/job_table.hpp"

namespace xpreemptd {

class CpuPriorities {
public:
    static constexpr std::chrono::seconds interval{1};
    static constexpr int most_at_once = 64; // each costs a file, and events wait meanwhile

    // Reads those of jobs with work, each at most once an interval, some of them in each call.
    // Returns true if one has changed.
    [[nodiscard]] bool refresh(const JobTable& table, const OriginOf& origin_of, Time now);

private:
    Time next_round_{};
    std::uint64_t visited_ = 0; // cookie of the last one in this round; 0: the round has ended
};

} // namespace xpreemptd
