// SPDX-License-Identifier: MIT
// Looks for containers in /proc/PID/cgroup, which every engine and both versions of cgroup have.
#include "processes/container.hpp"

#include "kfd/attribute.hpp"
#include "output/names.hpp"
#include "processes/container_engine.hpp"

#include "xpreemptd/jobs/cgroup_path.hpp"

#include <algorithm>
#include <cerrno>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <set>
#include <string_view>

namespace cli {

namespace {

using xpreemptd::ContainerCgroup;

constexpr std::size_t cgroup_bytes_max = 1U << 16U;
constexpr std::size_t short_id_digits = 12;

std::string cgroups_of(const Context& context, pid_t pid) {
    return kfd::read_text(context.roots.proc / std::to_string(pid) / "cgroup", Op::read_proc,
                          cgroup_bytes_max)
        .value_or("");
}

// The name is "libpod" in the cgroup, and "podman" for people.
Container container_from(const ContainerCgroup& found) {
    const std::string engine(found.engine);
    return {std::string(found.id), engine.starts_with("libpod") ? "podman" : engine};
}

bool is_short_id(std::string_view word) {
    return word.size() >= short_id_digits &&
           word.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// The container of that path which word can mean: the beginning of an id is an id, that of a name
// isn't.
std::optional<ContainerCgroup> match(std::string_view path, std::string_view word) {
    const auto container = xpreemptd::container_of(path, word);
    return container && (container->id == word || is_short_id(word)) ? container : std::nullopt;
}

struct Found {
    ContainerProcesses processes;
    // Cgroups of the container by the controllers of their hierarchy: one each, or somebody else
    // has named a cgroup as the container.
    std::map<std::string, std::set<std::string>> cgroups;
};

// Users name the cgroups below their own systemd and their services, containers those below their
// own.
bool is_named_by_a_user(std::string_view path, const ContainerCgroup& container) {
    const auto outermost = xpreemptd::container_of(path);
    return xpreemptd::is_below_a_unit(container.path) || outermost->path != container.path;
}

void add(Found& found, pid_t pid, const std::string& text, const std::string& word) {
    found.processes.pids.push_back(pid);
    for (const auto& [controllers, path] : xpreemptd::cgroup_lines(text))
        if (const auto container = match(path, word)) {
            found.processes.container = container_from(*container);
            found.cgroups[std::string(controllers)].emplace(container->path);
        }
}

// All containers that word can mean, by id. Those that a user has named count if there are no
// others with the id: a container of a user, or in another container.
std::map<std::string, Found> search(const Context& context, const std::string& word) {
    std::map<std::string, Found> found, of_users;
    for (const std::string& entry : kfd::entries_of(context.roots.proc)) {
        const auto pid = kfd::parse_unsigned<pid_t>(entry);
        if (!pid)
            continue;
        const std::string text = cgroups_of(context, *pid);
        for (const auto& [controllers, path] : xpreemptd::cgroup_lines(text)) {
            const auto container = match(path, word);
            if (!container)
                continue;
            const bool named_by_a_user = is_named_by_a_user(path, *container);
            add((named_by_a_user ? of_users : found)[std::string(container->id)], *pid, text, word);
            break;
        }
    }
    found.merge(of_users);
    for (auto& [id, one] : found)
        std::ranges::sort(one.processes.pids);
    return found;
}

Outcome<Found> find(const Context& context, const std::string& word) {
    const auto failure = [](int errno_value, std::string message) {
        return tl::make_unexpected(Failure{Exit::failed, errno_value, std::move(message)});
    };
    std::map<std::string, Found> found = search(context, word);
    if (found.empty() && is_short_id(word))
        return failure(ENOENT, fmt::format("no process is in a container with the id {}: is it "
                                           "running?",
                                           word));
    if (found.empty()) {
        const Outcome<std::string> id = ask_engines(word);
        if (!id)
            return tl::make_unexpected(id.error());
        found = search(context, *id);
        if (found.empty())
            return failure(ENOENT, fmt::format("container '{}' ({}): has no process: is it "
                                               "running?",
                                               word, id->substr(0, short_id_digits)));
    }
    if (found.size() > 1) {
        std::vector<std::string> ids;
        for (const auto& [id, one] : found)
            ids.push_back(id);
        return failure(EINVAL, fmt::format("'{}' is the beginning of {} ids: {}: give more digits",
                                           word, ids.size(), fmt::join(ids, ", ")));
    }
    for (const auto& [controllers, paths] : found.begin()->second.cgroups)
        if (paths.size() > 1)
            return failure(EINVAL,
                           fmt::format("{} has several cgroups: {}: give the right one to "
                                       "--cgroup",
                                       found.begin()->second.processes.container.name(),
                                       printable(fmt::format("{}", fmt::join(paths, ", ")))));
    return std::move(found.begin()->second);
}

} // namespace

std::string Container::short_id() const {
    return is_short_id(id) ? id.substr(0, short_id_digits) : printable(id);
}

std::string Container::name() const {
    return fmt::format("container {}{}", short_id(),
                       engine.empty() ? "" : fmt::format(" ({})", printable(engine)));
}

Json json_of(const Container& container) {
    return {{"id", printable(container.id)}, {"engine", printable(container.engine)}};
}

std::optional<Container> container_of(const Context& context, pid_t pid) {
    const std::string text = cgroups_of(context, pid);
    for (const auto& [controllers, path] : xpreemptd::cgroup_lines(text))
        if (const auto container = xpreemptd::container_of(path))
            return container_from(*container);
    return std::nullopt;
}

Outcome<ContainerProcesses> find_container(const Context& context, const std::string& word) {
    Outcome<Found> found = find(context, word);
    if (!found)
        return tl::make_unexpected(found.error());
    return std::move(found->processes);
}

Outcome<Cgroup> cgroup_of_container(const Context& context, const std::string& word,
                                    const std::vector<std::string>& frozen) {
    const Outcome<Found> found = find(context, word);
    if (!found) {
        for (const std::string& path : frozen)
            if (const auto container = match(path, word))
                return cgroup_of(context, std::string(container->path));
        return tl::make_unexpected(found.error());
    }
    const auto cgroup_in = [&](const std::string& controllers) {
        const auto paths = found->cgroups.find(controllers);
        return paths == found->cgroups.end() ? std::string() : *paths->second.begin();
    };
    const std::string unified = cgroup_in(""), freezer = cgroup_in("freezer");
    if (unified.empty() && freezer.empty())
        return tl::make_unexpected(
            Failure{Exit::failed, ENOENT,
                    fmt::format("{}: its cgroup is neither of version 2 nor of the freezer of "
                                "version 1: suspend its queues instead (kfd-preempt suspend "
                                "--container {})",
                                found->processes.container.name(), word)});
    return cgroup_of(context, unified.empty() ? freezer : unified);
}

} // namespace cli
