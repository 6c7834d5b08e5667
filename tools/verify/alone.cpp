// SPDX-License-Identifier: MIT
#include "alone.hpp"

#include "kfd-preempt/output/names.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <ranges>
#include <sstream>

namespace verify {

using std::chrono::steady_clock;

namespace {
constexpr std::ptrdiff_t last_lines = 20;
} // namespace

void note_output(const Program& program, Checks& checks) {
    std::vector<std::string> lines;
    std::istringstream text(program.output());
    for (std::string line; std::getline(text, line);)
        lines.push_back(std::move(line));
    const auto skipped = std::max<std::ptrdiff_t>(std::ssize(lines) - last_lines, 0);
    for (const std::string& line : lines | std::views::drop(skipped))
        checks.note("it printed: " + cli::printable(line));
}

std::optional<steady_clock::duration> run_alone(const Words& words, Checks& checks) {
    const auto begin = steady_clock::now();
    const auto program = Program::start(words);
    if (!program) {
        checks.skip(program.error());
        return std::nullopt;
    }
    (*program)->wait();
    if (!(*program)->succeeded()) {
        checks.skip(fmt::format("alone it ends with {}, so nothing can be tested with it",
                                (*program)->end()));
        note_output(**program, checks);
        return std::nullopt;
    }
    return steady_clock::now() - begin;
}

} // namespace verify
