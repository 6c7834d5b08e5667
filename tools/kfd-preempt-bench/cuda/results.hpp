// SPDX-License-Identifier: MIT
// Samples of all processes, by what they measure.
#pragma once

#include <compare>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace cuda_report {

struct Key {
    std::string part, system, setting, quantity;
    auto operator<=>(const Key&) const = default;
};

struct Value {
    unsigned repetition;
    double value;
};

// Facts of a run that its figures depend on.
struct RunFacts {
    std::string machine; // GPU, driver, clocks; processor, kernel
    std::string commit;
    std::string seed;
    std::string command;
    bool fake = false; // on the fake driver
};

class Results {
public:
    // A "quantity,setting,value" line of a process. Returns false if it is none.
    bool add_line(const std::string& part, const std::string& system, unsigned repetition,
                  const std::string& line);

    [[nodiscard]] bool has(const std::string& part) const;
    // Sorted; empty if nothing was measured.
    [[nodiscard]] std::vector<double> sorted(const Key& key) const;
    // The median of each repetition, sorted.
    [[nodiscard]] std::vector<double> medians(const Key& key) const;
    [[nodiscard]] unsigned repetitions(const std::string& part) const;

    // CSV, with the facts as comments in front. Return an error message, or "".
    [[nodiscard]] std::string write(const std::string& file, const std::string& part,
                                    const RunFacts& facts) const;
    std::string read(const std::string& file, RunFacts& facts);

private:
    std::map<Key, std::vector<Value>> values_;
};

// Nearest rank of a sorted, non-empty vector.
double at_percent(const std::vector<double>& sorted, unsigned percent);

// Three digits or so; a dash of NaN.
std::string number(double value);
// "p50 / p99" for the percents given; 100 is the maximum. A dash without samples.
std::string percentiles(const std::vector<double>& sorted, std::span<const unsigned> percents);

} // namespace cuda_report
