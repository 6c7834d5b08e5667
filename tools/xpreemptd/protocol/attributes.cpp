// SPDX-License-Identifier: MIT
// Names of bands, and changes of attributes.
#include "protocol/attributes.hpp"

#include "sched/policy.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace xpreemptd {

namespace {

constexpr std::array<std::string_view, sched::num_bands> names{"realtime", "high", "normal",
                                                               "idle"};

template <typename Visit>
void for_each_pair(const AttributeChange& one, AttributeChange& other, const Visit& visit) {
    for_each_attribute([&](const auto& each) { visit(one.*each.change, other.*each.change); });
    visit(one.yields, other.yields);
    visit(one.park_after, other.park_after);
    visit(one.vram_limit, other.vram_limit);
}

// readers: names separated by blanks; empty: all.
bool reads(std::string_view policy, std::string_view readers) {
    const std::string all = ' ' + std::string(readers) + ' ';
    return readers.empty() || all.find(' ' + std::string(policy) + ' ') != std::string::npos;
}

// An owner may choose values up to the highest, of times those that are not shorter.
template <typename Value> void lower(const Attribute<attribute::Bands>&, Value& value, Value most) {
    value = std::max(value, most); // the lower band
}
template <typename Kind, typename Value>
void lower(const Attribute<Kind>&, Value& value, Value most) {
    value = std::min(value, most);
}
template <typename Value> void lower(const Attribute<attribute::Time>&, Value& value, Value most) {
    value = most && value ? std::max(value, most) : std::nullopt;
}

template <typename Value>
void raise(const Attribute<attribute::Bands>&, Value& value, Value least) {
    value = std::min(value, least); // the higher band
}
template <typename Kind, typename Value>
void raise(const Attribute<Kind>&, Value& value, Value least) {
    value = std::max(value, least);
}
template <typename Value> void raise(const Attribute<attribute::Time>&, Value& value, Value least) {
    value = least && value ? std::min(value, least) : value ? value : least;
}

} // namespace

void AttributeChange::apply_to(Attributes& attributes) const {
    for_each_attribute([&](const auto& each) {
        if (const auto& value = this->*each.change)
            attributes.*each.stored = *value;
    });
    attributes.yields = yields.value_or(attributes.yields);
    attributes.park_after = park_after.value_or(attributes.park_after);
    attributes.vram_limit = vram_limit.value_or(attributes.vram_limit);
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

void Choices::add(const AttributeChange& change, uid_t uid) {
    if (uid == 0) {
        change.apply_to(by_root);
        return change.remove_from(by_owner);
    }
    if (std::exchange(owner, uid) != uid)
        by_owner = {};
    change.apply_to(by_owner);
}

void lower_to(Attributes& attributes, const Attributes& highest) {
    for_each_attribute(
        [&](const auto& each) { lower(each, attributes.*each.stored, highest.*each.stored); });
}

void raise_to(Attributes& attributes, const Attributes& lowest) {
    for_each_attribute(
        [&](const auto& each) { raise(each, attributes.*each.stored, lowest.*each.stored); });
}

std::vector<std::string> attribute_names() {
    std::vector<std::string> names;
    for_each_attribute([&](const auto& each) { names.emplace_back(each.name); });
    return names;
}

std::vector<std::string> attribute_keys() {
    std::vector<std::string> keys;
    for_each_attribute([&](const auto& each) { keys.emplace_back(each.key); });
    return keys;
}

AttributeChange set_in(const Attributes& attributes) {
    AttributeChange change;
    for_each_attribute([&](const auto& each) {
        if (attributes.*each.stored != Attributes{}.*each.stored)
            (change.*each.change).emplace();
    });
    return change;
}

std::string ignored_by(std::string_view policy, const AttributeChange& change) {
    const auto& known = sched::policy_names;
    // A plug-in may read all of them.
    if (std::ranges::find(known, policy) == known.end())
        return {};
    std::string text;
    for_each_attribute([&](const auto& each) {
        if ((change.*each.change).has_value() && !reads(policy, each.readers))
            text.append(text.empty() ? "policy " + std::string(policy) + " ignores " : ", ")
                .append(each.name);
    });
    return text;
}

std::string one_of(const std::vector<std::string>& words, std::string_view before,
                   std::string_view after) {
    std::string text;
    for (std::size_t i = 0; i < words.size(); ++i) {
        if (i > 0)
            text += i + 1 < words.size() ? ", " : " or ";
        text.append(before).append(words[i]).append(after);
    }
    return text;
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
