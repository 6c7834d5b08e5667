// SPDX-License-Identifier: MIT
// Words for TOML's values, and error messages with their places.
#include "toml/toml_table.hpp"

#include "toml/spelling.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace xpreemptd {

namespace {

std::string shown(const toml::node& node) {
    if (const auto* text = node.as_string())
        return in_quotes(text->get());
    if (const auto* number = node.as_integer())
        return fmt::format("{}", number->get());
    if (const auto* number = node.as_floating_point())
        return fmt::format("{:#}", number->get()); // 10.0, which is no integer
    if (const auto* truth = node.as_boolean())
        return truth->get() ? "true" : "false";
    if (node.is_table())
        return "a table";
    return node.is_array() ? "an array" : "a date or a time";
}

std::string did_you_mean(std::string_view text, std::span<const std::string_view> words) {
    const auto word = closest(text, words);
    return word ? fmt::format("; did you mean \"{}\"?", *word) : "";
}

} // namespace

void TomlErrors::add(const Place& place, std::string text) {
    errors_.emplace(std::pair(place.line, place.column), std::move(text));
}

std::string TomlErrors::text(std::string_view file_name) const {
    std::string lines;
    for (const auto& [place, text] : errors_)
        lines += fmt::format("{}{}:{}:{}: {}", lines.empty() ? "" : "\n", file_name, place.first,
                             place.second, text);
    return lines;
}

const toml::node* TomlTable::find(std::string_view key, std::string shown) {
    known_.push_back(key);
    shown_.push_back(std::move(shown));
    return table_.get(key);
}

Scalar TomlTable::scalar_of(const toml::node& node) {
    Scalar scalar;
    if (const auto* text = node.as_string())
        scalar.text = text->get();
    if (const auto* number = node.as_integer())
        scalar.number = number->get();
    if (node.is_number())
        scalar.real = node.value<double>();
    if (const auto* truth = node.as_boolean())
        scalar.truth = truth->get();
    return scalar;
}

void TomlTable::reject(std::string_view key, const toml::node& node, std::string_view expected,
                       const std::vector<std::string_view>& words) {
    const auto* text = node.as_string();
    report(key, node,
           fmt::format("expected {}{}", expected,
                       text != nullptr ? did_you_mean(text->get(), words) : ""));
}

void TomlTable::report(std::string_view key, const toml::node& node, std::string_view what) {
    errors_.add(node.source().begin, fmt::format("{} is {}, {}", key, shown(node), what));
}

std::string TomlTable::name_of_table(std::string_view key) const {
    if (name_.empty())
        return std::string(key);
    return fmt::format("{}.{}", name_, key);
}

std::optional<TomlTable> TomlTable::table(std::string_view key) {
    const std::string name = name_of_table(key);
    const std::string header = fmt::format("[{}]", name);
    const toml::node* const node = find(key, header);
    if (node == nullptr)
        return std::nullopt;
    if (const toml::table* const found = node->as_table())
        return TomlTable(*found, name, header, node->source().begin, errors_);
    reject(name, *node, fmt::format("a table: {}", header));
    return std::nullopt;
}

std::vector<TomlTable> TomlTable::tables(std::string_view key) {
    const std::string name = name_of_table(key);
    const std::string header = fmt::format("[[{}]]", name);
    const std::string expected = fmt::format("an array of tables: {}", header);
    const toml::node* const node = find(key, header);
    if (node == nullptr)
        return {};
    const toml::array* const array = node->as_array();
    if (array == nullptr) {
        reject(name, *node, expected);
        return {};
    }
    std::vector<TomlTable> found;
    for (const toml::node& element : *array)
        if (const toml::table* const table = element.as_table())
            found.push_back(TomlTable(*table, name, header, element.source().begin, errors_));
        else
            reject(name, element, expected);
    return found;
}

void TomlTable::finish() {
    for (const auto& [key, node] : table_) {
        const std::string_view name = key.str();
        if (std::ranges::find(known_, name) != known_.end())
            continue;
        errors_.add(key.source().begin,
                    fmt::format("unknown key {}{}{}, expected one of {}{}", in_quotes(name),
                                header_.empty() ? "" : " in ", header_, fmt::join(shown_, ", "),
                                did_you_mean(name, known_)));
    }
}

} // namespace xpreemptd
