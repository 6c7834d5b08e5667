// SPDX-License-Identifier: MIT
// The report: a table for people, JSON for programs, every sample for who doubts.
#include "figures.hpp"

#include <algorithm>
#include <array>
#include <bench_commit.hpp>
#include <cstdlib>
#include <fstream>
#include <sys/utsname.h>
#include <thread>

namespace bench {

namespace {

const char* name(Kind kind) {
    switch (kind) {
    case Kind::measured: return "measured";
    case Kind::emulated: return "emulated";
    case Kind::predicted: return "predicted";
    }
    return "";
}

struct Value {
    const char* name;
    double value;
    Statistic statistic;
};

std::array<Value, 4> values_of(const Figure& figure) {
    std::vector<double> sorted = figure.samples;
    std::ranges::sort(sorted);
    return {{{"p50", percentile(sorted, 50), Statistic::p50},
             {"p90", percentile(sorted, 90), Statistic::none},
             {"p99", percentile(sorted, 99), Statistic::p99},
             {"max", sorted.back(), Statistic::none}}};
}

std::string quoted(const std::string& text) {
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\')
            out += '\\';
        out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
    return out + '"';
}

std::string cell(const Figure& figure, Kind kind, double value) {
    if (figure.kind != kind)
        return "-";
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%.2f", value);
    return text.data();
}

void print_row(const Figure& figure, const Value& value, bool first) {
    std::printf("%-34s %-5s %-4s %6zu %12s %12s %12s", first ? figure.name.c_str() : "",
                figure.unit.c_str(), value.name, figure.samples.size(),
                cell(figure, Kind::measured, value.value).c_str(),
                cell(figure, Kind::emulated, value.value).c_str(),
                cell(figure, Kind::predicted, value.value).c_str());
    if (value.statistic != Statistic::none && value.statistic == figure.target_of)
        std::printf("  <= %-8g %s", figure.target, value.value <= figure.target ? "met" : "MISSED");
    std::printf("\n");
}

std::string processor() {
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line);)
        if (line.starts_with("model name") && line.find(": ") != std::string::npos)
            return line.substr(line.find(": ") + 2);
    return "unknown processor";
}

} // namespace

double percentile(const std::vector<double>& sorted, unsigned percent) {
    const std::size_t rank = (sorted.size() * percent + 99) / 100;
    return sorted[std::max<std::size_t>(rank, 1) - 1];
}

std::string machine_line() {
    utsname system{};
    uname(&system);
    std::array<double, 3> load{};
    if (getloadavg(load.data(), 3) < 1)
        load[0] = -1;
    std::array<char, 16> loaded{};
    std::snprintf(loaded.data(), loaded.size(), "%.1f", load[0]);
    return processor() + ", " + std::to_string(std::thread::hardware_concurrency()) + " cores, " +
           system.sysname + " " + system.release + ", load " + loaded.data();
}

void print_text(const Run& run) {
    std::printf("machine  %s\ncommit   %s\nseed     %llu\n\n", machine_line().c_str(), commit,
                static_cast<unsigned long long>(run.seed));
    std::printf("%-34s %-5s %-4s %6s %12s %12s %12s  %s\n", "figure", "unit", "", "n", "measured",
                "emulated", "predicted", "target");
    for (const Figure& figure : run.figures) {
        bool first = true;
        for (const Value& value : values_of(figure)) {
            print_row(figure, value, first);
            first = false;
        }
    }
    std::printf("\nmethod\n");
    for (const Figure& figure : run.figures)
        std::printf("  %s: %s\n", figure.name.c_str(), figure.method.c_str());
    for (const std::string& suite : run.skipped)
        std::printf("skipped  %s\n", suite.c_str());
}

void print_json(const Run& run) {
    std::printf("{\"machine\": %s, \"commit\": %s, \"seed\": %llu, \"figures\": [",
                quoted(machine_line()).c_str(), quoted(commit).c_str(),
                static_cast<unsigned long long>(run.seed));
    const char* separator = "\n";
    for (const Figure& figure : run.figures) {
        std::printf("%s{\"name\": %s, \"unit\": %s, \"kind\": \"%s\", \"method\": %s, \"n\": %zu",
                    separator, quoted(figure.name).c_str(), quoted(figure.unit).c_str(),
                    name(figure.kind), quoted(figure.method).c_str(), figure.samples.size());
        for (const Value& value : values_of(figure)) {
            std::printf(", \"%s\": %.6g", value.name, value.value);
            if (value.statistic != Statistic::none && value.statistic == figure.target_of)
                std::printf(", \"target_of\": \"%s\", \"target\": %.6g, \"met\": %s", value.name,
                            figure.target, value.value <= figure.target ? "true" : "false");
        }
        std::printf("}");
        separator = ",\n";
    }
    std::printf("\n], \"skipped\": [");
    separator = "";
    for (const std::string& suite : run.skipped) {
        std::printf("%s%s", separator, quoted(suite).c_str());
        separator = ", ";
    }
    std::printf("]}\n");
}

bool write_raw(const Run& run, std::FILE* file) {
    std::fprintf(file, "# machine %s\n# commit %s\n# seed %llu\nfigure,unit,kind,index,value\n",
                 machine_line().c_str(), commit, static_cast<unsigned long long>(run.seed));
    for (const Figure& figure : run.figures)
        for (std::size_t i = 0; i < figure.samples.size(); ++i)
            std::fprintf(file, "%s,%s,%s,%zu,%.9g\n", figure.name.c_str(), figure.unit.c_str(),
                         name(figure.kind), i, figure.samples[i]);
    return std::fflush(file) == 0 && std::ferror(file) == 0;
}

} // namespace bench
