// SPDX-License-Identifier: MIT
// How long the guest has run, whatever else the host had to do meanwhile.
#pragma once

#include <cstdint>

namespace vgpu::pace {

// The host's view of QEMU's process at a moment. Times count from an arbitrary one.
struct ProcessState {
    std::uint64_t wall_ns = 0;
    std::uint64_t cpu_ns = 0; // that its threads have had
    bool runnable = false;    // one of its threads has a CPU, or waits for one
};

// A guest proceeds in two ways: its CPU executes, which takes CPU time of the host, or it sleeps
// until a timer or an interrupt, which takes wall time. While QEMU waits for a CPU of the host, or
// for our answer, the guest doesn't proceed. For a guest with one CPU.
class GuestTime {
public:
    // The longest sleep that is counted between two looks: if there was more time in between, we
    // have waited for a CPU of the host ourselves, and can't know what the guest did.
    static constexpr std::uint64_t longest_sleep_ns = 2'000'000;

    explicit GuestTime(const ProcessState& now) : last_(now) {}

    // `asked`: the guest waits for our answer, so it didn't sleep until now.
    void advance(const ProcessState& now, bool asked);
    // The time until now was spent on our answer.
    void skip(const ProcessState& now) { last_ = now; }
    std::uint64_t ns() const { return ns_; }

private:
    ProcessState last_;
    std::uint64_t ns_ = 0;
};

} // namespace vgpu::pace
