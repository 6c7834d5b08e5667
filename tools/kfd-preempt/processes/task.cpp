// SPDX-License-Identifier: MIT
// Reads /proc for facts about a process, and finds out whether our pids are those of KFD in sysfs.
#include "processes/task.hpp"

#include "kfd/attribute.hpp"

#include <linux/capability.h>
#include <system_error>

namespace cli {

namespace {

// The inode is PROC_PID_INIT_INO of include/linux/proc_ns.h, 0xeffffffc: the first pid namespace
// has a fixed number, every other one is numbered from 0xf0000000 up.
constexpr std::string_view initial_pid_namespace = "pid:[4026531836]";

std::optional<uid_t> effective_uid_of(const std::string& status) {
    // "Uid:\treal\teffective\tsaved\tfs"
    const std::string uids = kfd::field_of(status, "Uid").value_or("");
    const std::size_t tab = uids.find('\t');
    if (tab == std::string::npos)
        return std::nullopt;
    return kfd::parse_unsigned<uid_t>(
        std::string_view(uids).substr(tab + 1, uids.find('\t', tab + 1) - tab - 1));
}

} // namespace

Result<Task> task_of(const kfd::Roots& roots, pid_t pid) {
    const std::filesystem::path directory = roots.proc / std::to_string(pid);
    const Result<std::string> status = kfd::read_text(directory / "status", Op::read_proc, 16384);
    if (!status) {
        const int reason =
            status.error().errno_value == ENOENT ? ESRCH : status.error().errno_value;
        return fail(reason, Op::read_proc, static_cast<std::uint32_t>(pid));
    }
    // status escapes the name, comm has it as it is, with one newline behind it.
    Result<std::string> comm = kfd::read_text(directory / "comm", Op::read_proc, 64);
    if (!comm)
        return fail(ESRCH, Op::read_proc, static_cast<std::uint32_t>(pid));
    if (comm->ends_with('\n'))
        comm->pop_back();

    const auto tgid = kfd::parse_unsigned<pid_t>(kfd::field_of(*status, "Tgid").value_or(""));
    const auto uid = effective_uid_of(*status);
    if (!tgid || !uid)
        return fail(EINVAL, Op::read_proc, static_cast<std::uint32_t>(pid));
    // "NSpid:\tpid here\tpid one level down\t..."; no such line without pid namespaces.
    const std::string pids = kfd::field_of(*status, "NSpid").value_or("");
    const std::size_t last = pids.find_last_of(" \t");
    const auto ns_pid = kfd::parse_unsigned<pid_t>(
        std::string_view(pids).substr(last == std::string::npos ? 0 : last + 1));
    return Task{*comm, *tgid, *uid, ns_pid.value_or(pid)};
}

Result<bool> in_initial_pid_namespace(const kfd::Roots& roots) {
    const std::filesystem::path link = roots.proc / "self/ns/pid";
    std::error_code error;
    const std::string target = std::filesystem::read_symlink(link, error).string();
    if (error)
        return fail(error.value(), Op::read_proc);
    return target == initial_pid_namespace;
}

bool has_cap_sys_ptrace(const kfd::Roots& roots) {
    const Result<std::string> status =
        kfd::read_text(roots.proc / "self/status", Op::read_proc, 16384);
    if (!status)
        return false;
    const std::string mask = kfd::field_of(*status, "CapEff").value_or("");
    std::uint64_t bits = 0;
    const auto parsed = std::from_chars(mask.data(), mask.data() + mask.size(), bits, 16);
    return parsed.ec == std::errc{} && (bits >> CAP_SYS_PTRACE & 1) != 0;
}

bool is_root(const kfd::Roots& roots) {
    const Result<std::string> status =
        kfd::read_text(roots.proc / "self/status", Op::read_proc, 16384);
    return status && effective_uid_of(*status) == uid_t{0};
}

} // namespace cli
