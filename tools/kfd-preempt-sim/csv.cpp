// SPDX-License-Identifier: MIT
// One line for each row of each comparison, with all digits that matter.
#include "report.hpp"

#include "xpreemptd/protocol/attributes.hpp"

#include <fmt/format.h>

namespace sim {

namespace {

std::string quoted(std::string_view text) {
    if (text.find_first_of(",\"\n") == std::string_view::npos)
        return std::string(text);
    std::string result = "\"";
    for (const char c : text) {
        if (c == '"')
            result += '"';
        result += c;
    }
    return result + "\"";
}

std::string_view kind_of(const Row& row) {
    return row.of == Row::Of::job ? "job" : row.of == Row::Of::band ? "band" : "all";
}

std::string line_of(const Comparison& comparison, const Row& row) {
    const Measures& of = row.measures;
    return fmt::format("{},{},{},{},{},{},{:.6g},{:.6g},{:.6g},{:.6g},{:.6g},{:.6g},{:.6g},{:.6g},{"
                       ":.6g},{:.6g},{:.6g},"
                       "{:.6g},{:.6g},{:.6g},{:.6g},{:.6g},{:.6g},{:.6g},{:.6g},{},,\n",
                       quoted(comparison.name), quoted(row.policy), kind_of(row), quoted(row.jobs),
                       row.of == Row::Of::all ? "" : xpreemptd::name_of(row.band), of.requests,
                       of.rate, of.mean, of.p50, of.p99, of.max, of.mean_over_alone,
                       of.p99_over_alone, of.throughput_over_free, of.work_over_free, of.share,
                       of.stops, of.preemptions, of.longest_wait, of.first_token_mean,
                       of.first_token_p99, of.first_token_over_alone, of.token_mean, of.token_p99,
                       of.token_over_alone, row.origin);
}

std::string number(const std::optional<double>& value) {
    return value ? fmt::format("{:.6g}", *value) : "";
}

std::string line_of(const Comparison& comparison, const Published& row) {
    return fmt::format("{},{},published,{},,,,,,,,{},{},{},,,,{},,,,{},,,{},published,{},{}\n",
                       quoted(comparison.name), quoted(row.system), quoted(row.jobs),
                       number(row.mean_over_alone), number(row.p99_over_alone),
                       number(row.throughput_over_free), number(row.preemptions),
                       number(row.first_token_over_alone), number(row.token_over_alone),
                       quoted(row.hardware), quoted(row.source));
}

} // namespace

std::string csv_of(std::span<const Comparison> comparisons) {
    std::string text =
        "scenario,policy,of,jobs,band,requests,requests_s,mean_ms,p50_ms,p99_ms,max_ms,"
        "mean_over_alone,p99_over_alone,throughput_over_free,work_over_free,share,stops_per_"
        "request,"
        "preemptions_per_request,longest_wait_ms,ttft_mean_ms,ttft_p99_ms,ttft_over_alone,"
        "tpot_mean_ms,tpot_p99_ms,tpot_over_alone,origin,hardware,source\n";
    for (const Comparison& comparison : comparisons) {
        for (const Row& row : comparison.rows)
            text += line_of(comparison, row);
        for (const Published& row : comparison.published)
            text += line_of(comparison, row);
    }
    return text;
}

} // namespace sim
