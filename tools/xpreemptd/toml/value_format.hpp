// SPDX-License-Identifier: MIT
// Formats of values in the rules file: what is accepted, and how an error message describes it.
#pragma once

#include "protocol/attributes.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <grp.h>
#include <optional>
#include <pwd.h>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <tl/expected.hpp>
#include <vector>

namespace xpreemptd {

// None for a value of another type.
struct Scalar {
    std::optional<std::string> text;
    std::optional<std::int64_t> number;
    std::optional<double> real; // of an integer too
    std::optional<bool> truth;
};

template <typename T> struct Format {
    std::string expected;                                 // follows "expected" in an error message
    std::vector<std::string_view> words;                  // if only these are allowed
    std::function<std::optional<T>(const Scalar&)> parse; // nothing if the value isn't accepted
    // Why the last value could not be judged; empty: it is wrong.
    std::function<std::string()> obstacle = {};
};

// Also the word, which stands for a value.
template <typename T> Format<T> or_word(Format<T> format, std::string_view word, const T& value) {
    format.expected = "\"" + std::string(word) + "\" or " + format.expected;
    format.parse = [parse = std::move(format.parse), word, value](const Scalar& scalar) {
        return scalar.text == word ? std::optional(value) : parse(scalar);
    };
    return format;
}

using Nanoseconds = std::chrono::nanoseconds;
// The uid of a user name, or the gid of a group's; nothing if there is none of that name. The error
// is an errno.
using FoundUser = tl::expected<std::optional<uid_t>, int>;
using UserLookup = std::function<FoundUser(const std::string&)>;

// As duration_format() reads it, in the largest unit that fits.
[[nodiscard]] std::string duration_text(Nanoseconds duration);

[[nodiscard]] Format<std::string> word_format(const std::vector<std::string_view>& words);
[[nodiscard]] Format<sched::Band> band_format();
// A whole number with the unit us, ms or s.
[[nodiscard]] Format<Nanoseconds> duration_format(Nanoseconds least, Nanoseconds most);
[[nodiscard]] Format<std::uint32_t> integer_format(std::uint32_t least, std::uint32_t most);
[[nodiscard]] Format<double> real_format(double least, double most);
[[nodiscard]] Format<std::int32_t> signed_format(std::int32_t least, std::int32_t most);
[[nodiscard]] Format<std::int64_t> long_format(std::int64_t least, std::int64_t most);
// "0%" to "most%", whole percent.
[[nodiscard]] Format<std::uint32_t> percentage_format(std::uint32_t most);
[[nodiscard]] Format<bool> truth_format();
// A whole number with the unit MiB or GiB.
[[nodiscard]] Format<std::uint64_t> size_format();
// can_match: whether there is a text that the glob, which is not empty, matches.
using CanMatch = bool (*)(std::string_view glob);
[[nodiscard]] Format<std::string>
glob_format(std::string_view example, CanMatch can_match = [](std::string_view) { return true; });
// False if a bracket does not end.
[[nodiscard]] bool can_match_a_name(std::string_view glob);
[[nodiscard]] bool can_match_a_path(std::string_view glob);
// The name of a service, a scope or a slice.
[[nodiscard]] bool can_match_a_unit(std::string_view glob);
// An absolute path that fits into a socket address.
[[nodiscard]] Format<std::filesystem::path> socket_path_format();
// An absolute path of a file.
[[nodiscard]] Format<std::filesystem::path> file_path_format();
// A name, or a uid as an integer.
[[nodiscard]] Format<uid_t> user_format(UserLookup lookup);

// A name, or a gid as an integer.
[[nodiscard]] Format<gid_t> group_format(UserLookup lookup);
// "0666", "0660" or "0600".
[[nodiscard]] Format<mode_t> socket_mode_format();
// A name that is neither a cgroup nor that of a run or a process, nor a pid.
[[nodiscard]] Format<std::string> job_name_format();

// Ask the system's databases of users and groups.
[[nodiscard]] FoundUser user_named(const std::string& name);
[[nodiscard]] FoundUser group_named(const std::string& name);

// getpwnam_r(3) and getgrnam_r(3), or calls that return what those do.
template <typename Entry>
using EntryByName = int (*)(const char* name, Entry* entry, char* buffer, std::size_t bytes,
                            Entry** found);
[[nodiscard]] FoundUser user_by(EntryByName<passwd> call, const std::string& name);
[[nodiscard]] FoundUser group_by(EntryByName<group> call, const std::string& name);

} // namespace xpreemptd
