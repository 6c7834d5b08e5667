// SPDX-License-Identifier: MIT
// Jobs that share turns: to a policy that divides the time they are one job.
#pragma once

#include "jobs/job_table.hpp"
#include "sched/snapshot.hpp"

#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace xpreemptd {

// A user may start any number of runs within a unit, a container or a Slurm step. Under RR, CFS,
// UP, PUP, SPUP and MLFQ all of them have the turns of one job: the highest weight and utilization
// of them, and all their nodes.
class TurnGroups {
public:
    // One view a group. views: of the jobs of the table, in its order.
    [[nodiscard]] std::span<const sched::JobView> merge(const JobTable& table,
                                                        std::span<const sched::JobView> views);
    // From the verdicts of the groups to those of the jobs. A job without work is not stopped.
    void spread(std::span<const sched::Verdict> of_groups, std::span<const sched::JobView> views,
                std::span<sched::Verdict> of_jobs) const;
    // Nodes of the group of the job with this index.
    [[nodiscard]] std::uint64_t nodes_of(std::size_t job) const {
        return merged_[group_of_[job]].nodes;
    }

private:
    std::vector<sched::JobView> merged_;
    std::vector<std::size_t> group_of_;            // index into merged_, for each job
    std::map<std::uint64_t, std::size_t> indexes_; // into merged_, by Job::group
};

} // namespace xpreemptd
