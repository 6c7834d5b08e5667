// SPDX-License-Identifier: MIT
// Hints of a program about its own job. They last as long as its connection at most.
#pragma once

#include "protocol/attributes.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <variant>

namespace xpreemptd {

// Longer ones are rejected: lower bands wait all the time that work was announced and doesn't
// come.
constexpr std::chrono::microseconds max_soon = std::chrono::milliseconds{100};

// A request is under way. A connection has one at most; another one takes its place.
struct BeginHint {
    std::optional<std::chrono::microseconds> deadline; // from now on
    bool operator==(const BeginHint&) const = default;
};
// It is over, and no work follows soon.
struct EndHint {
    bool operator==(const EndHint&) const = default;
};
// Work comes within that time.
struct SoonHint {
    std::chrono::microseconds within{};
    bool operator==(const SoonHint&) const = default;
};
// The job's band and priority while this hint lasts; nothing ends it. The highest that a connection
// of the job hints holds.
struct BandHint {
    std::optional<sched::Band> band;
    bool operator==(const BandHint&) const = default;
};
struct PriorityHint {
    std::optional<std::int32_t> priority;
    bool operator==(const PriorityHint&) const = default;
};
// The other attributes of attributes.def, each with the strongest value that a connection of the
// job hints. Those that are left out are the job's own again, and so are those that the user may
// not choose.
struct AttributesHint {
    AttributeChange change;
    bool operator==(const AttributesHint&) const = default;
};
using Hint = std::variant<BeginHint, EndHint, SoonHint, BandHint, PriorityHint, AttributesHint>;

// Whether the connection keeps it: its job has it until the next hint of the same kind.
[[nodiscard]] inline bool is_lasting(const Hint& hint) {
    return std::holds_alternative<BandHint>(hint) || std::holds_alternative<PriorityHint>(hint) ||
           std::holds_alternative<AttributesHint>(hint);
}

} // namespace xpreemptd
