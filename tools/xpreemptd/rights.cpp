// SPDX-License-Identifier: MIT
// Compares the caller with the owner of the job, and the choice with what the rules allow.
#include "rights.hpp"

#include <cerrno>
#include <fmt/format.h>

namespace xpreemptd {

namespace {

tl::unexpected<Refusal> refuse(int error, std::string text) {
    return tl::make_unexpected(Refusal{error, std::move(text)});
}

Answer<void> refuse_above(std::string_view what, std::string_view wanted,
                          std::string_view highest) {
    return refuse(EPERM, fmt::format("{} {} is above {}, the highest that a rule lets you choose: "
                                     "ask the administrator for a rule, or run as root",
                                     what, wanted, highest));
}

} // namespace

// Root chooses freely, the owner of a job nothing above the highest that a rule allows.
Answer<void> check_choice(const Caller& caller, const AttributeChange& change,
                          sched::Band highest_band, std::int32_t highest_priority) {
    if (caller.uid == 0)
        return {};
    if (change.band && *change.band < highest_band)
        return refuse_above("band", name_of(*change.band), name_of(highest_band));
    if (change.priority && *change.priority > highest_priority)
        return refuse_above("priority", fmt::to_string(*change.priority),
                            fmt::to_string(highest_priority));
    return {};
}

// Whether the caller may change the job, and so far.
Answer<void> check_change(const Caller& caller, const Job& job, const AttributeChange& change) {
    if (caller.uid != 0 && caller.uid != job.uid)
        return refuse(EPERM,
                      fmt::format("job {} is user {}'s: only that user or root may change it",
                                  job.name, job.uid));
    return check_choice(caller, change, job.owner_may_choose, job.owner_may_choose_priority);
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

bool is_allowed(const Caller& caller, const Job& job, const Hint& hint) {
    return check_hint(caller, job, hint).has_value();
}

Answer<void> check_focus(const Caller& caller, const Job& job) {
    if (caller.uid == 0 || caller.uid == job.uid)
        return {};
    return refuse(EPERM, fmt::format("job {} is user {}'s: only that user or root may give it "
                                     "the focus",
                                     job.name, job.uid));
}

} // namespace xpreemptd
