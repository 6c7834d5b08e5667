// SPDX-License-Identifier: MIT
// xpreemptd, as this machine has it.
#pragma once

#include "program.hpp"

namespace verify {

// Nothing if none runs.
std::string policy_of_daemon();

// One of this program's own, without rules: only `run --band` and renice choose a band. Ends with
// this.
class Daemon {
public:
    // Returns once it answers.
    static tl::expected<std::unique_ptr<Daemon>, std::string> start();
    ~Daemon();
    Daemon(const Daemon&) = delete;
    Daemon& operator=(const Daemon&) = delete;

private:
    explicit Daemon(std::unique_ptr<Program> program) : program_(std::move(program)) {}
    std::unique_ptr<Program> program_;
};

} // namespace verify
