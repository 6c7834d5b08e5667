// SPDX-License-Identifier: MIT
// Another program that this one starts.
#pragma once

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
    static tl::expected<std::unique_ptr<Program>, std::string>
    start(std::vector<std::string> words);
    ~Program();
    Program(const Program&) = delete;
    Program& operator=(const Program&) = delete;

    [[nodiscard]] pid_t pid() const { return pid_; }
    bool ended(); // doesn't wait
    void wait();
    // Returns how it ended: "exit status 0", "signal 11 (Segmentation fault)". It must have ended.
    [[nodiscard]] std::string end() const;
    [[nodiscard]] bool succeeded() const { return status_ == 0; }
    // stdout and stderr together.
    [[nodiscard]] std::string output() const;

private:
    Program() = default;
    pid_t pid_ = -1;
    int output_ = -1;
    std::optional<int> status_; // as waitpid(2) has it
};

// The path of kfd-preempt, as it was started.
std::string command_name();

// Runs it to its end; true if it exits with 0.
bool succeeds(std::vector<std::string> words);

} // namespace verify
