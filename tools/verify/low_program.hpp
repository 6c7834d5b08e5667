// SPDX-License-Identifier: MIT
// The low program of stage priorities, whatever launches its kernels: it answers questions on its
// stdin.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace verify {

// Kernels of equal work that run one after the other. Each of their waves counts its iterations in
// memory.
class Kernels {
public:
    virtual ~Kernels() = default;
    virtual void launch() = 0;
    [[nodiscard]] virtual std::uint64_t launched() const = 0;
    // Also those whose launch libxpreempt withholds.
    [[nodiscard]] virtual std::uint64_t submitted() const { return launched(); }
    [[nodiscard]] virtual std::uint64_t done() = 0;
    virtual bool wait() = 0; // false if they don't end within the patience
    [[nodiscard]] virtual std::uint64_t iterations() const = 0; // of all waves of all kernels
};

// Keeps two kernels in flight, from the question "launch" on. "pause" ends that and leaves them in
// flight, "drain" waits for their end, "counts" changes nothing. The answer to each of these is
// "ITERATIONS LAUNCHED DONE". The answer to "times" has the ns from the end of one kernel to the
// end of the next, since it was last asked.
class LowProgram {
public:
    explicit LowProgram(Kernels& kernels) : kernels_(kernels) {}
    // Keeps two kernels in flight while it may launch, and notes when each kernel ends.
    void step();
    [[nodiscard]] std::string answer(const std::string& question);
    [[nodiscard]] bool idle() { return !launches_ && kernels_.done() == kernels_.launched(); }

private:
    Kernels& kernels_;
    bool launches_ = false;
    std::uint64_t seen_ = 0; // done
    std::optional<std::chrono::steady_clock::time_point> last_end_;
    std::vector<std::int64_t> times_ns_;
};

// The next line on stdin, for which the low program does not wait: it goes on meanwhile. Nothing
// once stdin is closed.
std::optional<std::string> next_question(LowProgram& program);

} // namespace verify
