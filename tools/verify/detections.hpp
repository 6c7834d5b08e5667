// SPDX-License-Identifier: MIT
// The faults that the driver detects by itself, and its lines in the kernel log.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace verify {

// Describes KFD_PREEMPT_DEGRADED_*: the faults detected, and what the driver disabled for them.
std::string detections_text(std::uint32_t degraded);

// While it lives, the driver looks into the HQDs in each stop, or does not (module parameter
// preempt_verify). Only root may change that. On 8 XCCs it is a register of each of 256 HQDs,
// within the stop, so figures of stops are without it.
class ThoroughDriver {
public:
    explicit ThoroughDriver(bool wanted);
    ~ThoroughDriver();
    ThoroughDriver(const ThoroughDriver&) = delete;
    ThoroughDriver& operator=(const ThoroughDriver&) = delete;

    [[nodiscard]] bool is_as_wanted() const { return as_wanted_; }

private:
    std::string before_; // empty: wasn't changed
    bool as_wanted_ = false;
};

// Lines of the kernel log since it was made that are about KFD or amdgpu. Root alone may read it.
class KernelLog {
public:
    KernelLog();
    ~KernelLog();
    KernelLog(const KernelLog&) = delete;
    KernelLog& operator=(const KernelLog&) = delete;

    [[nodiscard]] bool readable() const { return fd_ >= 0; }
    std::vector<std::string> new_lines();

private:
    int fd_ = -1;
};

} // namespace verify
