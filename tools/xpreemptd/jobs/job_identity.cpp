// SPDX-License-Identifier: MIT
// Walks from a process to its ancestors.
#include "jobs/job_identity.hpp"

#include "jobs/cgroup_path.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace xpreemptd {

namespace {

// Each costs a file, and the walk must not delay events for long. Also ends a cycle, which origins
// form that are read while processes come and go.
constexpr int most_ancestors = 256;

// Calls visit for the process and its ancestors, until it returns false.
template <typename Visit>
void walk_up(const ProcessFacts& facts, const OriginOf& origin_of, const Visit& visit) {
    ProcessName process{facts.pid, facts.start_ticks};
    pid_t parent = facts.parent;
    for (int count = 0; count < most_ancestors; ++count) {
        // Init is the parent of every orphan, and so identifies nothing. 0 is outside of our
        // namespace.
        if (!visit(process) || parent <= 1)
            return;
        const std::optional<ProcessOrigin> origin = origin_of(parent);
        // Younger than its child: the parent is gone, and another process has its pid.
        if (!origin || origin->start_ticks > process.start_ticks)
            return;
        process = {parent, origin->start_ticks};
        parent = origin->parent;
    }
}

std::optional<ProcessName> run_of(const ProcessFacts& facts, std::span<const ProcessName> runs,
                                  const OriginOf& origin_of) {
    std::optional<ProcessName> run;
    if (runs.empty())
        return run;
    walk_up(facts, origin_of, [&](const ProcessName& process) {
        if (std::ranges::find(runs, process) != runs.end())
            run = process;
        return !run;
    });
    return run;
}

ProcessName root_of(const ProcessFacts& facts, const GpuUserOf& gpu_user_of,
                    const OriginOf& origin_of) {
    ProcessName root{facts.pid, facts.start_ticks};
    walk_up(facts, origin_of, [&](const ProcessName& process) {
        const ProcessFacts* other = gpu_user_of(process.pid);
        if (other != nullptr && other->start_ticks == process.start_ticks &&
            other->cgroup == facts.cgroup && other->uid == facts.uid)
            root = process;
        return true;
    });
    return root;
}

JobIdentity job_of(std::string_view kind, const ProcessName& process) {
    return {fmt::format("{}:{}:{}", kind, process.pid, process.start_ticks),
            fmt::format("{} {}", kind, process.pid)};
}

} // namespace

std::string key_of_cgroup(std::string_view cgroup) {
    const auto job = job_cgroup_of(cgroup);
    return job ? fmt::format("cgroup:{}", *job) : std::string();
}

std::string key_of_joined(std::string_view name) {
    return fmt::format("joined:{}", name);
}

std::optional<JobIdentity> identity_of_key(std::string_view key) {
    if (!key.starts_with("run:") && !key.starts_with("process:"))
        return std::nullopt;
    std::string name(key.substr(0, key.rfind(':')));
    name[name.find(':')] = ' ';
    return JobIdentity{std::string(key), std::move(name)};
}

std::string key_of_run(const ProcessName& run) {
    return job_of("run", run).key;
}

bool lives(const ProcessName& process, const OriginOf& origin_of) {
    const auto origin = origin_of(process.pid);
    return origin && origin->start_ticks == process.start_ticks;
}

JobIdentity identity_of(const ProcessFacts& facts, const GpuUserOf& gpu_user_of,
                        std::span<const ProcessName> runs, const OriginOf& origin_of,
                        const std::optional<ProcessName>& marked_by) {
    std::optional<ProcessName> run = run_of(facts, runs, origin_of);
    if (marked_by && (!run || run->start_ticks < marked_by->start_ticks))
        run = marked_by;
    if (run)
        return job_of("run", *run);
    if (const auto cgroup = job_cgroup_of(facts.cgroup))
        return {key_of_cgroup(facts.cgroup), std::string(*cgroup)};
    return job_of("process", root_of(facts, gpu_user_of, origin_of));
}

} // namespace xpreemptd
