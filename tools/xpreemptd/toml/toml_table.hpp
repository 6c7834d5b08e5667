// SPDX-License-Identifier: MIT
// Reads a TOML table key by key, and reports each key and value that is wrong with its place.
#pragma once

#include "toml/value_format.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// toml++ 3.3 asserts, or assumes in an optimized build by clang, what a wrong file can break: that
// a key begins after "[[". Without that it reports the error.
#define TOML_ASSERT(expression) static_assert(true)
#define TOML_EXCEPTIONS 0
#define TOML_HEADER_ONLY 1
#pragma push_macro("NDEBUG")
#undef NDEBUG
#include <toml++/toml.h>
#pragma pop_macro("NDEBUG")

namespace xpreemptd {

using Place = toml::source_position;

class TomlErrors {
public:
    void add(const Place& place, std::string text);
    [[nodiscard]] bool empty() const { return errors_.empty(); }
    [[nodiscard]] std::size_t count() const { return errors_.size(); }
    // One a line, "FILE:LINE:COLUMN: what", in the order of the file.
    [[nodiscard]] std::string text(std::string_view file_name) const;

private:
    std::multimap<std::pair<std::uint32_t, std::uint32_t>, std::string> errors_;
};

// Every key that is asked for is a known one; finish() reports the others. A key that is missing is
// no error, a value that is wrong is one, and then the result is nothing.
class TomlTable {
public:
    // The table of the whole file. Both must live longer.
    TomlTable(const toml::table& file, TomlErrors& errors) : table_(file), errors_(errors) {}

    template <typename T> std::optional<T> read(std::string_view key, const Format<T>& format) {
        const toml::node* const node = find(key, std::string(key));
        if (node == nullptr)
            return std::nullopt;
        std::optional<T> value = format.parse(scalar_of(*node));
        if (!value && format.obstacle && !format.obstacle().empty())
            report(key, *node, format.obstacle());
        else if (!value)
            reject(key, *node, format.expected, format.words);
        return value;
    }
    // Leaves `value` as it is if the key is missing or wrong.
    template <typename T, typename Field>
    void read(std::string_view key, const Format<T>& format, Field& value) {
        if (auto found = read(key, format))
            // NOLINTNEXTLINE(bugprone-optional-value-conversion): most fields are a T
            value = std::move(*found);
    }

    std::optional<TomlTable> table(std::string_view key);
    // [[key]]: its tables, in order.
    std::vector<TomlTable> tables(std::string_view key);

    void fail(std::string text) const { errors_.add(place_, std::move(text)); } // the whole table
    void finish();

private:
    TomlTable(const toml::table& table, std::string name, std::string header, Place place,
              TomlErrors& errors)
        : table_(table), name_(std::move(name)), header_(std::move(header)), place_(place),
          errors_(errors) {}
    const toml::node* find(std::string_view key, std::string shown);
    static Scalar scalar_of(const toml::node& node);
    void reject(std::string_view key, const toml::node& node, std::string_view expected,
                const std::vector<std::string_view>& words = {});
    void report(std::string_view key, const toml::node& node, std::string_view what);
    [[nodiscard]] std::string name_of_table(std::string_view key) const;

    const toml::table& table_;
    std::string name_;   // "policy.BAND"; empty for the whole file
    std::string header_; // "[policy.BAND]", "[[rule]]"
    Place place_{};
    TomlErrors& errors_;
    std::vector<std::string_view> known_;
    std::vector<std::string> shown_; // the same; tables by their headers
};

} // namespace xpreemptd
