// SPDX-License-Identifier: MIT
// Another program that this one starts.
#pragma once

#include "spawn.hpp"

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <sys/types.h>
#include <tl/expected.hpp>
#include <vector>

namespace verify {

// The program is found by PATH and gets no input. Its output is kept in memory. The destructor
// kills it if it still runs.
class Program {
public:
    // environment: see spawn().
    static tl::expected<std::unique_ptr<Program>, std::string>
    start(const Words& words, const Words* environment = nullptr);
    ~Program();
    Program(const Program&) = delete;
    Program& operator=(const Program&) = delete;

    [[nodiscard]] pid_t pid() const { return pid_; }
    bool ended(); // doesn't wait
    void wait();
    // Returns how long it took from its start, or nothing if it has not ended by then.
    std::optional<std::chrono::nanoseconds> wait_for(std::chrono::seconds patience);
    // Returns how it ended: "exit status 0", "signal 11 (Segmentation fault)". It must have ended.
    [[nodiscard]] std::string end() const;
    [[nodiscard]] bool succeeded() const { return status_ == 0; }
    // stdout and stderr together.
    [[nodiscard]] std::string output() const;

private:
    Program() = default;
    pid_t pid_ = -1;
    int output_ = -1;
    std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
    std::optional<int> status_; // as waitpid(2) has it
};

// The path of kfd-preempt, as it was started.
std::string command_name();

// Runs it to its end; true if it exits with 0.
bool succeeds(const Words& words);

} // namespace verify
