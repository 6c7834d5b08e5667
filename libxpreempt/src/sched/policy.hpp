// SPDX-License-Identifier: MIT
// A policy is a value: parameters, state, and a pure function that decides.
#pragma once

#include "sched/plugin.hpp"
#include "sched/policies/band.hpp"
#include "sched/policies/earliest_deadline_first.hpp"
#include "sched/policies/fair.hpp"
#include "sched/policies/first_in_first_out.hpp"
#include "sched/policies/highest_priority_first.hpp"
#include "sched/policies/idle_parking.hpp"
#include "sched/policies/multilevel_feedback.hpp"
#include "sched/policies/round_robin.hpp"
#include "sched/policies/strict_partition.hpp"
#include "sched/policies/two_level.hpp"
#include "sched/policies/utilization_partition.hpp"
#include "sched/snapshot.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>
#include <variant>

namespace xpreempt::sched {

// Each alternative P has:
//   void admit(jobs)      Sizes the state for these jobs and keeps that of jobs that stay. The only
//                         function that allocates. Call it when jobs come or go.
//   bool matches(jobs)    Whether admit() was called for these jobs, in any order.
//   Time decide(snapshot, verdicts)
//                         Call it at each event: a job became ready or idle, a hold of others came
//                         or went, an attribute changed, the time that it returned last has come.
//                         Sets one verdict for each job, at the job's index, and returns when to
//                         call it again if nothing happens; always later than snapshot.now. Needs
//                         matches(). Reads no clock, takes no lock, allocates nothing. The same
//                         state and the same snapshot give the same verdicts, time and state, in
//                         any order of jobs.
//   operator==            Compares parameters and state; a copy decides as the original.
//
// A job that is held by others gets Verdict::run, which means no hold of ours. So does an idle job,
// but under PARK.
using Policy =
    std::variant<Bands, HighestPriorityFirst, RoundRobin, Fair, FirstInFirstOut,
                 HeterogeneousHighestPriorityFirst, CpuHighestPriorityFirst, UtilizationPartition,
                 ProcessUtilizationPartition, StrictPartition, EarliestDeadlineFirst, TwoLevel,
                 FocusFirst, MultilevelFeedback, IdleParking, Plugin>;

// Names of the alternatives, in their order, without the last one: a plug-in has a name of its own.
// The first is the default.
inline constexpr std::array<std::string_view, std::variant_size_v<Policy> - 1> policy_names{
    "BAND", "HPF",  "RR",    "CFS", "FIFO", "HHPF", "CHPF", "UP",
    "PUP",  "SPUP", "K-EDF", "LAX", "AWF",  "MLFQ", "PARK"};

// Why a policy may hold a job that has work. A hold without this reason is a fault if it lasts.
enum class HoldReason : std::uint8_t {
    job_on_its_nodes, // another job runs on one of its nodes, and has work or has announced some
    job_on_any_node,  // such a job runs, on whatever node
    reserved_time,    // the time belongs to jobs that may be idle, and a timer is set for its end
};

template <class P> inline constexpr HoldReason hold_reason = HoldReason::job_on_its_nodes;
template <>
inline constexpr HoldReason hold_reason<HeterogeneousHighestPriorityFirst> =
    HoldReason::job_on_any_node;
template <> inline constexpr HoldReason hold_reason<StrictPartition> = HoldReason::reserved_time;

[[nodiscard]] constexpr HoldReason hold_reason_of(const Policy& policy) {
    return std::visit([]<class P>(const P& /*policy*/) { return hold_reason<P>; }, policy);
}

// How long the policy, by its last decision, holds a job after the end of the work that it was held
// for. switch_cost: of that decision.
[[nodiscard]] inline Duration resume_grace_of(const Policy& policy, Duration switch_cost) {
    return std::visit(
        [&]<class P>(const P& chosen) {
            Duration grace{0};
            if constexpr (std::is_same_v<P, Bands>)
                grace = chosen.resume_grace();
            else if constexpr (requires { chosen.parameters().linger; })
                grace = chosen.parameters().linger;
            return grace == Duration{0} ? grace : std::max(grace, switch_cost);
        },
        policy);
}

// Whether the policy gives each job a share of the time, so that two jobs get more than one.
template <class P> inline constexpr bool divides_time = false;
template <> inline constexpr bool divides_time<RoundRobin> = true;
template <> inline constexpr bool divides_time<Fair> = true;
template <> inline constexpr bool divides_time<UtilizationPartition> = true;
template <> inline constexpr bool divides_time<ProcessUtilizationPartition> = true;
template <> inline constexpr bool divides_time<StrictPartition> = true;
template <> inline constexpr bool divides_time<MultilevelFeedback> = true;

[[nodiscard]] constexpr bool divides_time_of_jobs(const Policy& policy) {
    return std::visit([]<class P>(const P& /*policy*/) { return divides_time<P>; }, policy);
}

// As decide_by().
[[nodiscard]] Time decide(Policy& policy, const Snapshot& snapshot, std::span<Verdict> verdicts);

// The policy of that name with default parameters; nothing for other names.
[[nodiscard]] std::optional<Policy> policy_named(std::string_view name);
[[nodiscard]] std::string_view name_of(const Policy& policy); // while the policy lives
// Null: it is no plug-in, or its decisions kept the rules.
[[nodiscard]] const PluginFault* fault_of(const Policy& policy);

} // namespace xpreempt::sched
