// SPDX-License-Identifier: MIT
// A process that measures one part of one system, and its start.
#pragma once

#include "parts.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace cuda_report {

constexpr int no_gpu = 69; // EX_UNAVAILABLE: no driver, no GPU, or the stand-in is missing

struct Work {
    std::string part; // or "machine": prints the GPU's facts
    std::string system;
    std::uint64_t seed = 1;
    bool quick = false;
};

// The arguments that make kfd-preempt-bench do that work.
std::vector<std::string> arguments_of(const Work& work);

// Does the work in this process. Prints samples to standard output and errors to standard error.
// Returns the exit status.
int do_work(const Work& work);

// Does it in a process of its own and hands each line of its output on. Returns its exit status, or
// 128 and the signal that killed it.
int start_work(const Work& work, const std::function<void(const std::string&)>& take_line);

} // namespace cuda_report
