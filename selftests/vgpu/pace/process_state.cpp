// SPDX-License-Identifier: MIT
// Reads the state of a process from /proc and from its CPU clock.
#include "pace/process_state.hpp"

#include <fmt/format.h>

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string_view>

namespace vgpu::pace {
namespace {

std::uint64_t read_clock(clockid_t clock) {
    timespec now{};
    ::clock_gettime(clock, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
           static_cast<std::uint64_t>(now.tv_nsec);
}

// The state follows the name in parentheses, which may have parentheses itself.
bool runs(int tasks, const char* thread) {
    std::array<char, 256> text{};
    const int file = ::openat(tasks, fmt::format("{}/stat", thread).c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return false; // it has ended
    const ssize_t got = ::read(file, text.data(), text.size());
    ::close(file);
    const std::string_view stat(text.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
    const std::size_t name_end = stat.rfind(") ");
    return name_end != std::string_view::npos && stat.substr(name_end + 2, 1) == "R";
}

} // namespace

Result<ObservedProcess> ObservedProcess::open(pid_t pid) {
    clockid_t clock{};
    if (const int error = pid > 0 ? ::clock_getcpuclockid(pid, &clock) : ESRCH; error != 0)
        return Error{error, fmt::format("process {}: no CPU clock: {}", pid, std::strerror(error))};
    return ObservedProcess(pid, clock);
}

ObservedProcess::ObservedProcess(pid_t pid, clockid_t cpu_clock)
    : tasks_(fmt::format("/proc/{}/task", pid)), cpu_clock_(cpu_clock) {}

bool ObservedProcess::any_thread_runs() const {
    const std::unique_ptr<DIR, int (*)(DIR*)> tasks{::opendir(tasks_.c_str()), ::closedir};
    if (tasks == nullptr)
        return false;
    while (const dirent* entry = ::readdir(tasks.get()))
        if (entry->d_name[0] != '.' && runs(::dirfd(tasks.get()), entry->d_name))
            return true;
    return false;
}

ProcessState ObservedProcess::state(bool with_threads) const {
    ProcessState state;
    state.runnable = with_threads && any_thread_runs();
    // Last: the times then have what a thread did meanwhile.
    state.wall_ns = read_clock(CLOCK_MONOTONIC);
    state.cpu_ns = read_clock(cpu_clock_);
    return state;
}

} // namespace vgpu::pace
