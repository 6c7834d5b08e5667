// SPDX-License-Identifier: MIT
// Matches PASIDs where pids don't match.
#include "processes/kfd_processes.hpp"

#include "kfd/attribute.hpp"
#include "processes/task.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <sys/syscall.h>
#include <system_error>
#include <unistd.h>

namespace cli {

namespace {

using Pasid = std::uint32_t;
using Directories = std::map<Pasid, pid_t>; // pids of the initial pid namespace

constexpr std::size_t maps_bytes_max = 4U << 20U;

// Linux 5.6; EL8's kernel has neither, and its headers have no numbers.
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd 438
#endif

bool is_initial(const Context& context) {
    return in_initial_pid_namespace(context.roots).value_or(false);
}

Result<Directories> kfd_directories(const Context& context) {
    const Result<std::vector<pid_t>> pids = kfd::kfd_pids(context.roots);
    if (!pids)
        return tl::make_unexpected(pids.error());
    Directories directories;
    for (const pid_t pid : *pids) {
        const auto pasid = kfd::read_unsigned<Pasid>(
            context.roots.kfd_class() / "proc" / std::to_string(pid) / "pasid", Op::read_sysfs);
        if (pasid && *pasid != 0)
            directories[*pasid] = pid;
    }
    return directories;
}

// A child that was forked has inherited the descriptors of the render node, and shows the PASID of
// its parent. It hasn't inherited the mapping of the doorbells.
bool maps_kfd(const std::filesystem::path& process) {
    const auto maps = kfd::read_text(process / "maps", Op::read_proc, maps_bytes_max);
    return maps && maps->find(" /dev/kfd\n") != std::string::npos;
}

// Returns the KFD directory of a process. ESRCH if it has none, EACCES if /proc doesn't say.
Result<pid_t> directory_of(const Context& context, const Directories& directories, pid_t pid) {
    const std::filesystem::path process = context.roots.proc / std::to_string(pid);
    std::error_code error;
    std::filesystem::directory_iterator fds(process / "fd", error);
    if (error)
        return fail(error.value() == ENOENT ? ESRCH : error.value(), Op::read_proc,
                    static_cast<std::uint32_t>(pid));
    for (; !error && fds != std::filesystem::directory_iterator(); fds.increment(error)) {
        std::error_code unreadable;
        const std::string file = std::filesystem::read_symlink(fds->path(), unreadable).string();
        if (unreadable || !file.starts_with("/dev/dri/renderD"))
            continue;
        const auto info =
            kfd::read_text(process / "fdinfo" / fds->path().filename(), Op::read_proc);
        const auto pasid =
            info ? kfd::parse_unsigned<Pasid>(kfd::field_of(*info, "pasid").value_or(""))
                 : std::nullopt;
        const auto found = pasid ? directories.find(*pasid) : directories.end();
        if (found != directories.end() && maps_kfd(process))
            return found->second;
    }
    return fail(ESRCH, Op::read_proc, static_cast<std::uint32_t>(pid));
}

} // namespace

Outcome<void> require_kfd_pids(const Context& context) {
    const auto failure = [](int errno_value, std::string message) {
        return tl::make_unexpected(Failure{Exit::failed, errno_value, std::move(message)});
    };
    const Result<bool> initial = in_initial_pid_namespace(context.roots);
    if (!initial)
        return failure(
            initial.error().errno_value,
            fmt::format("cannot find out whether KFD's pids are those of this shell: {}: "
                        "{}; mount /proc of this pid namespace",
                        (context.roots.proc / "self/ns/pid").string(),
                        std::strerror(initial.error().errno_value)));
    if (*initial)
        return {};
    const auto pids = kfd::kfd_pids(context.roots);
    const auto directories = kfd_directories(context);
    if (pids && directories && directories->empty() && !pids->empty())
        return failure(0, "this shell is in a pid namespace of its own (a container), and this "
                          "kernel's KFD does not say which of its pids are here: run kfd-preempt "
                          "on the host, or in a container with --pid=host");
    return {};
}

Result<std::vector<pid_t>> kfd_pids(const Context& context) {
    if (is_initial(context))
        return kfd::kfd_pids(context.roots);
    const Result<Directories> directories = kfd_directories(context);
    if (!directories)
        return tl::make_unexpected(directories.error());
    std::vector<pid_t> pids;
    for (const std::string& name : kfd::entries_of(context.roots.proc))
        if (const auto pid = kfd::parse_unsigned<pid_t>(name);
            pid && directory_of(context, *directories, *pid))
            pids.push_back(*pid);
    std::ranges::sort(pids);
    return pids;
}

Result<kfd::Process> kfd_process(const Context& context, pid_t pid) {
    if (is_initial(context))
        return kfd::process_queues(context.roots, pid);
    const Result<Directories> directories = kfd_directories(context);
    if (!directories)
        return tl::make_unexpected(directories.error());
    const Result<pid_t> directory = directory_of(context, *directories, pid);
    if (!directory)
        return tl::make_unexpected(directory.error());
    Result<kfd::Process> process = kfd::process_queues(context.roots, *directory);
    if (process)
        process->pid = pid;
    return process;
}

std::optional<xpreempt::UniqueFd> kfd_file_of(const Context& context, pid_t pid) {
    const std::filesystem::path files = context.roots.proc / std::to_string(pid) / "fd";
    for (const std::string& name : kfd::entries_of(files)) {
        std::error_code unreadable;
        const auto number = kfd::parse_unsigned<int>(name);
        if (!number || std::filesystem::read_symlink(files / name, unreadable) != "/dev/kfd")
            continue;
        const xpreempt::UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
        xpreempt::UniqueFd file(
            static_cast<int>(::syscall(SYS_pidfd_getfd, process.get(), *number, 0)));
        if (file.valid())
            return file;
    }
    return std::nullopt;
}

std::vector<std::uint32_t> compute_queues(const Context& context, pid_t pid) {
    const auto process = kfd_process(context, pid);
    return process ? process->compute_queue_ids() : std::vector<std::uint32_t>{};
}

} // namespace cli
