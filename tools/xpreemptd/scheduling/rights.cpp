// SPDX-License-Identifier: MIT
// Compares the caller with the owner of the job, and the choice with what the rules allow.
#include "scheduling/rights.hpp"

#include "toml/value_format.hpp"

#include <algorithm>
#include <cerrno>
#include <fmt/format.h>
#include <utility>

namespace xpreemptd {

namespace {

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

// Hints concern the job as a whole: a process of a user without queues has no part in the work of
// others.
Answer<void> check_hints(const Caller& caller, const Job& job) {
    if (job.uid != Job::no_user || caller.uid == 0)
        return check_user(caller, job, "give it hints");
    const auto is_callers = [&](const auto& process) {
        return process->facts.pid == caller.pid && process->facts.uid == caller.uid &&
               !process->queues.empty();
    };
    if (std::ranges::any_of(job.processes, is_callers))
        return {};
    return refuse(EPERM, fmt::format("job {} has processes of several users: only root and those "
                                     "of them that have queues on a GPU may give it hints",
                                     job.name));
}

std::string text_of(sched::Band band) {
    return std::string(name_of(band));
}

template <typename Number> std::string text_of(Number number) {
    return fmt::to_string(number);
}

template <typename Kind>
Answer<void> check_value(const Attribute<Kind>& each, const AttributeChange& change,
                         const Attributes& highest) {
    const auto& wanted = change.*each.change;
    if (!wanted || !is_above(*wanted, highest.*each.stored))
        return {};
    return refuse(EPERM, fmt::format("{} {} is above {}, the highest that a rule lets you choose: "
                                     "ask the administrator for a rule, or run as root",
                                     each.noun, text_of(*wanted), text_of(highest.*each.stored)));
}

// A shorter one would run before the jobs of others under K-EDF and LAX.
Answer<void> check_value(const Attribute<attribute::Time>& each, const AttributeChange& change,
                         const Attributes& highest) {
    const auto& wanted = change.*each.change;
    const auto& shortest = highest.*each.stored;
    if (!wanted || (shortest && *wanted >= *shortest))
        return {};
    if (!shortest)
        return refuse(EPERM, fmt::format("no rule gives this job a {}: ask the administrator for "
                                         "a rule, or run as root",
                                         each.noun));
    return refuse(EPERM, fmt::format("{} {} is below {}, the shortest that a rule lets you "
                                     "choose: ask the administrator for a rule, or run as root",
                                     each.noun, duration_text(*wanted), duration_text(*shortest)));
}

} // namespace

// Root chooses freely, the owner of a job nothing above the highest that a rule allows.
Answer<void> check_choice(const Caller& caller, const AttributeChange& change,
                          const Attributes& highest) {
    if (caller.uid == 0)
        return {};
    Answer<void> allowed;
    for_each_attribute([&](const auto& each) {
        if (allowed)
            allowed = check_value(each, change, highest);
    });
    return allowed;
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
    if (const auto* attributes = std::get_if<AttributesHint>(&hint))
        return attributes->change;
    return {};
}

AllowedHint allowed_part(const Caller& caller, const Hint& hint, const Attributes& highest) {
    AllowedHint part{hint, check_choice(caller, change_of(hint), highest)};
    if (part.answer)
        return part;
    if (auto* several = std::get_if<AttributesHint>(&*part.hint))
        for_each_attribute([&](const auto& each) {
            if (!check_value(each, several->change, highest))
                (several->change.*each.change).reset();
        });
    else
        part.hint.reset();
    return part;
}

AllowedHint allowed_part(const Caller& caller, const Job& job, const Hint& hint) {
    auto allowed = change_of(hint) != AttributeChange{} ? check_user(caller, job, "change it")
                                                        : check_hints(caller, job);
    if (!allowed)
        return {std::nullopt, std::move(allowed)};
    return allowed_part(caller, hint, job.highest);
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
    bool overrules = false;
    for_each_attribute([&](const auto& each) {
        const auto& value = wanted.*each.change;
        const auto& of_root = by_root.*each.change;
        overrules = overrules || (value && of_root && is_above(*value, *of_root));
    });
    return !overrules && allowed_part(caller, job, hint).answer.has_value();
}

Answer<void> check_focus(const Caller& caller, const Job& job) {
    return check_user(caller, job, "give it the focus");
}

} // namespace xpreemptd
