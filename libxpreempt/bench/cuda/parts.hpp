// SPDX-License-Identifier: MIT
// The parts of the benchmark. A process runs one part of one system, once.
#pragma once

#include "system.hpp"

#include <cstdint>
#include <cstdio>
#include <span>
#include <string>

namespace cuda {

// How much a process measures.
struct Amounts {
    std::uint32_t submits = 100'000; // commands of the submit stream
    std::uint32_t burst = 500;       // commands between two waits
    std::uint32_t drained = 500'000; // commands submitted while suspended
    double wall_ms = 150;            // of kernels back to back, for each kernel time
    std::uint32_t suspends = 60;     // for each kernel time
    std::uint32_t idle_submits = 200;
    double window_ms = 400;       // of foreground requests
    std::uint32_t counted = 4096; // commands whose driver calls are counted
    std::uint32_t marks = 2000;   // of each kind

    static Amounts quick() { return {2000, 100, 5000, 5, 3, 10, 20, 512, 100}; }
};

// Writes "quantity,setting,value" lines.
class Samples {
public:
    explicit Samples(std::FILE* file) : file_(file) {}
    void add(const char* quantity, const std::string& setting, double value) const {
        std::fprintf(file_, "%s,%s,%.9g\n", quantity, setting.c_str(), value);
    }

private:
    std::FILE* file_;
};

struct Measurement {
    const Device& device;
    const System& system;
    const Amounts& amounts;
    std::uint64_t seed; // the same for all systems of a repetition
    const Samples& samples;
};

struct Part {
    const char* name;
    bool (*measures)(const System&);
    void (*run)(const Measurement&);
};

std::span<const Part> all_parts();
const Part* find_part(const std::string& name); // null: there is none

void measure_submits(const Measurement& with);
void measure_drain(const Measurement& with);
void measure_wall_time(const Measurement& with);
void measure_suspends(const Measurement& with);
void measure_idle_starts(const Measurement& with);
void measure_foreground(const Measurement& with);
void measure_markers(const Measurement& with);
void count_driver_calls(const Measurement& with); // of the fake driver

} // namespace cuda
