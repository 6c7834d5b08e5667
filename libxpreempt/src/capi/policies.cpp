// SPDX-License-Identifier: MIT
// Makes policies with the settings that they have.
#include "capi/policies.hpp"

#include "sched/policies/earliest_deadline_first.hpp"
#include "sched/policies/fair.hpp"
#include "sched/policies/first_in_first_out.hpp"
#include "sched/policies/highest_priority_first.hpp"
#include "sched/policies/multilevel_feedback.hpp"
#include "sched/policies/round_robin.hpp"
#include "sched/policies/two_level.hpp"
#include "sched/policies/utilization_partition.hpp"

#include <algorithm>
#include <array>
#include <xpreempt/sched.h>

namespace xpreempt::capi {

namespace {

// The policy with those of the settings that it has.
template <class Policy> sched::Decide make(const PolicySettings& settings) {
    if constexpr (requires { typename Policy::Parameters; }) {
        typename Policy::Parameters parameters;
        if constexpr (requires { parameters.slice; })
            parameters.slice = settings.slice.count() != 0 ? settings.slice : parameters.slice;
        if constexpr (requires { parameters.quantum; })
            parameters.quantum = settings.slice.count() != 0 ? settings.slice : parameters.quantum;
        if constexpr (requires { parameters.k; })
            parameters.k = settings.k;
        if constexpr (requires { parameters.linger; })
            parameters.linger = settings.linger;
        return sched::by(Policy(parameters));
    } else {
        return sched::by(Policy());
    }
}

struct Known {
    std::uint32_t kind;
    std::string_view name;
    sched::Decide (*make)(const PolicySettings& settings);
};

constexpr std::array<Known, 11> known_policies{{
    {XP_POLICY_HIGHEST_PRIORITY_FIRST, "HPF", make<sched::HighestPriorityFirst>},
    {XP_POLICY_HETEROGENEOUS_HIGHEST_PRIORITY_FIRST, "HHPF",
     make<sched::HeterogeneousHighestPriorityFirst>},
    {XP_POLICY_FIRST_IN_FIRST_OUT, "FIFO", make<sched::FirstInFirstOut>},
    {XP_POLICY_ROUND_ROBIN, "RR", make<sched::RoundRobin>},
    {XP_POLICY_COMPLETELY_FAIR, "CFS", make<sched::Fair>},
    {XP_POLICY_UTILIZATION_PARTITION, "UP", make<sched::UtilizationPartition>},
    {XP_POLICY_PROCESS_UTILIZATION_PARTITION, "PUP", make<sched::ProcessUtilizationPartition>},
    {XP_POLICY_EARLIEST_DEADLINE_FIRST, "KEDF", make<sched::EarliestDeadlineFirst>},
    {XP_POLICY_EARLIEST_DEADLINE_FIRST, "K-EDF", make<sched::EarliestDeadlineFirst>},
    {XP_POLICY_LAXITY, "LAX", make<sched::TwoLevel>},
    {XP_POLICY_MULTILEVEL_FEEDBACK, "MLFQ", make<sched::MultilevelFeedback>},
}};

} // namespace

std::optional<std::uint32_t> policy_kind_named(std::string_view name) {
    const auto* const found = std::ranges::find(known_policies, name, &Known::name);
    return found == known_policies.end() ? std::nullopt : std::optional(found->kind);
}

sched::Decide decide_of(std::uint32_t kind, const PolicySettings& settings) {
    const auto* const found = std::ranges::find(known_policies, kind, &Known::kind);
    return found == known_policies.end() ? nullptr : found->make(settings);
}

} // namespace xpreempt::capi
