// SPDX-License-Identifier: MIT
// Checks the rights of callers: root may do everything to a job, its owner as far as the rules
// allow.
#pragma once

#include "jobs/job.hpp"
#include "protocol/control.hpp"

#include <optional>

namespace xpreemptd {

// Returns EPERM with a text for the caller where it may not.
[[nodiscard]] Answer<void> check_choice(const Caller& caller, const AttributeChange& change,
                                        const Attributes& highest);
[[nodiscard]] Answer<void> check_change(const Caller& caller, const Job& job,
                                        const AttributeChange& change);
// A hint about several attributes changes those that the caller may choose, and drops the others.
struct AllowedHint {
    std::optional<Hint> hint; // nothing: the caller may choose no part of it
    Answer<void> answer;      // EPERM about the first attribute that was dropped
};
[[nodiscard]] AllowedHint allowed_part(const Caller& caller, const Hint& hint,
                                       const Attributes& highest);
[[nodiscard]] AllowedHint allowed_part(const Caller& caller, const Job& job, const Hint& hint);
// Whether a hint that was taken has its effect: root may have chosen a lower band, say.
[[nodiscard]] bool counts(const Caller& caller, const Job& job, const Hint& hint);
[[nodiscard]] Answer<void> check_focus(const Caller& caller, const Job& job);

// The hint with a deadline that is no earlier than the caller may choose.
[[nodiscard]] Hint bounded(const Caller& caller, const Job& job, const Hint& hint);

// Empty for hints that change no attribute.
[[nodiscard]] AttributeChange change_of(const Hint& hint);

} // namespace xpreemptd
