// SPDX-License-Identifier: MIT
// Reads preempt_verify and /dev/kmsg.
#include "detections.hpp"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fstream>
#include <kfd_preempt.h>
#include <unistd.h>

namespace verify {

namespace {
constexpr const char* parameter = "/sys/module/amdgpu/parameters/preempt_verify";
} // namespace

std::string detections_text(std::uint32_t degraded) {
    std::vector<std::string> found;
    const auto add = [&](std::uint32_t bit, const char* text) {
        if ((degraded & bit) != 0)
            found.emplace_back(text);
    };
    add(KFD_PREEMPT_DEGRADED_FENCE,
        "unmaps were late or failed (fence): it no longer preempts on that GPU");
    add(KFD_PREEMPT_DEGRADED_STILL_ACTIVE,
        "a queue was in an HQD after its unmap was confirmed (still-active): it no longer preempts "
        "on that GPU");
    add(KFD_PREEMPT_DEGRADED_GRACE,
        "the short grace period does not reach every XCC (grace): it no longer offers FAST");
    add(KFD_PREEMPT_DEGRADED_MES, "a call of the MES failed (mes): it no longer preempts");
    return fmt::format("{}", fmt::join(found, "; "));
}

ThoroughDriver::ThoroughDriver(bool wanted) {
    std::string value;
    std::ifstream(parameter) >> value;
    as_wanted_ = (value == "Y" || value == "1") == wanted;
    if (value.empty() || as_wanted_)
        return;
    std::ofstream file(parameter);
    file << (wanted ? "1" : "0") << std::flush;
    as_wanted_ = file.good();
    if (as_wanted_)
        before_ = value;
}

ThoroughDriver::~ThoroughDriver() {
    if (!before_.empty())
        std::ofstream(parameter) << before_ << std::flush;
}

KernelLog::KernelLog() : fd_(::open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC)) {
    if (fd_ >= 0)
        ::lseek(fd_, 0, SEEK_END);
}

KernelLog::~KernelLog() {
    if (fd_ >= 0)
        ::close(fd_);
}

std::vector<std::string> KernelLog::new_lines() {
    std::vector<std::string> lines;
    std::array<char, 8192> record{};
    for (;;) {
        const ssize_t got = fd_ < 0 ? 0 : ::read(fd_, record.data(), record.size());
        if (got < 0 && errno == EPIPE)
            continue; // records were overwritten before they were read
        if (got <= 0)
            return lines;
        // "PRIORITY,SEQUENCE,MICROSECONDS,FLAGS;TEXT\n", with lines " KEY=VALUE" after it.
        const std::string text(record.data(), static_cast<std::size_t>(got));
        const std::size_t begin = text.find(';');
        if (begin == std::string::npos)
            continue;
        const std::string line = text.substr(begin + 1, text.find('\n') - begin - 1);
        if (line.find("kfd") != std::string::npos || line.find("amdgpu") != std::string::npos)
            lines.push_back(line);
    }
}

} // namespace verify
