// SPDX-License-Identifier: MIT
// Durations and priorities on the command line.
#include "scheduling.hpp"

#include "kfd/attribute.hpp"
#include "xpreemptd/requests.hpp"

#include <charconv>

namespace cli {

std::optional<std::int32_t> parse_priority(std::string_view text) {
    std::int32_t priority = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), priority);
    if (error != std::errc{} || end != text.data() + text.size() ||
        priority < xpreemptd::sched::min_priority || priority > xpreemptd::sched::max_priority)
        return std::nullopt;
    return priority;
}

std::optional<std::chrono::microseconds> parse_deadline(std::string_view text) {
    struct Unit {
        std::string_view name;
        std::uint64_t us;
    };
    for (const Unit& unit : {Unit{"us", 1}, Unit{"ms", 1000}, Unit{"s", 1000000}}) {
        if (!text.ends_with(unit.name))
            continue;
        const auto count =
            kfd::parse_unsigned<std::uint64_t>(text.substr(0, text.size() - unit.name.size()));
        const auto most = static_cast<std::uint64_t>(xpreemptd::max_deadline.count());
        if (!count || *count == 0 || *count > most / unit.us)
            return std::nullopt;
        return std::chrono::microseconds(static_cast<std::int64_t>(*count * unit.us));
    }
    return std::nullopt;
}

} // namespace cli
