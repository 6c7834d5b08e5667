// SPDX-License-Identifier: MIT
// Tables for people, JSON for programs, and the one place that writes them.
#include "output/output.hpp"

#include "output/names.hpp"
#include "xpreemptd/protocol/standard_streams.hpp"

#include <fmt/format.h>

namespace cli {

Report report_of(const Failure& failure) {
    Report report;
    report.exit = failure.exit;
    report.messages.push_back(failure.message);
    report.json["error"]["message"] = failure.message;
    report.json["error"]["errno"] =
        failure.errno_value == 0 ? Json(nullptr) : Json(errno_name(failure.errno_value));
    return report;
}

std::string Table::text() const {
    std::vector<std::size_t> widths;
    for (const auto& row : rows_) {
        widths.resize(std::max(widths.size(), row.size()));
        for (std::size_t column = 0; column < row.size(); ++column)
            widths[column] = std::max(widths[column], row[column].size());
    }
    std::string text;
    for (const auto& row : rows_) {
        std::string line;
        for (std::size_t column = 0; column < row.size(); ++column)
            line += fmt::format("{:<{}}  ", row[column], widths[column]);
        line.erase(line.find_last_not_of(' ') + 1);
        text += line + "\n";
    }
    return text;
}

std::string json_text(const Report& report) {
    Json json = Json::object();
    json["schema"] = 1;
    json.update(report.json);
    json["exit"] = static_cast<int>(report.exit);
    // `replace`: a stray byte must not become an exception; names go through printable() before.
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

void print_message(std::string_view message) {
    xpreemptd::write_message(fmt::format("kfd-preempt: {}\n", printable_message(message)));
}

Exit write_report(const Report& report, bool as_json) {
    const std::string lost = xpreemptd::write_output(as_json ? json_text(report) : report.text);
    if (!lost.empty())
        print_message(lost);
    if (!as_json || !lost.empty()) {
        for (const std::string& message : report.messages)
            print_message(message);
    }
    return lost.empty() || report.exit != Exit::ok ? report.exit : Exit::failed;
}

} // namespace cli
