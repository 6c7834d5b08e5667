// SPDX-License-Identifier: MIT
#include "low_program.hpp"

#include <array>
#include <cstdio>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <unistd.h>

namespace verify {

using std::chrono::steady_clock;

namespace {

constexpr std::uint64_t kept_in_flight = 2;
constexpr std::chrono::microseconds step_interval(200);

} // namespace

void LowProgram::step() {
    for (; seen_ < kernels_.done(); ++seen_) {
        const auto now = steady_clock::now();
        times_ns_.push_back(std::chrono::nanoseconds(now - last_end_.value_or(now)).count());
        last_end_ = now;
    }
    while (launches_ && kernels_.submitted() - kernels_.done() < kept_in_flight)
        kernels_.launch();
}

std::string LowProgram::answer(const std::string& question) {
    if (question == "times") {
        std::string times = fmt::format("{}", fmt::join(times_ns_, " "));
        times_ns_.clear();
        last_end_.reset();
        return times;
    }
    step(); // a pause leaves two kernels in flight
    if (question == "launch") {
        launches_ = true;
        last_end_ = last_end_.value_or(steady_clock::now());
    } else if (question == "pause" || question == "drain") {
        launches_ = false;
    }
    if (question == "drain" && !kernels_.wait())
        return "its kernels do not end";
    step();
    return fmt::format("{} {} {}", kernels_.iterations(), kernels_.launched(), kernels_.done());
}

std::optional<std::string> next_question(LowProgram& program) {
    const timespec interval{0, std::chrono::nanoseconds(step_interval).count()};
    for (;;) {
        program.step();
        pollfd questions{STDIN_FILENO, POLLIN, 0};
        if (::ppoll(&questions, 1, program.idle() ? nullptr : &interval, nullptr) > 0)
            break;
    }
    std::array<char, 64> line{};
    if (std::fgets(line.data(), static_cast<int>(line.size()), stdin) == nullptr)
        return std::nullopt;
    std::string question(line.data());
    while (question.ends_with('\n'))
        question.pop_back();
    return question;
}

} // namespace verify
