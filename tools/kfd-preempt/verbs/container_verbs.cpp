// SPDX-License-Identifier: MIT
// Puts the reports of several processes together.
#include "verbs/container_verbs.hpp"

#include "processes/kfd_processes.hpp"

#include <algorithm>
#include <cerrno>
#include <fmt/format.h>
#include <memory>

namespace cli {

namespace {

tl::unexpected<Failure> without(const Container& container, const char* what) {
    return tl::make_unexpected(
        Failure{Exit::failed, ESRCH,
                fmt::format("{}: none of its processes {}: `kfd-preempt list` shows those that do",
                            container.name(), what)});
}

} // namespace

Outcome<ContainerProcesses> gpu_processes_of_container(const Context& context,
                                                       const std::string& word) {
    if (const Outcome<void> pids = require_kfd_pids(context); !pids)
        return tl::make_unexpected(pids.error());
    Outcome<ContainerProcesses> found = find_container(context, word);
    if (!found)
        return found;
    std::erase_if(found->pids, [&](pid_t pid) { return !kfd_process(context, pid); });
    if (found->pids.empty())
        return without(found->container, "uses a GPU");
    return found;
}

Report for_container(const Context& context, const std::string& word,
                     const std::function<Report(pid_t)>& verb) {
    Outcome<ContainerProcesses> found = gpu_processes_of_container(context, word);
    if (!found)
        return report_of(found.error());
    std::erase_if(found->pids, [&](pid_t pid) { return compute_queues(context, pid).empty(); });
    if (found->pids.empty())
        return report_of(without(found->container, "has a compute queue").value());

    Report all;
    all.json["container"] = json_of(found->container);
    all.json["processes"] = Json::array();
    const auto attached = std::make_shared<std::vector<Attached>>();
    for (const pid_t pid : found->pids) {
        Report one = verb(pid);
        all.text += one.text;
        all.messages.insert(all.messages.end(), one.messages.begin(), one.messages.end());
        all.json["processes"].push_back(std::move(one.json));
        if (all.exit == Exit::ok)
            all.exit = one.exit;
        if (one.attached.what)
            attached->push_back(std::move(one.attached));
    }
    if (!attached->empty())
        all.attached.what = attached;
    return all;
}

} // namespace cli
