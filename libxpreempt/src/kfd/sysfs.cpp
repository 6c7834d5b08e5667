// SPDX-License-Identifier: MIT
// Reads /sys/class/kfd/kfd/proc/PID/queues.
#include "kfd/sysfs.hpp"

#include "base/unique_fd.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <fcntl.h>
#include <optional>
#include <string>
#include <string_view>

namespace xpreempt::kfd {

namespace {

template <typename T> std::optional<T> number(std::string_view text) {
    while (!text.empty() && (text.back() == '\n' || text.back() == ' '))
        text.remove_suffix(1);
    T value{};
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (problem != std::errc{} || end != text.data() + text.size())
        return std::nullopt;
    return value;
}

template <typename T> std::optional<T> attribute(const std::filesystem::path& path) {
    const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file.valid())
        return std::nullopt;
    std::array<char, 64> text{};
    const ssize_t length = ::read(file.get(), text.data(), text.size());
    if (length <= 0)
        return std::nullopt;
    return number<T>({text.data(), static_cast<std::size_t>(length)});
}

} // namespace

Result<std::vector<SysfsQueue>> process_queues(const std::filesystem::path& kfd_class, pid_t pid) {
    namespace fs = std::filesystem;
    const fs::path directory = kfd_class / "proc" / std::to_string(pid) / "queues";
    std::error_code problem;
    std::vector<SysfsQueue> queues;
    fs::directory_iterator entry(directory, problem);
    if (problem)
        return fail(problem.value() == ENOENT ? ESRCH : problem.value(), Op::read_sysfs,
                    static_cast<std::uint32_t>(pid));
    for (; entry != fs::directory_iterator(); entry.increment(problem)) {
        const auto id = number<std::uint32_t>(entry->path().filename().string());
        const auto gpu_id = attribute<std::uint32_t>(entry->path() / "gpuid");
        const auto type = attribute<std::uint32_t>(entry->path() / "type");
        const auto ring_bytes = attribute<std::uint64_t>(entry->path() / "size");
        if (id && gpu_id && type && ring_bytes)
            queues.push_back({*id, *gpu_id, *type, *ring_bytes});
    }
    if (problem)
        return fail(problem.value(), Op::read_sysfs, static_cast<std::uint32_t>(pid));
    std::ranges::sort(queues, {}, &SysfsQueue::kfd_queue_id);
    return queues;
}

} // namespace xpreempt::kfd
