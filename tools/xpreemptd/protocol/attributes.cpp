// SPDX-License-Identifier: MIT
// Names of bands, and changes of attributes.
#include "protocol/attributes.hpp"

#include <algorithm>
#include <array>

namespace xpreemptd {

namespace {

constexpr std::array<std::string_view, sched::num_bands> names{"realtime", "high", "normal",
                                                               "idle"};

template <typename Visit>
void for_each_pair(const AttributeChange& one, AttributeChange& other, const Visit& visit) {
    visit(one.band, other.band);
    visit(one.weight, other.weight);
    visit(one.deadline, other.deadline);
    visit(one.priority, other.priority);
    visit(one.yields, other.yields);
    visit(one.park_after, other.park_after);
    visit(one.vram_limit, other.vram_limit);
    visit(one.utilization, other.utilization);
    visit(one.lax, other.lax);
}

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
    for_each_pair(*this, earlier, [](const auto& later, auto& of_earlier) {
        if (later)
            of_earlier = later;
    });
}

void AttributeChange::remove_from(AttributeChange& other) const {
    for_each_pair(*this, other, [](const auto& here, auto& there) {
        if (here)
            there.reset();
    });
}

void Choices::add(const AttributeChange& change, bool is_root) {
    if (!is_root)
        return change.apply_to(by_owner);
    change.apply_to(by_root);
    change.remove_from(by_owner);
}

void lower_to(Attributes& attributes, const Attributes& highest) {
    const auto lower_time = [](auto& time, const auto& shortest) {
        time = shortest && time ? std::max(time, shortest) : std::nullopt;
    };
    attributes.band = std::max(attributes.band, highest.band); // the lower band
    attributes.weight = std::min(attributes.weight, highest.weight);
    attributes.priority = std::min(attributes.priority, highest.priority);
    attributes.utilization = std::min(attributes.utilization, highest.utilization);
    lower_time(attributes.deadline, highest.deadline);
    lower_time(attributes.lax, highest.lax);
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
