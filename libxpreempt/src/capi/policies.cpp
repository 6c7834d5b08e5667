// SPDX-License-Identifier: MIT
// Makes policies with the settings that they have.
#include "capi/policies.hpp"

#include "sched/earliest_deadline_first.hpp"
#include "sched/fair.hpp"
#include "sched/first_in_first_out.hpp"
#include "sched/highest_priority_first.hpp"
#include "sched/multilevel_feedback.hpp"
#include "sched/round_robin.hpp"
#include "sched/two_level.hpp"
#include "sched/utilization_partition.hpp"

#include <algorithm>
#include <array>
#include <xpreempt/sched.h>

namespace xpreempt::capi {

namespace {

template <class Policy> sched::Decide with_slice(const PolicySettings& settings) {
    typename Policy::Parameters parameters;
    if (settings.slice.count() != 0)
        parameters.slice = settings.slice;
    return sched::by(Policy(parameters));
}

sched::Decide round_robin(const PolicySettings& settings) {
    sched::RoundRobin::Parameters parameters;
    if (settings.slice.count() != 0)
        parameters.quantum = settings.slice;
    return sched::by(sched::RoundRobin(parameters));
}

sched::Decide earliest_deadline_first(const PolicySettings& settings) {
    sched::EarliestDeadlineFirst::Parameters parameters;
    parameters.k = settings.k;
    parameters.linger = settings.linger;
    return sched::by(sched::EarliestDeadlineFirst(parameters));
}

struct NamedKind {
    std::string_view name;
    std::uint32_t kind;
};

constexpr std::array<NamedKind, 11> named_kinds{{
    {"HPF", XP_POLICY_HIGHEST_PRIORITY_FIRST},
    {"HHPF", XP_POLICY_HETEROGENEOUS_HIGHEST_PRIORITY_FIRST},
    {"FIFO", XP_POLICY_FIRST_IN_FIRST_OUT},
    {"RR", XP_POLICY_ROUND_ROBIN},
    {"CFS", XP_POLICY_COMPLETELY_FAIR},
    {"UP", XP_POLICY_UTILIZATION_PARTITION},
    {"PUP", XP_POLICY_PROCESS_UTILIZATION_PARTITION},
    {"KEDF", XP_POLICY_EARLIEST_DEADLINE_FIRST},
    {"K-EDF", XP_POLICY_EARLIEST_DEADLINE_FIRST},
    {"LAX", XP_POLICY_LAXITY},
    {"MLFQ", XP_POLICY_MULTILEVEL_FEEDBACK},
}};

} // namespace

std::optional<std::uint32_t> policy_kind_named(std::string_view name) {
    const auto* const found = std::ranges::find(named_kinds, name, &NamedKind::name);
    return found == named_kinds.end() ? std::nullopt : std::optional(found->kind);
}

sched::Decide decide_of(std::uint32_t kind, const PolicySettings& settings) {
    switch (kind) {
    case XP_POLICY_HIGHEST_PRIORITY_FIRST:
        return sched::by(sched::HighestPriorityFirst({settings.linger}));
    case XP_POLICY_HETEROGENEOUS_HIGHEST_PRIORITY_FIRST:
        return sched::by(sched::HeterogeneousHighestPriorityFirst({settings.linger}));
    case XP_POLICY_FIRST_IN_FIRST_OUT: return sched::by(sched::FirstInFirstOut{});
    case XP_POLICY_ROUND_ROBIN: return round_robin(settings);
    case XP_POLICY_COMPLETELY_FAIR: return with_slice<sched::Fair>(settings);
    case XP_POLICY_UTILIZATION_PARTITION: return with_slice<sched::UtilizationPartition>(settings);
    case XP_POLICY_PROCESS_UTILIZATION_PARTITION:
        return with_slice<sched::ProcessUtilizationPartition>(settings);
    case XP_POLICY_EARLIEST_DEADLINE_FIRST: return earliest_deadline_first(settings);
    case XP_POLICY_LAXITY: return sched::by(sched::TwoLevel{});
    case XP_POLICY_MULTILEVEL_FEEDBACK: return with_slice<sched::MultilevelFeedback>(settings);
    default: return nullptr;
    }
}

} // namespace xpreempt::capi
