// SPDX-License-Identifier: MIT
// Another process with a busy queue, which this one stops from outside.
#pragma once

#include "spawn.hpp"

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <sys/types.h>
#include <tl/expected.hpp>
#include <vector>

namespace verify {

class Child {
public:
    // Modes of a child, by its first argument.
    static constexpr const char *busy = "child", *busy_with_xnack = "child-xnack",
                                *low_program = "child-low-program";
    // Its first line, with the id of its queue: it has begun.
    static constexpr const char* ready = "ready ";

    // Starts this program again as the child, by a command that becomes it if one is given, and
    // waits until it has begun. The error is the line that the child printed in place of `ready`:
    // "unsupported" if XNACK can't be turned on.
    static tl::expected<std::unique_ptr<Child>, std::string>
    start(std::uint32_t gpu_id, const std::string& mode = busy, Words by = {});
    // The same with another program, which also begins with a line `ready`.
    static tl::expected<std::unique_ptr<Child>, std::string> start(const Words& words);
    ~Child();
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;

    [[nodiscard]] pid_t pid() const { return pid_; }
    [[nodiscard]] const std::string& first_line() const { return first_line_; } // behind `ready`
    [[nodiscard]] std::uint32_t queue_id() const;
    std::string ask(const std::string& question); // of one line, and the answer
    bool stands_still() { return ask("still") == "yes"; }
    bool moves() { return ask("moves") == "yes"; }
    bool ends_right() { return ask("end") == "right"; }

private:
    Child() = default;
    std::string read_line();

    pid_t pid_ = -1;
    std::string first_line_;
    std::FILE* to_ = nullptr;
    std::FILE* from_ = nullptr;
};

// The child's side, on stdin and stdout. Returns its exit status.
int run_child(std::uint32_t gpu_id, bool xnack);

} // namespace verify
