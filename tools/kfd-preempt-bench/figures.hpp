// SPDX-License-Identifier: MIT
// Figures with their samples, and the report of them.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace bench {

// Where a figure comes from, which is never mixed.
enum class Kind {
    measured,  // on this machine, in real time
    emulated,  // on the virtual-time device
    predicted, // by a formula
};

// The statistic that the target applies to.
enum class Statistic { none, p50, p99 };

struct Figure {
    std::string name; // of [a-z0-9_], for programs
    std::string unit;
    Kind kind;
    std::string method;
    Statistic target_of = Statistic::none;
    double target = 0; // at most
    std::vector<double> samples{};
};

struct Run {
    std::uint64_t seed;
    std::vector<Figure> figures;
    std::vector<std::string> skipped; // suites, and why
};

// Nearest rank; samples sorted and not empty.
double percentile(const std::vector<double>& sorted, unsigned percent);

// Processor, cores, kernel, load: what a figure means depends on them.
std::string machine_line();

void print_text(const Run& run);
void print_json(const Run& run);
bool write_raw(const Run& run, std::FILE* file);

} // namespace bench
