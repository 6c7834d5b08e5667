// SPDX-License-Identifier: MIT
// Names of bands, and changes of attributes.
#include "attributes.hpp"

#include <array>

namespace xpreemptd {

namespace {

constexpr std::array<std::string_view, sched::num_bands> names{"realtime", "high", "normal",
                                                               "idle"};

} // namespace

void AttributeChange::apply_to(Attributes& attributes) const {
    attributes.band = band.value_or(attributes.band);
    attributes.weight = weight.value_or(attributes.weight);
    if (deadline)
        attributes.deadline = deadline;
    attributes.priority = priority.value_or(attributes.priority);
    attributes.yields = yields.value_or(attributes.yields);
    attributes.park_after = park_after.value_or(attributes.park_after);
    attributes.vram_limit = vram_limit.value_or(attributes.vram_limit);
    attributes.utilization = utilization.value_or(attributes.utilization);
    if (lax)
        attributes.lax = lax;
}

void AttributeChange::apply_to(AttributeChange& earlier) const {
    if (band)
        earlier.band = band;
    if (weight)
        earlier.weight = weight;
    if (deadline)
        earlier.deadline = deadline;
    if (priority)
        earlier.priority = priority;
    if (yields)
        earlier.yields = yields;
    if (park_after)
        earlier.park_after = park_after;
    if (vram_limit)
        earlier.vram_limit = vram_limit;
    if (utilization)
        earlier.utilization = utilization;
    if (lax)
        earlier.lax = lax;
}

std::optional<sched::Band> band_named(std::string_view name) {
    for (std::size_t band = 0; band < names.size(); ++band)
        if (names.at(band) == name)
            return static_cast<sched::Band>(band);
    return std::nullopt;
}

std::string_view name_of(sched::Band band) {
    return names.at(static_cast<std::size_t>(band));
}

} // namespace xpreemptd
