// SPDX-License-Identifier: MIT
// Reads tracefs.
#include "missed_packets.hpp"

#include <fmt/format.h>
#include <fstream>
#include <system_error>
#include <unistd.h>

namespace verify {

namespace {
constexpr const char* event = "events/kfd_preempt/kfd_preempt_missed/enable";
} // namespace

MissedPackets::MissedPackets()
    : buffer_(fmt::format("/sys/kernel/tracing/instances/kfd-preempt-verify.{}", ::getpid())) {
    std::error_code error;
    std::filesystem::create_directory(buffer_, error);
    if (error) {
        missing_ = fmt::format("{}: {}", buffer_.string(), error.message());
        buffer_.clear();
        return;
    }
    std::ofstream enable(buffer_ / event);
    enable << "1" << std::flush;
    if (!enable)
        missing_ = fmt::format("{} cannot be written", (buffer_ / event).string());
}

MissedPackets::~MissedPackets() {
    if (!buffer_.empty())
        ::rmdir(buffer_.c_str());
}

unsigned MissedPackets::count() const {
    const std::string ours = fmt::format("kfd_preempt_missed: pid={} ", ::getpid());
    unsigned count = 0;
    std::ifstream trace(buffer_ / "trace");
    for (std::string line; std::getline(trace, line);)
        count += line.find(ours) != std::string::npos ? 1 : 0;
    return count;
}

} // namespace verify
