// SPDX-License-Identifier: MIT
// Parses bands, durations, percentages, paths and users.
#include "toml/value_format.hpp"

#include "protocol/decimal.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <climits>
#include <cstring>
#include <fmt/format.h>
#include <limits>
#include <memory>
#include <sys/un.h>
#include <type_traits>

namespace xpreemptd {

namespace {

struct Unit {
    std::string_view name;
    Nanoseconds length;
};
// The largest first, for duration_text().
constexpr std::array<Unit, 3> units{{{"s", std::chrono::seconds{1}},
                                     {"ms", std::chrono::milliseconds{1}},
                                     {"us", std::chrono::microseconds{1}}}};

std::string listed(const std::vector<std::string_view>& words) {
    return fmt::format("one of {}", fmt::join(words, ", "));
}

template <typename Number> Format<Number> whole_number(Number least, Number most) {
    return {fmt::format("an integer from {} to {}", least, most),
            {},
            [least, most](const Scalar& value) -> std::optional<Number> {
                if (!value.number || *value.number < least || *value.number > most)
                    return std::nullopt;
                return static_cast<Number>(*value.number);
            }};
}

std::optional<Nanoseconds> duration_of(std::string_view text) {
    const std::size_t end = std::min(text.find_first_not_of("0123456789"), text.size());
    const auto number = decimal<std::uint32_t>(text.substr(0, end));
    const auto* unit = std::ranges::find(units, text.substr(end), &Unit::name);
    if (!number || unit == units.end())
        return std::nullopt;
    return static_cast<std::int64_t>(*number) * unit->length; // 2^32 s fit
}

std::optional<std::uint64_t> size_of(std::string_view text) {
    constexpr std::uint64_t mib = 1 << 20, gib = 1 << 30;
    const std::size_t end = std::min(text.find_first_not_of("0123456789"), text.size());
    const auto number = decimal<std::uint32_t>(text.substr(0, end));
    const std::string_view unit = text.substr(end);
    if (!number || *number == 0 || (unit != "MiB" && unit != "GiB"))
        return std::nullopt;
    return *number * (unit == "MiB" ? mib : gib); // 2^32 GiB fit
}

// The number of a user or a group: `number` is "uid" or "gid".
Format<std::uint32_t> id_format(std::string_view kind, std::string_view number, UserLookup lookup) {
    static_assert(std::is_same_v<uid_t, std::uint32_t> && std::is_same_v<gid_t, std::uint32_t>);
    // The largest is "none" in setreuid() and chown().
    constexpr auto most = std::numeric_limits<std::uint32_t>::max() - 1;
    const auto error = std::make_shared<int>(0); // of the last lookup
    return {
        fmt::format("the name of a {} of this machine, or a {} from 0 to {}", kind, number, most),
        {},
        [lookup = std::move(lookup), error](const Scalar& value) -> std::optional<uid_t> {
            if (value.text) {
                const FoundUser found = lookup(*value.text);
                *error = found ? 0 : found.error();
                return found.value_or(std::nullopt);
            }
            if (!value.number || *value.number < 0 || *value.number > most)
                return std::nullopt;
            return static_cast<std::uint32_t>(*value.number);
        },
        [number, error] {
            return *error == 0 ? std::string()
                               : fmt::format("which cannot be looked up: {}; a {} needs no "
                                             "lookup",
                                             std::strerror(*error), number);
        }};
}

Format<std::filesystem::path> absolute_path(std::size_t most) {
    return {fmt::format("an absolute path of at most {} bytes", most),
            {},
            [most](const Scalar& value) -> std::optional<std::filesystem::path> {
                if (!value.text || !value.text->starts_with('/') || value.text->ends_with('/') ||
                    value.text->size() > most || value.text->find('\0') != std::string::npos)
                    return std::nullopt;
                return *value.text;
            }};
}

} // namespace

std::string duration_text(Nanoseconds duration) {
    const auto* unit = std::ranges::find_if(
        units, [&](const Unit& u) { return duration % u.length == Nanoseconds{0}; });
    // 0 is a whole number of seconds, but a small unit says better what it is compared with.
    if (duration == Nanoseconds{0} || unit == units.end())
        unit = &units.back();
    return fmt::format("{}{}", duration / unit->length, unit->name);
}

Format<std::string> word_format(const std::vector<std::string_view>& words) {
    return {listed(words), words, [words](const Scalar& value) -> std::optional<std::string> {
                if (!value.text || std::ranges::find(words, *value.text) == words.end())
                    return std::nullopt;
                return value.text;
            }};
}

Format<sched::Band> band_format() {
    std::vector<std::string_view> words;
    for (std::size_t band = 0; band < sched::num_bands; ++band)
        words.push_back(name_of(static_cast<sched::Band>(band)));
    return {listed(words), words, [](const Scalar& value) -> std::optional<sched::Band> {
                return value.text ? band_named(*value.text) : std::nullopt;
            }};
}

Format<Nanoseconds> duration_format(Nanoseconds least, Nanoseconds most) {
    return {fmt::format("a duration from \"{}\" to \"{}\", a whole number of us, ms or s",
                        duration_text(least), duration_text(most)),
            {},
            [least, most](const Scalar& value) -> std::optional<Nanoseconds> {
                const auto duration = value.text ? duration_of(*value.text) : std::nullopt;
                if (!duration || *duration < least || *duration > most)
                    return std::nullopt;
                return duration;
            }};
}

Format<std::uint32_t> integer_format(std::uint32_t least, std::uint32_t most) {
    return whole_number(least, most);
}

Format<double> real_format(double least, double most) {
    return {fmt::format("a number from {} to {}", least, most),
            {},
            [least, most](const Scalar& value) -> std::optional<double> {
                // Not a number fails both.
                return value.real && *value.real >= least && *value.real <= most ? value.real
                                                                                 : std::nullopt;
            }};
}

Format<std::int32_t> signed_format(std::int32_t least, std::int32_t most) {
    return whole_number(least, most);
}

Format<std::int64_t> long_format(std::int64_t least, std::int64_t most) {
    return whole_number(least, most);
}

Format<std::uint32_t> percentage_format(std::uint32_t most) {
    return {fmt::format("a percentage from \"0%\" to \"{}%\"", most),
            {},
            [most](const Scalar& value) -> std::optional<std::uint32_t> {
                if (!value.text || !value.text->ends_with('%'))
                    return std::nullopt;
                const auto number = decimal<std::uint32_t>(
                    std::string_view(*value.text).substr(0, value.text->size() - 1));
                return number && *number <= most ? number : std::nullopt;
            }};
}

Format<bool> truth_format() {
    return {"true or false", {}, [](const Scalar& value) { return value.truth; }};
}

Format<std::uint64_t> size_format() {
    return {"a size such as \"512MiB\" or \"16GiB\"",
            {},
            [](const Scalar& value) -> std::optional<std::uint64_t> {
                return value.text ? size_of(*value.text) : std::nullopt;
            }};
}

Format<std::string> glob_format(std::string_view example, CanMatch can_match) {
    return {fmt::format("a pattern such as \"{}\"", example),
            {},
            [can_match](const Scalar& value) -> std::optional<std::string> {
                if (!value.text || value.text->empty() ||
                    value.text->find('\0') != std::string::npos || !can_match(*value.text))
                    return std::nullopt;
                return value.text;
            }};
}

namespace {

// Returns the length of "[:alpha:]", "[.a.]" or "[=a=]" at the begin; 0 if there is none. fnmatch()
// takes "[:" for two characters unless a name of letters follows.
std::size_t length_of_class(std::string_view text) {
    if (text.size() < 2 || text[0] != '[' ||
        std::string_view(":.=").find(text[1]) == std::string_view::npos)
        return 0;
    const std::size_t end = text.find(std::string{text[1], ']'}, 2);
    if (end == std::string_view::npos)
        return 0;
    const std::string_view name = text.substr(2, end - 2);
    const bool is_word = std::ranges::all_of(name, [](char c) { return c >= 'a' && c <= 'z'; });
    return text[1] != ':' || is_word ? end + 2 : 0;
}

// To fnmatch() a bracket that does not end is a character. It matches itself, but then the text is
// no pattern, and probably a wrong one.
bool has_open_bracket(std::string_view glob) {
    for (std::size_t i = glob.find('['); i < glob.size(); i = glob.find('[', i)) {
        ++i;
        if (i < glob.size() && (glob[i] == '!' || glob[i] == '^'))
            ++i;
        bool is_first = true;
        for (; i < glob.size() && (is_first || glob[i] != ']'); is_first = false)
            i += std::max<std::size_t>(length_of_class(glob.substr(i)), 1);
        if (i >= glob.size())
            return true;
    }
    return false;
}

} // namespace

bool can_match_a_name(std::string_view glob) {
    return !has_open_bracket(glob);
}

bool can_match_a_path(std::string_view glob) {
    return can_match_a_name(glob) &&
           std::string_view("/*?[").find(glob.front()) != std::string_view::npos;
}

bool can_match_a_unit(std::string_view glob) {
    return can_match_a_name(glob) &&
           (glob.find_first_of("*?[") != std::string_view::npos || glob.ends_with(".service") ||
            glob.ends_with(".scope") || glob.ends_with(".slice"));
}

Format<std::filesystem::path> socket_path_format() {
    return absolute_path(sizeof(sockaddr_un::sun_path) - 1);
}

Format<std::filesystem::path> file_path_format() {
    Format<std::filesystem::path> format = absolute_path(PATH_MAX - 1);
    format.expected += " without control characters";
    format.parse = [parse = std::move(format.parse)](const Scalar& value) {
        const auto is_control = [](char c) { return (c >= 0 && c < ' ') || c == '\x7f'; };
        return value.text && std::ranges::any_of(*value.text, is_control) ? std::nullopt
                                                                          : parse(value);
    };
    return format;
}

Format<uid_t> user_format(UserLookup lookup) {
    return id_format("user", "uid", std::move(lookup));
}

Format<gid_t> group_format(UserLookup lookup) {
    return id_format("group", "gid", std::move(lookup));
}

Format<mode_t> socket_mode_format() {
    static const std::vector<std::string_view> words{"0666", "0660", "0600"};
    return {listed(words), words, [](const Scalar& value) -> std::optional<mode_t> {
                if (!value.text || std::ranges::find(words, *value.text) == words.end())
                    return std::nullopt;
                mode_t mode = 0;
                std::from_chars(value.text->data(), value.text->data() + value.text->size(), mode,
                                8);
                return mode;
            }};
}

Format<std::string> job_name_format() {
    constexpr std::size_t most = 64;
    // `kfd-preempt renice 123` changes the job of a process.
    return {fmt::format("a name of 1 to {} letters, digits, \".\", \"_\" and \"-\", not of digits "
                        "alone",
                        most),
            {},
            [](const Scalar& value) -> std::optional<std::string> {
                constexpr std::string_view allowed = "abcdefghijklmnopqrstuvwxyz"
                                                     "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
                if (!value.text || value.text->empty() || value.text->size() > most ||
                    value.text->find_first_not_of(allowed) != std::string::npos ||
                    value.text->find_first_not_of("0123456789") == std::string::npos)
                    return std::nullopt;
                return value.text;
            }};
}

} // namespace xpreemptd
