// SPDX-License-Identifier: MIT
// Compares the caller with the owner of the job, and the choice with what the rules allow.
#include "scheduling/rights.hpp"

#include "toml/value_format.hpp"

#include <algorithm>
#include <cerrno>
#include <fmt/format.h>

namespace xpreemptd {

namespace {

using Microseconds = std::optional<std::chrono::microseconds>;

tl::unexpected<Refusal> refuse(int error, std::string text) {
    return tl::make_unexpected(Refusal{error, std::move(text)});
}

// Whether the caller is root or the user of the job. what: such as "change it".
Answer<void> check_user(const Caller& caller, const Job& job, std::string_view what) {
    if (caller.uid == 0 || caller.uid == job.uid)
        return {};
    if (job.uid == Job::no_user)
        return refuse(EPERM, fmt::format("job {} has processes of several users: only root may {}",
                                         job.name, what));
    return refuse(EPERM, fmt::format("job {} is user {}'s: only that user or root may {}", job.name,
                                     job.uid, what));
}

Answer<void> refuse_above(std::string_view what, std::string_view wanted,
                          std::string_view highest) {
    return refuse(EPERM, fmt::format("{} {} is above {}, the highest that a rule lets you choose: "
                                     "ask the administrator for a rule, or run as root",
                                     what, wanted, highest));
}

// A shorter one would run before the jobs of others under K-EDF and LAX.
Answer<void> check_time(std::string_view what, const Microseconds& wanted,
                        const Microseconds& shortest) {
    if (!wanted || (shortest && *wanted >= *shortest))
        return {};
    if (!shortest)
        return refuse(EPERM, fmt::format("no rule gives this job a {}: ask the administrator for "
                                         "a rule, or run as root",
                                         what));
    return refuse(EPERM, fmt::format("{} {} is below {}, the shortest that a rule lets you "
                                     "choose: ask the administrator for a rule, or run as root",
                                     what, duration_text(*wanted), duration_text(*shortest)));
}

} // namespace

// Root chooses freely, the owner of a job nothing above the highest that a rule allows.
Answer<void> check_choice(const Caller& caller, const AttributeChange& change,
                          const Attributes& highest) {
    if (caller.uid == 0)
        return {};
    if (change.band && *change.band < highest.band)
        return refuse_above("band", name_of(*change.band), name_of(highest.band));
    if (change.priority && *change.priority > highest.priority)
        return refuse_above("priority", fmt::to_string(*change.priority),
                            fmt::to_string(highest.priority));
    if (change.weight && *change.weight > highest.weight)
        return refuse_above("weight", fmt::to_string(*change.weight),
                            fmt::to_string(highest.weight));
    if (change.utilization && *change.utilization > highest.utilization)
        return refuse_above("utilization", fmt::to_string(*change.utilization),
                            fmt::to_string(highest.utilization));
    if (auto allowed = check_time("deadline", change.deadline, highest.deadline); !allowed)
        return allowed;
    return check_time("laxity", change.lax, highest.lax);
}

// Whether the caller may change the job, and so far.
Answer<void> check_change(const Caller& caller, const Job& job, const AttributeChange& change) {
    if (auto allowed = check_user(caller, job, "change it"); !allowed)
        return allowed;
    return check_choice(caller, change, job.highest);
}

AttributeChange change_of(const Hint& hint) {
    if (const auto* band = std::get_if<BandHint>(&hint))
        return {.band = band->band};
    if (const auto* priority = std::get_if<PriorityHint>(&hint))
        return {.priority = priority->priority};
    return {};
}

Answer<void> check_hint(const Caller& caller, const Job& job, const Hint& hint) {
    const AttributeChange change = change_of(hint);
    return change == AttributeChange{} ? Answer<void>() : check_change(caller, job, change);
}

Hint bounded(const Caller& caller, const Job& job, const Hint& hint) {
    const auto* begin = std::get_if<BeginHint>(&hint);
    if (begin == nullptr || !begin->deadline || caller.uid == 0)
        return hint;
    return job.highest.deadline ? BeginHint{std::max(begin->deadline, job.highest.deadline)}
                                : BeginHint{};
}

bool counts(const Caller& caller, const Job& job, const Hint& hint) {
    const AttributeChange wanted = change_of(hint);
    const AttributeChange& by_root = job.choices.by_root;
    // A program of root has no other right to overrule renice than that of another user.
    if ((wanted.band && by_root.band && *wanted.band < *by_root.band) ||
        (wanted.priority && by_root.priority && *wanted.priority > *by_root.priority))
        return false;
    return check_hint(caller, job, hint).has_value();
}

Answer<void> check_focus(const Caller& caller, const Job& job) {
    return check_user(caller, job, "give it the focus");
}

} // namespace xpreemptd
