// SPDX-License-Identifier: MIT
// From a cgroup on the command line to the processes in it and below it.
#include "cgroup.hpp"

#include "kfd/attribute.hpp"
#include "names.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <system_error>

namespace cli {

namespace {

// Lines of 7 digits at most; a cgroup with more processes than fit is beyond every pid_max.
constexpr std::size_t procs_bytes_max = std::size_t{64} << 20U;

tl::unexpected<Failure> because(Exit exit, int errno_value, std::string message) {
    return tl::make_unexpected(Failure{exit, errno_value, std::move(message)});
}

bool is_v2(const std::filesystem::path& directory) {
    // Every cgroup of v2 has it, the root too; no hierarchy of v1 does.
    std::error_code error;
    return std::filesystem::exists(directory / "cgroup.controllers", error);
}

// Mounted in the place of v1, or beside it where systemd runs both.
std::filesystem::path hierarchy(const Context& context) {
    const std::filesystem::path mounted = context.roots.sysfs / "fs/cgroup";
    for (const auto& directory : {mounted, mounted / "unified"})
        if (is_v2(directory))
            return directory;
    return {};
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
    const std::filesystem::path root = hierarchy(context);
    if (root.empty())
        return because(Exit::failed, ENOENT,
                       fmt::format("no cgroup v2 at {}: it is not mounted, or this machine runs "
                                   "cgroup v1 alone; boot with "
                                   "systemd.unified_cgroup_hierarchy=1",
                                   (context.roots.sysfs / "fs/cgroup").string()));
    // Not on the path as given: below a fixture root "/x" stays a path of the hierarchy.
    std::filesystem::path wanted = std::filesystem::path(word).lexically_normal();
    const std::filesystem::path below = wanted.lexically_relative(root);
    if (wanted.is_absolute() && !below.empty() && *below.begin() != "..")
        wanted = below;
    wanted = wanted.relative_path();
    std::string relative = wanted.string();
    while (relative.ends_with('/'))
        relative.pop_back();
    if (relative == ".")
        relative.clear();
    if (!relative.empty() && *wanted.begin() == "..")
        return because(Exit::failed, EINVAL,
                       fmt::format("'{}' leads out of {}: name a cgroup below it", printable(word),
                                   root.string()));
    if (relative.empty())
        return because(Exit::failed, EINVAL,
                       "the root cgroup is the whole machine and cannot be frozen: name one "
                       "below it");
    // It is a key of a JSON file.
    const auto replace = Json::error_handler_t::replace;
    if (Json::parse(Json(relative).dump(-1, ' ', false, replace)) != relative)
        return because(Exit::failed, EINVAL,
                       fmt::format("'{}' is not UTF-8: rename that cgroup", printable(word)));
    return Cgroup{root / relative, "/" + relative};
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
    // The line of v2 is "0::PATH"; v1 has other numbers.
    const std::size_t begin = !text                      ? std::string::npos
                              : text->starts_with("0::") ? 3
                                                         : text->find("\n0::");
    if (begin == std::string::npos)
        return {};
    const std::size_t path = begin == 3 ? 3 : begin + 4;
    return text->substr(path, text->find('\n', path) - path);
}

} // namespace cli
