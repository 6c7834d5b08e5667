// SPDX-License-Identifier: MIT
// Kernels of spin.s in a stream of HIP, with or without an xqueue in front of it.
#pragma once

#include "hip.hpp"
#include "low_program.hpp"
#include "spin.hpp"

#include <chrono>
#include <cstdint>

namespace verify {

// Throws std::runtime_error for a call that fails: the program ends with its text.
class SpinStream : public Kernels {
public:
    // function: spin, of the loaded code object. The two must outlive it.
    SpinStream(const Hip& hip, const Library* library, void* function, const spin::Shape& shape,
               std::chrono::milliseconds patience);

    void launch() override;
    [[nodiscard]] std::uint64_t launched() const override { return launched_; }
    [[nodiscard]] std::uint64_t submitted() const override { return submitted_; }
    [[nodiscard]] std::uint64_t done() override {
        return iterations() / spin::iterations_of(shape_);
    }
    bool wait() override;
    [[nodiscard]] std::uint64_t iterations() const override;
    [[nodiscard]] bool complete() { return done() == submitted_; }

    // Puts an xqueue in front of the stream, with that level as its highest, and takes it away.
    void schedule(std::uint32_t max_level, std::int32_t priority);
    void unschedule();
    void suspend(std::uint32_t flags);
    void resume();

private:
    static int launch_now(void* stream, void* self);
    void must_be_done(int error, const char* call) const;

    const Hip& hip_;
    const Library* library_;
    void* function_;
    void* stream_ = nullptr;
    xp_xqueue_t xqueue_{};
    bool scheduled_ = false;
    spin::Shape shape_;
    std::chrono::milliseconds patience_;
    std::uint32_t* words_ = nullptr; // one of each wave, in host memory
    std::uint64_t submitted_ = 0, launched_ = 0;
};

} // namespace verify
