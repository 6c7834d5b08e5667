// SPDX-License-Identifier: MIT
// Wraps at blanks. Commands keep their lines, for copying.
#include "verbs/doctor/finding.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace cli {

namespace {

constexpr std::size_t columns = 80;

const char* verdict_name(Verdict verdict) {
    switch (verdict) {
    case Verdict::ok: return "ok";
    case Verdict::warn: return "warn";
    case Verdict::fail: return "fail";
    }
    return "";
}

// The text behind `begin`, further lines below it.
std::string wrapped(std::string begin, std::string_view text) {
    const std::string indent(begin.size(), ' ');
    std::string lines, line = std::move(begin);
    bool has_word = false;
    while (!text.empty()) {
        const std::string_view word = text.substr(0, text.find(' '));
        text.remove_prefix(std::min(text.size(), word.size() + 1));
        if (has_word && line.size() + 1 + word.size() > columns) {
            lines += line + "\n";
            line = indent;
            has_word = false;
        }
        line += has_word ? " " : "";
        line += word;
        has_word = true;
    }
    return lines + line + "\n";
}

std::string lines_of_command(std::string_view command) {
    std::string lines = "      $ ";
    for (const char c : command) {
        lines += c;
        if (c == '\n')
            lines += std::string(8, ' ');
    }
    return lines + "\n";
}

std::string text_of(const Finding& finding) {
    std::string text = finding_line(verdict_name(finding.verdict), finding.name, finding.text);
    if (!finding.fix.text.empty())
        text += wrapped("      fix: ", finding.fix.text);
    for (const std::string& command : finding.fix.commands)
        text += lines_of_command(command);
    return text;
}

Json json_of(const Finding& finding) {
    return {{"name", finding.name},
            {"verdict", verdict_name(finding.verdict)},
            {"text", finding.text},
            {"fix", finding.fix.text.empty() ? Json(nullptr) : Json(finding.fix.text)},
            {"commands", finding.fix.commands}};
}

} // namespace

std::string finding_line(std::string_view verdict, std::string_view name, std::string_view text) {
    return wrapped(fmt::format("{:<5} {:<12} ", verdict, name), text);
}

Report report_of_findings(const std::vector<Finding>& findings) {
    Report report;
    Json items = Json::array();
    Verdict worst = Verdict::ok;
    for (const Finding& finding : findings) {
        report.text += text_of(finding);
        items.push_back(json_of(finding));
        worst = std::max(worst, finding.verdict);
        if (finding.verdict == Verdict::fail && report.exit == Exit::ok)
            report.exit = finding.exit;
    }
    report.text += report.exit == Exit::ok ? "preemption works on this machine\n"
                                           : "preemption does not work here yet\n";
    report.json["verdict"] = verdict_name(worst);
    report.json["checks"] = std::move(items);
    return report;
}

} // namespace cli
