// SPDX-License-Identifier: MIT
// The driver's tracepoint kfd_preempt_missed: the firmware mapped a queue and didn't see its
// packets.
#pragma once

#include <filesystem>
#include <string>

namespace verify {

// Counts, while it lives, how often the driver had to map queues of this process once more. In a
// trace buffer of its own, so that no other trace is read or stopped. Needs root and tracefs.
class MissedPackets {
public:
    MissedPackets();
    ~MissedPackets();
    MissedPackets(const MissedPackets&) = delete;
    MissedPackets& operator=(const MissedPackets&) = delete;

    // Why nothing can be counted; empty if it can.
    [[nodiscard]] const std::string& missing() const { return missing_; }
    [[nodiscard]] unsigned count() const;

private:
    std::filesystem::path buffer_;
    std::string missing_;
};

} // namespace verify
