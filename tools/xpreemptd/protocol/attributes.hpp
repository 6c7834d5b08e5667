// SPDX-License-Identifier: MIT
// Attributes of a job, set by rules and users: those that policies read, and about VRAM.
#pragma once

#include "sched/snapshot.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <type_traits>
#include <vector>

namespace xpreemptd {

namespace attribute = xpreempt::attribute;
namespace sched = xpreempt::sched;

struct Attributes {
#define JOB_ATTRIBUTE(kind, name, least, most, initial, ...) attribute::kind::Stored name = initial;
#define ATTRIBUTE JOB_ATTRIBUTE
#include "base/attributes.def"
    bool yields = false; // its memory may leave VRAM for another job's
    // If it yields: idle for so long, it leaves VRAM even if no job needs it. max(): never.
    std::chrono::nanoseconds park_after = std::chrono::nanoseconds::max();
    std::uint64_t vram_limit = UINT64_MAX; // bytes on a GPU, see MemoryView::limit

    bool operator==(const Attributes&) const = default;
};

// Those that a rule, a user or a request sets; the others stay as they are.
struct AttributeChange {
#define JOB_ATTRIBUTE(kind, name, ...) std::optional<attribute::kind::Value> name = {};
#define ATTRIBUTE JOB_ATTRIBUTE
#include "base/attributes.def"
    std::optional<bool> yields = {};
    std::optional<std::chrono::nanoseconds> park_after = {};
    std::optional<std::uint64_t> vram_limit = {};

    void apply_to(Attributes& attributes) const;
    void apply_to(AttributeChange& earlier) const;  // keeps what only the earlier one sets
    void remove_from(AttributeChange& other) const; // what this one sets
    bool operator==(const AttributeChange&) const = default;
};

// One row of attributes.def.
template <typename AttributeKind> struct Attribute {
    using Kind = AttributeKind;
    using Value = typename Kind::Value;
    static constexpr bool is_time = std::is_same_v<Kind, attribute::Time>;

    const char* name{}; // in TOML, of the option
    const char* key{};  // in JSON
    std::string_view noun;
    std::string_view readers; // policies, separated by blanks; empty: all, or the daemon itself
    const char* help{};
    Value least, most;
    typename Kind::Stored Attributes::* stored;
    std::optional<Value> AttributeChange::* change;
    typename Kind::Seen sched::JobView::* view;
};

constexpr std::string_view noun_of(std::string_view c_name) {
    return c_name.ends_with("_us") ? c_name.substr(0, c_name.size() - 3) : c_name;
}

// visit: takes an Attribute of each kind, in the order of the rows.
template <typename Visit> void for_each_attribute(const Visit& visit) {
#define JOB_ATTRIBUTE(kind, name, least, most, initial, view, c, xsched, readers, help)            \
    visit(Attribute<attribute::kind>{                                                              \
        #name, Attribute<attribute::kind>::is_time ? #name "_us" : #name, noun_of(#c), readers,    \
        help, least, most, &Attributes::name, &AttributeChange::name, &sched::JobView::view});
#define ATTRIBUTE JOB_ATTRIBUTE
#include "base/attributes.def"
}

[[nodiscard]] std::vector<std::string> attribute_names();
[[nodiscard]] std::vector<std::string> attribute_keys();
// "--a, --b or --c" of a, b and c, with "--" before.
[[nodiscard]] std::string one_of(const std::vector<std::string>& words,
                                 std::string_view before = "", std::string_view after = "");

// Those that differ from what a job has without a rule; which values they have does not count.
[[nodiscard]] AttributeChange set_in(const Attributes& attributes);

// Says which of the attributes that are set the policy does not read; empty: none, or it is
// unknown.
[[nodiscard]] std::string ignored_by(std::string_view policy, const AttributeChange& change);

// Set for one job by `kfd-preempt run` and `renice`. A choice of root stands for the rule.
struct Choices {
    AttributeChange by_root, by_owner;
    uid_t owner = 0; // by_owner is this user's, and counts while the job is

    // A change by another user than the owner replaces all of by_owner.
    void add(const AttributeChange& change, uid_t uid);
    bool operator==(const Choices&) const = default;
};

// Lowers those that an owner may choose to those of `highest`.
void lower_to(Attributes& attributes, const Attributes& highest);
// Raises those that an owner may choose to those of `lowest`.
void raise_to(Attributes& attributes, const Attributes& lowest);

// Whether one value of an attribute runs the job before the other: a higher band or number, a
// shorter time.
[[nodiscard]] inline bool is_above(sched::Band one, sched::Band other) {
    return one < other;
}
[[nodiscard]] inline bool is_above(attribute::us one, attribute::us other) {
    return one < other;
}
template <typename Number> [[nodiscard]] bool is_above(Number one, Number other) {
    return one > other;
}

// "realtime", "high", "normal", "idle"; nothing for other names.
[[nodiscard]] std::optional<sched::Band> band_named(std::string_view name);
[[nodiscard]] std::string_view name_of(sched::Band band);

} // namespace xpreemptd
