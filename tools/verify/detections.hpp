// SPDX-License-Identifier: MIT
// The faults that the driver detects by itself, and its lines in the kernel log.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace verify {

// Describes KFD_PREEMPT_DEGRADED_*: the faults detected, and what the driver disabled for them.
std::string detections_text(std::uint32_t degraded);

// While it lives, the driver looks into the HQDs after each stop (module parameter
// preempt_verify). Only root may turn that on.
class ThoroughDriver {
public:
    ThoroughDriver();
    ~ThoroughDriver();
    ThoroughDriver(const ThoroughDriver&) = delete;
    ThoroughDriver& operator=(const ThoroughDriver&) = delete;

    [[nodiscard]] bool on() const { return on_; }

private:
    std::string before_; // empty: wasn't changed
    bool on_ = false;
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
