// SPDX-License-Identifier: MIT
// A group has work if a member has, and is held if all members with work are.
#include "scheduling/turn_groups.hpp"

#include <algorithm>

namespace xpreemptd {

namespace {

void add(sched::JobView& group, const sched::JobView& member) {
    const bool first = !group.schedulable();
    if (member.schedulable()) {
        group.ready_since =
            first ? member.ready_since : std::min(group.ready_since, member.ready_since);
        group.held = member.held && (first || group.held);
        group.ready = true;
        group.held_by_others = false;
    } else if (first) {
        group.ready = group.ready || member.ready;
        group.held_by_others = group.held_by_others || member.held_by_others;
        group.held = group.held || member.held;
    }
    group.nodes |= member.nodes;
    group.weight = std::max(group.weight, member.weight);
    group.utilization = std::max(group.utilization, member.utilization);
    group.ready_edges += member.ready_edges;
}

} // namespace

std::span<const sched::JobView> TurnGroups::merge(const JobTable& table,
                                                  std::span<const sched::JobView> views) {
    merged_.clear();
    group_of_.clear();
    indexes_.clear();
    for (std::size_t i = 0; i < views.size(); ++i) {
        const std::uint64_t id = table.jobs()[i]->group;
        const auto [found, is_new] = indexes_.emplace(id, merged_.size());
        group_of_.push_back(found->second);
        if (is_new) {
            merged_.push_back(views[i]);
            merged_.back().id = id;
        } else {
            add(merged_[found->second], views[i]);
        }
    }
    return merged_;
}

void TurnGroups::spread(std::span<const sched::Verdict> of_groups,
                        std::span<const sched::JobView> views,
                        std::span<sched::Verdict> of_jobs) const {
    for (std::size_t i = 0; i < views.size(); ++i)
        of_jobs[i] = views[i].schedulable() ? of_groups[group_of_[i]] : sched::Verdict::run;
}

} // namespace xpreemptd
