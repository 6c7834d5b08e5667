// SPDX-License-Identifier: MIT
// Keeps samples in memory and as CSV: part,system,setting,quantity,repetition,value.
#include "results.hpp"

#include "../figures.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>
#include <fstream>
#include <set>
#include <sstream>

namespace cuda_report {

namespace {

constexpr const char* dash = "–";

std::vector<std::string> fields_of(const std::string& line) {
    std::vector<std::string> fields;
    std::istringstream stream(line);
    for (std::string field; std::getline(stream, field, ',');)
        fields.push_back(field);
    return fields;
}

bool parse(const std::string& text, double& value) {
    char* end = nullptr;
    value = std::strtod(text.c_str(), &end);
    return !text.empty() && *end == '\0' && std::isfinite(value);
}

} // namespace

bool Results::add_line(const std::string& part, const std::string& system, unsigned repetition,
                       const std::string& line) {
    const std::vector<std::string> fields = fields_of(line);
    double value = 0;
    if (fields.size() != 3 || !parse(fields[2], value))
        return false;
    values_[{part, system, fields[1], fields[0]}].push_back({repetition, value});
    return true;
}

bool Results::has(const std::string& part) const {
    return std::ranges::any_of(values_, [&](const auto& one) { return one.first.part == part; });
}

std::vector<double> Results::sorted(const Key& key) const {
    std::vector<double> all;
    if (const auto found = values_.find(key); found != values_.end())
        for (const Value& value : found->second)
            all.push_back(value.value);
    std::ranges::sort(all);
    return all;
}

std::vector<double> Results::medians(const Key& key) const {
    std::map<unsigned, std::vector<double>> by_repetition;
    if (const auto found = values_.find(key); found != values_.end())
        for (const Value& value : found->second)
            by_repetition[value.repetition].push_back(value.value);
    std::vector<double> medians;
    for (auto& [repetition, values] : by_repetition) {
        std::ranges::sort(values);
        medians.push_back(at_percent(values, 50));
    }
    std::ranges::sort(medians);
    return medians;
}

unsigned Results::repetitions(const std::string& part) const {
    std::set<unsigned> seen;
    for (const auto& [key, values] : values_)
        if (key.part == part)
            for (const Value& value : values)
                seen.insert(value.repetition);
    return static_cast<unsigned>(seen.size());
}

std::string Results::write(const std::string& file, const std::string& part,
                           const RunFacts& facts) const {
    std::ofstream out(file);
    out << "# machine " << facts.machine << "\n# commit " << facts.commit << "\n# command "
        << facts.command << "\n# seed " << facts.seed << "\n# fake " << (facts.fake ? 1 : 0)
        << "\npart,system,setting,quantity,repetition,value\n";
    for (const auto& [key, values] : values_)
        if (key.part == part)
            for (const Value& value : values)
                out << fmt::format("{},{},{},{},{},{:.9g}\n", key.part, key.system, key.setting,
                                   key.quantity, value.repetition, value.value);
    out.flush();
    return out ? "" : file + ": " + std::strerror(errno);
}

std::string Results::read(const std::string& file, RunFacts& facts) {
    std::ifstream in(file);
    if (!in)
        return file + ": " + std::strerror(errno);
    for (std::string line; std::getline(in, line);) {
        if (line.starts_with("# machine "))
            facts.machine = line.substr(10);
        else if (line.starts_with("# commit "))
            facts.commit = line.substr(9);
        else if (line.starts_with("# command "))
            facts.command.append(facts.command.empty() ? "" : "; ").append(line.substr(10));
        else if (line.starts_with("# seed "))
            facts.seed = line.substr(7);
        else if (line.starts_with("# fake "))
            facts.fake = facts.fake || line.substr(7) != "0";
        else if (const auto fields = fields_of(line); fields.size() == 6 && fields[0] != "part") {
            double value = 0;
            if (!parse(fields[5], value))
                return fmt::format("{}: not a number: {}", file, line);
            values_[{fields[0], fields[1], fields[2], fields[3]}].push_back(
                {static_cast<unsigned>(std::atoi(fields[4].c_str())), value});
        }
    }
    return "";
}

double at_percent(const std::vector<double>& sorted, unsigned percent) {
    return sorted.empty() ? std::nan("") : bench::percentile(sorted, percent);
}

std::string number(double value) {
    if (!std::isfinite(value))
        return dash;
    const double size = std::fabs(value);
    return fmt::format("{:.{}f}", value, size < 10 ? 2 : size < 100 ? 1 : 0);
}

std::string percentiles(const std::vector<double>& sorted, std::span<const unsigned> percents) {
    if (sorted.empty())
        return dash;
    std::string text;
    for (const unsigned percent : percents)
        text += (text.empty() ? "" : " / ") + number(at_percent(sorted, percent));
    return text;
}

} // namespace cuda_report
