// SPDX-License-Identifier: MIT
// From a cgroup on the command line to the processes in it and below it.
#include "processes/cgroup.hpp"

#include "kfd/attribute.hpp"
#include "output/names.hpp"

#include "xpreemptd/jobs/cgroup_path.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <ranges>
#include <system_error>

namespace cli {

namespace {

// Lines of 7 digits at most; a cgroup with more processes than fit is beyond every pid_max.
constexpr std::size_t procs_bytes_max = std::size_t{64} << 20U;

tl::unexpected<Failure> failure(Exit exit, int errno_value, std::string message) {
    return tl::make_unexpected(Failure{exit, errno_value, std::move(message)});
}

bool is_v2(const std::filesystem::path& directory) {
    // Every cgroup of v2 has it, the root too; no hierarchy of v1 does.
    std::error_code error;
    return std::filesystem::exists(directory / "cgroup.controllers", error);
}

// Version 2 is mounted in the place of version 1, or beside it where systemd runs both. Without it,
// the freezer's hierarchy of version 1: container engines and Slurm put their processes there.
std::vector<std::filesystem::path> hierarchies(const Context& context) {
    const std::filesystem::path mounted = context.roots.sysfs / "fs/cgroup";
    std::vector<std::filesystem::path> found;
    if (is_v2(mounted))
        return {mounted};
    if (is_v2(mounted / "unified"))
        found.push_back(mounted / "unified");
    std::error_code error;
    if (std::filesystem::exists(mounted / "freezer/cgroup.procs", error))
        found.push_back(mounted / "freezer");
    return found;
}

// The first hierarchy that has that cgroup. None may have it, when it is gone already.
std::filesystem::path hierarchy_with(const std::vector<std::filesystem::path>& hierarchies,
                                     const std::string& relative) {
    std::error_code error;
    for (const std::filesystem::path& root : hierarchies)
        if (std::filesystem::is_directory(root / relative, error))
            return root;
    return hierarchies.front();
}

// Not of the path as given: below a fixture root "/x" stays a path of the hierarchy.
std::filesystem::path below(const std::vector<std::filesystem::path>& hierarchies,
                            const std::filesystem::path& wanted) {
    for (const std::filesystem::path& root : hierarchies | std::views::reverse) {
        const std::filesystem::path relative = wanted.lexically_relative(root);
        if (wanted.is_absolute() && !relative.empty() && *relative.begin() != "..")
            return relative;
    }
    return wanted.relative_path();
}

Failure unreadable(const Cgroup& cgroup, int reason) {
    if (reason == ENOENT || reason == ENODEV)
        return {Exit::failed, ENOENT,
                fmt::format("{}: there is no such cgroup: {} is missing; `systemd-cgls` shows "
                            "those there are",
                            cgroup.name(), cgroup.directory.string())};
    if (reason == EACCES || reason == EPERM)
        return {Exit::permission, reason,
                fmt::format("{}: not allowed to read its processes: run kfd-preempt as root (sudo)",
                            cgroup.name())};
    if (reason == EOPNOTSUPP)
        return {Exit::failed, reason,
                fmt::format("{}: is threaded, and processes belong to the domain above it: name "
                            "that cgroup",
                            cgroup.name())};
    return {Exit::failed, reason,
            fmt::format("{}: its processes cannot be read: {} ({})", cgroup.name(),
                        std::strerror(reason), errno_name(reason))};
}

// 0 or an errno.
int read_processes(const std::filesystem::path& directory, std::vector<pid_t>& pids) {
    const Result<std::string> text =
        kfd::read_text(directory / "cgroup.procs", Op::read_proc, procs_bytes_max);
    if (!text)
        return text.error().errno_value;
    std::string_view rest = *text;
    while (!rest.empty()) {
        const std::string_view line = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(std::min(line.size() + 1, rest.size()));
        // 0 is a process that our pid namespace has no number for.
        if (const auto pid = kfd::parse_unsigned<pid_t>(line); pid && *pid > 0)
            pids.push_back(*pid);
    }
    return 0;
}

int read_subtree(const std::filesystem::path& directory, std::vector<pid_t>& pids) {
    if (const int failed = read_processes(directory, pids); failed != 0)
        return failed;
    std::error_code error;
    std::vector<std::filesystem::path> children;
    for (std::filesystem::directory_iterator entry(directory, error), end; !error && entry != end;
         entry.increment(error))
        if (std::error_code of_entry; entry->is_directory(of_entry))
            children.push_back(entry->path());
    for (const std::filesystem::path& child : children) {
        const int failed = read_subtree(child, pids);
        // Removed meanwhile; or threaded, and then its processes are listed in its domain.
        if (failed != 0 && failed != ENOENT && failed != ENODEV && failed != EOPNOTSUPP)
            return failed;
    }
    return error && error.value() != ENOENT ? error.value() : 0;
}

} // namespace

std::string Cgroup::name() const {
    return "cgroup " + printable(path);
}

Outcome<Cgroup> cgroup_of(const Context& context, const std::string& word) {
    const std::vector<std::filesystem::path> roots = hierarchies(context);
    if (roots.empty())
        return failure(Exit::failed, ENOENT,
                       fmt::format("no cgroups at {}: neither version 2 nor the freezer of version "
                                   "1 is mounted",
                                   (context.roots.sysfs / "fs/cgroup").string()));
    const std::filesystem::path wanted =
        below(roots, std::filesystem::path(word).lexically_normal());
    std::string relative = wanted.string();
    while (relative.ends_with('/'))
        relative.pop_back();
    if (relative == ".")
        relative.clear();
    if (!relative.empty() && *wanted.begin() == "..")
        return failure(Exit::failed, EINVAL,
                       fmt::format("'{}' leads out of {}: name a cgroup below it", printable(word),
                                   roots.front().string()));
    if (relative.empty())
        return failure(Exit::failed, EINVAL,
                       "the root cgroup is the whole machine and cannot be frozen: name one "
                       "below it");
    // It is a key of a JSON file.
    const auto replace = Json::error_handler_t::replace;
    if (Json::parse(Json(relative).dump(-1, ' ', false, replace)) != relative)
        return failure(Exit::failed, EINVAL,
                       fmt::format("'{}' is not UTF-8: name the cgroup above it", printable(word)));
    return Cgroup{hierarchy_with(roots, relative) / relative, "/" + relative};
}

Outcome<std::vector<pid_t>> processes_of(const Cgroup& cgroup) {
    std::vector<pid_t> pids;
    if (const int failed = read_subtree(cgroup.directory, pids); failed != 0)
        return tl::make_unexpected(unreadable(cgroup, failed));
    // A process that moves meanwhile can be in two of the lists.
    std::ranges::sort(pids);
    const auto again = std::ranges::unique(pids);
    pids.erase(again.begin(), again.end());
    return pids;
}

std::string cgroup_path_of(const Context& context, pid_t pid) {
    const Result<std::string> text = kfd::read_text(
        context.roots.proc / std::to_string(pid) / "cgroup", Op::read_proc, 1U << 16U);
    std::string_view unified, freezer;
    const auto lines = xpreemptd::cgroup_lines(text ? std::string_view(*text) : "");
    for (const auto& [controllers, path] : lines) {
        if (controllers.empty())
            unified = path;
        else if (controllers == "freezer")
            freezer = path;
    }
    return std::string(unified.empty() ? freezer : unified);
}

} // namespace cli
