// SPDX-License-Identifier: MIT
// Compares KFD's queues of a process with those that its hook knows and saw packets of.
#include "streams/hook_sight.hpp"

#include "kfd/attribute.hpp"
#include "output/names.hpp"
#include "processes/kfd_processes.hpp"
#include "processes/target.hpp"
#include "streams/sockets.hpp"

#include <algorithm>
#include <cerrno>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace cli {

namespace {

constexpr std::size_t max_maps = 4U << 20U;

constexpr const char* preload = "start it with the hook preloaded";
constexpr const char* other_ways =
    "start it with the hook preloaded; if it was, HIP is static, opened with RTLD_DEEPBIND or "
    "newer than the hook: suspend its queues, not its streams";

bool has_hook(const Context& context, pid_t pid) {
    const auto maps =
        kfd::read_text(context.roots.proc / std::to_string(pid) / "maps", Op::read_proc, max_maps);
    return maps && maps->find("libxpreempt-hook.so") != std::string::npos;
}

std::string count_of(std::size_t count, const char* what) {
    return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

// before: KFD's queues before the process was asked. Queues come and go meanwhile; only those that
// were there all the time count as unknown to the hook.
std::vector<std::uint32_t> unknown_queues(const std::vector<std::uint32_t>& before,
                                          const std::vector<std::uint32_t>& after,
                                          const control::Answer& answer) {
    std::vector<std::uint32_t> unknown;
    for (const std::uint32_t id : before)
        if (std::ranges::count(after, id) != 0 &&
            std::ranges::count(answer.queues, id, &wire::Queue::kfd_queue_id) == 0)
            unknown.push_back(id);
    return unknown;
}

HookSight sight_of(const Target& target, const std::vector<std::uint32_t>& queues,
                   const std::vector<std::uint32_t>& unknown, const control::Answer& answer) {
    const std::string counted =
        fmt::format("{}: {}", target.name(), count_of(queues.size(), "KFD queue"));
    if (!answer.process || (answer.process->flags & wire::process_hook) == 0)
        return {counted + ", and its libxpreempt has no hook, so no stream is mapped", preload};
    if (!unknown.empty())
        return {fmt::format("hook is blind: {}, the hook did not see queue {} created", counted,
                            fmt::join(unknown, ", ")),
                other_ways};
    if (answer.rings.empty() && !queues.empty())
        return {counted + "; its libxpreempt is too old to report whose packets the hook saw", ""};
    std::size_t with_packets = 0, seen = 0, outside = 0, of_rocr = 0;
    std::vector<std::uint32_t> blind;
    for (const wire::Ring& ring : answer.rings) {
        if ((ring.flags & wire::ring_rocrs) != 0) {
            ++of_rocr;
            continue;
        }
        const bool is_seen = (ring.flags & wire::ring_seen) != 0;
        with_packets += ring.packets > 0 ? 1U : 0U;
        seen += is_seen ? 1U : 0U;
        outside += is_seen && (ring.flags & wire::ring_hip_call) == 0 ? 1U : 0U;
        if ((ring.flags & wire::ring_blind) != 0)
            blind.push_back(ring.kfd_queue_id);
    }
    const std::string text = fmt::format(
        "{}{}, {} with packets, the hook saw packets of {}", counted,
        of_rocr > 0 ? fmt::format(" ({} of ROCr's own)", of_rocr) : "", with_packets, seen);
    if (!blind.empty())
        return {
            fmt::format("hook is blind: {}, and none of queue {}", text, fmt::join(blind, ", ")),
            other_ways};
    if (outside > 0)
        return {fmt::format("{}; those of {} came outside of HIP calls: by HSA, or a static HIP",
                            text, outside),
                ""};
    return {text, ""};
}

} // namespace

std::vector<HookSight> sight_of_hooks(const Context& context, std::optional<pid_t> pid) {
    if (!require_kfd_pids(context))
        return {};
    std::vector<pid_t> pids;
    if (pid)
        pids = {*pid};
    else if (auto all = kfd_pids(context))
        pids = std::move(*all);
    std::vector<Target> targets;
    std::vector<std::vector<std::uint32_t>> before;
    for (const pid_t one : pids) {
        Target target = target_of(context, one);
        if (!target.task)
            continue;
        targets.push_back(std::move(target));
        before.push_back(compute_queues(context, one));
    }
    std::vector<HookSight> sights;
    const std::vector<SocketView> views = ask_sockets(context, targets, socket_patience);
    for (std::size_t i = 0; i < views.size(); ++i) {
        const SocketView& view = views[i];
        const Target& target = view.target;
        if (view.answer) {
            const auto after = compute_queues(context, target.pid);
            sights.push_back(sight_of(target, after, unknown_queues(before[i], after, *view.answer),
                                      *view.answer));
        } else if (has_hook(context, target.pid)) {
            sights.push_back({fmt::format("{}: {}; whether the hook sees its packets is not known: "
                                          "no control socket of it answers; start it with "
                                          "XPREEMPT_CONTROL=1",
                                          target.name(), count_of(before[i].size(), "KFD queue")),
                              ""});
        }
    }
    return sights;
}

} // namespace cli
