// SPDX-License-Identifier: MIT
// Parses CSV without quotes.
#include "trace_file.hpp"

#include "files.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <fmt/format.h>
#include <optional>
#include <type_traits>
#include <utility>

namespace sim {

namespace {

// Some 20 hours of one request a millisecond.
constexpr std::size_t most_bytes = std::size_t{256} << 20U;

std::string_view trimmed(std::string_view text) {
    constexpr std::string_view blanks = " \t\r\"";
    const std::size_t first = text.find_first_not_of(blanks);
    if (first == std::string_view::npos)
        return {};
    return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

std::vector<std::string_view> cells_of(std::string_view line) {
    std::vector<std::string_view> cells;
    for (;;) {
        const std::size_t comma = line.find(',');
        cells.push_back(trimmed(line.substr(0, comma)));
        if (comma == std::string_view::npos)
            return cells;
        line.remove_prefix(comma + 1);
    }
}

template <typename Number> std::optional<Number> number_of(std::string_view text) {
    Number number{};
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
    if (text.empty() || parsed.ec != std::errc{} || parsed.ptr != text.data() + text.size())
        return std::nullopt;
    if constexpr (std::is_floating_point_v<Number>)
        if (!std::isfinite(number)) // "nan" and "inf" are numbers to from_chars()
            return std::nullopt;
    return number;
}

// Minutes east of UTC of "", "Z", "+hh", "+hhmm" or "+hh:mm".
std::optional<int> zone_of(std::string_view text) {
    if (text.empty() || text == "Z")
        return 0;
    const bool with_colon = text.size() == 6 && text[3] == ':';
    if ((text[0] != '+' && text[0] != '-') || (!with_colon && text.size() != 3 && text.size() != 5))
        return std::nullopt;
    const auto hours = number_of<unsigned>(text.substr(1, 2));
    const auto minutes =
        text.size() == 3 ? std::optional(0U) : number_of<unsigned>(text.substr(with_colon ? 4 : 3));
    if (!hours || !minutes || *hours > 14 || *minutes > 59)
        return std::nullopt;
    const int offset = static_cast<int>(*hours * 60 + *minutes);
    return text[0] == '-' ? -offset : offset;
}

bool has_only(std::string_view text, std::string_view characters) {
    return text.find_first_not_of(characters) == std::string_view::npos;
}

// Seconds since 1970 of "YYYY-MM-DD hh:mm:ss.sss" and a zone, as ns.
std::optional<Time> timestamp_of(std::string_view text) {
    if (text.size() < 19 || text[4] != '-' || text[7] != '-' ||
        (text[10] != ' ' && text[10] != 'T') || text[13] != ':' || text[16] != ':')
        return std::nullopt;
    const std::size_t end = std::min(text.find_first_of("+-Z", 17), text.size());
    const std::string_view of_year = text.substr(0, 4), of_minute = text.substr(17, end - 17);
    // No sign, and no exponent.
    if (!has_only(of_year, "0123456789") || !has_only(of_minute, "0123456789."))
        return std::nullopt;
    const auto year = number_of<int>(of_year);
    const auto month = number_of<unsigned>(text.substr(5, 2));
    const auto day = number_of<unsigned>(text.substr(8, 2));
    const auto hour = number_of<int>(text.substr(11, 2)),
               minute = number_of<int>(text.substr(14, 2));
    const auto seconds = number_of<double>(of_minute);
    const auto zone = zone_of(text.substr(end));
    if (!year || !month || !day || !hour || !minute || !seconds || !zone || *hour < 0 ||
        *hour > 23 || *minute < 0 || *minute > 59 || *seconds < 0 || *seconds >= 61)
        return std::nullopt;
    const std::chrono::year_month_day date{std::chrono::year{*year}, std::chrono::month{*month},
                                           std::chrono::day{*day}};
    if (!date.ok())
        return std::nullopt;
    const auto days = std::chrono::sys_days{date}.time_since_epoch().count();
    return ((Time{days} * 24 + *hour) * 60 + *minute - *zone) * 60 * second +
           round_time(*seconds * 1e9);
}

std::optional<Time> time_of(std::string_view text) {
    if (const auto seconds = number_of<double>(text); seconds && *seconds >= 0 && *seconds < 1e9)
        return round_time(*seconds * 1e9);
    return timestamp_of(text);
}

// The zero of a time. Dates without a zone and dates with one have two zeros, and the file does not
// say how far apart they are.
enum class Clock : std::uint8_t { seconds, date, date_with_zone };

Clock clock_of(std::string_view time) {
    if (time.find(':') == std::string_view::npos)
        return Clock::seconds;
    return time.find_first_of("+-Z", 11) == std::string_view::npos ? Clock::date
                                                                   : Clock::date_with_zone;
}

struct Columns {
    std::size_t count = 0;
    std::optional<std::size_t> at, work, context, generated;
    bool twice = false;           // one of these
    std::optional<Clock> clock{}; // of the lines so far
};

Columns columns_of(std::string_view header) {
    Columns columns;
    const auto cells = cells_of(header);
    columns.count = cells.size();
    for (std::size_t i = 0; i < cells.size(); ++i)
        for (const auto& [name, column] :
             {std::pair("TIMESTAMP", &columns.at), std::pair("Work", &columns.work),
              std::pair("ContextTokens", &columns.context),
              std::pair("GeneratedTokens", &columns.generated)})
            if (cells[i] == name)
                columns.twice = std::exchange(*column, i).has_value() || columns.twice;
    return columns;
}

std::optional<TraceEntry> entry_of(std::string_view line, Columns& columns) {
    const auto cells = cells_of(line);
    if (cells.size() > columns.count) // such as a comma inside of a number
        return std::nullopt;
    const auto cell = [&](std::size_t i) { return i < cells.size() ? cells[i] : ""; };
    const std::string_view when = columns.at ? cell(*columns.at) : "";
    const auto at = time_of(when);
    if (!at)
        return std::nullopt;
    const Clock clock = clock_of(when);
    if (columns.clock.value_or(clock) != clock)
        return std::nullopt;
    columns.clock = clock;
    TraceEntry entry{*at, 0, 0, 0};
    if (columns.work) {
        const auto work = number_of<double>(cell(*columns.work));
        if (!work || *work <= 0 || *work > 1e6)
            return std::nullopt;
        entry.work = round_time(*work * 1e9);
    }
    for (const auto& [column, tokens] : {std::pair(columns.context, &entry.context),
                                         std::pair(columns.generated, &entry.generated)}) {
        if (!column)
            continue;
        const auto count = number_of<std::uint32_t>(cell(*column));
        if (!count)
            return std::nullopt;
        *tokens = std::max(*count, 1U);
    }
    return entry;
}

} // namespace

Answer<std::vector<TraceEntry>> parse_trace(std::string_view text, const std::string& file) {
    std::vector<TraceEntry> entries;
    std::optional<Columns> columns;
    for (std::size_t number = 1; !text.empty(); ++number) {
        const std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(text.size(), line.size() + 1));
        if (trimmed(line).empty() || line.starts_with('#'))
            continue;
        if (!columns) {
            columns = columns_of(line);
            if (!columns->at)
                return tl::make_unexpected(fmt::format(
                    "{}:{}: the header has no column TIMESTAMP, expected TIMESTAMP and, if known, "
                    "ContextTokens, GeneratedTokens, Work",
                    file, number));
            if (columns->twice)
                return tl::make_unexpected(
                    fmt::format("{}:{}: the header has a column twice", file, number));
            continue;
        }
        const auto entry = entry_of(line, *columns);
        if (!entry)
            return tl::make_unexpected(fmt::format(
                "{}:{}: not an arrival: expected a time such as \"2023-11-16 18:17:03.979\" or "
                "seconds, as in the lines above, whole token counts, and Work in seconds above 0",
                file, number));
        entries.push_back(*entry);
    }
    if (entries.empty())
        return tl::make_unexpected(fmt::format("{}: no arrivals", file));
    std::ranges::stable_sort(entries, {}, &TraceEntry::at);
    const Time first = entries.front().at;
    for (TraceEntry& entry : entries)
        entry.at -= first;
    return entries;
}

Answer<std::vector<TraceEntry>> read_trace(const std::filesystem::path& file) {
    const auto text = read_file(file, most_bytes);
    if (!text)
        return tl::make_unexpected(text.error());
    return parse_trace(*text, file.string());
}

} // namespace sim
