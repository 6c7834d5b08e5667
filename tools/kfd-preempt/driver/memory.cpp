// SPDX-License-Identifier: MIT
// VRAM of a process on each of its GPUs: how much it has, has yielded, and can't yield.
#include "driver/memory.hpp"

#include "driver/queue_answer.hpp"
#include "driver/switch_calls.hpp"
#include "kfd/attribute.hpp"
#include "output/names.hpp"
#include "output/output.hpp"
#include "processes/kfd_processes.hpp"

#include <algorithm>
#include <cerrno>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace cli {

namespace {

const GpuMemory* on_gpu(const Memory& memory, std::uint32_t gpu_id) {
    const auto found = std::ranges::find(memory, gpu_id, &GpuMemory::gpu_id);
    return found == memory.end() ? nullptr : &*found;
}

// "1 GiB stays in VRAM (768 MiB shared, 256 MiB pinned)", or nothing.
std::string what_stays(const GpuMemory& gpu) {
    if (gpu.vram_bytes == 0)
        return {};
    std::vector<std::string> reasons;
    const auto add = [&](std::uint64_t bytes, const char* reason) {
        if (bytes != 0)
            reasons.push_back(fmt::format("{} {}", rounded_size_text(bytes), reason));
    };
    add(gpu.shared_bytes, "shared with others");
    add(gpu.pinned_bytes, "pinned");
    add(gpu.peer_bytes, "mapped by its other GPUs");
    return fmt::format("; {} stays in VRAM{}", rounded_size_text(gpu.vram_bytes),
                       reasons.empty() ? "" : fmt::format(" ({})", fmt::join(reasons, ", ")));
}

// In the place of an errno, because the driver returns EBUSY for a queue that is not held as well.
constexpr int stays_locked = -1;

// Yields the VRAM that the process has on the GPU of this queue. Returns 0, an errno, or
// stays_locked.
int yield_beside(const Driver& driver, pid_t pid, const kfd::Queue& queue, std::uint32_t flags) {
    kfd_preempt_switch_entry entry{};
    for (unsigned tries = 0; tries < locked_tries_max; ++tries) {
        entry = {};
        entry.queue_id = queue.queue_id;
        entry.op = KFD_PREEMPT_OP_PREEMPT;
        entry.preempt_type = KFD_PREEMPT_TYPE_SAVE;
        const auto done = driver.device.switch_queues_of(
            pid, flags | KFD_PREEMPT_SWITCH_YIELD_MEMORY, {&entry, 1});
        if (!done)
            return done.error().errno_value;
        if (!is_locked(entry))
            return -entry.result;
    }
    return stays_locked;
}

std::string why_not_yielded(int errno_value, const std::string& thing, const GpuMemory* gpu) {
    switch (errno_value) {
    case ENOMEM:
        return fmt::format("{}: held, but its {} of VRAM stay: the host has no room for them; "
                           "free memory, or raise ttm.pages_limit, and suspend it again",
                           thing, rounded_size_text(gpu == nullptr ? 0 : gpu->vram_bytes));
    case EBUSY:
        return fmt::format("{}: its VRAM stays, because one of its compute queues on that GPU is "
                           "not held: suspend all of them (name no queue)",
                           thing);
    case stays_locked:
        return fmt::format("{}: held, but its VRAM stays: the process is locked in the driver, for "
                           "example while it allocates memory; suspend it again",
                           thing);
    case EINTR:
        return fmt::format("{}: held, and {} of its VRAM have moved; `suspend --yield-memory` "
                           "again moves the rest",
                           thing, rounded_size_text(gpu == nullptr ? 0 : gpu->yielded_bytes));
    default: return fmt::format("{}: held, but its VRAM stays: {}", thing, errno_name(errno_value));
    }
}

// Bytes of VRAM that a process has on a GPU, as KFD's sysfs has them.
std::uint64_t vram_in_sysfs(const Context& context, pid_t pid, std::uint32_t gpu_id) {
    const auto bytes = kfd::read_unsigned<std::uint64_t>(
        context.roots.kfd_class() / "proc" / std::to_string(pid) / fmt::format("vram_{}", gpu_id),
        Op::read_sysfs);
    return bytes.value_or(0);
}

} // namespace

bool can_yield(const Driver& driver) {
    return (driver.query.caps & KFD_PREEMPT_CAP_YIELD_MEMORY) != 0;
}

Memory memory_of(const Driver& driver, const TargetQueues& process) {
    Memory memory;
    if (!can_yield(driver))
        return memory;
    for (const kfd::Queue& queue : process.queues) {
        if (on_gpu(memory, queue.gpu_id) != nullptr)
            continue;
        const auto status = driver.device.status_of(process.target.pid, queue.queue_id,
                                                    KFD_PREEMPT_STATUS_COUNT_MEMORY);
        if (!status && status.error().errno_value == EBUSY)
            break; // each call would wait for the process
        if (!status)
            continue;
        memory.push_back({queue.gpu_id, status->vram_bytes, status->yielded_bytes,
                          status->pinned_bytes, status->shared_bytes, status->peer_bytes,
                          status->yield_ns, status->reclaim_ns});
    }
    return memory;
}

Failure cannot_yield(const std::string& name) {
    return {
        Exit::unsupported, EOPNOTSUPP,
        fmt::format("{}: the loaded driver cannot yield memory, nothing changed: it needs the "
                    "ABI 1.2 and a GPU with VRAM of its own; `kfd-preempt doctor` shows what it "
                    "has",
                    name)};
}

namespace {

// If memory is away: what is missing for it, and who has it.
std::optional<std::string> missing_vram(const Context& context, const Driver& driver,
                                        const TargetQueues& process, std::uint32_t gpu_id) {
    const Memory memory = memory_of(driver, process);
    const GpuMemory* gpu = on_gpu(memory, gpu_id);
    if (gpu == nullptr || gpu->yielded_bytes == 0)
        return std::nullopt;
    std::vector<std::pair<std::uint64_t, pid_t>> owners;
    for (const pid_t pid : kfd_pids(context).value_or(std::vector<pid_t>{}))
        if (const std::uint64_t bytes = vram_in_sysfs(context, pid, gpu_id);
            bytes != 0 && pid != process.target.pid)
            owners.emplace_back(bytes, pid);
    std::ranges::sort(owners, std::greater{});
    std::vector<std::string> names;
    for (const auto& [bytes, pid] : owners)
        names.push_back(
            fmt::format("{} has {}", target_of(context, pid).name(), rounded_size_text(bytes)));
    const auto free = driver.device.available_memory(gpu_id);
    return fmt::format("no room in VRAM of GPU {} for the {} that it has yielded{}{}; it stays "
                       "held: suspend --yield-memory another one, or end it",
                       gpu_id, rounded_size_text(gpu->yielded_bytes),
                       free ? fmt::format(", {} are free", rounded_size_text(*free)) : "",
                       names.empty() ? "" : fmt::format("; {}", fmt::join(names, ", ")));
}

} // namespace

bool yield_memory(const Driver& driver, const TargetQueues& process, std::uint32_t flags,
                  Report& report) {
    std::vector<kfd::Queue> first;
    for (const kfd::Queue& queue : process.queues)
        if (queue.type == kfd::QueueType::compute &&
            std::ranges::find(first, queue.gpu_id, &kfd::Queue::gpu_id) == first.end())
            first.push_back(queue);
    std::vector<std::pair<std::uint32_t, int>> results;
    int result = 0;
    for (const kfd::Queue& queue : first) {
        if (result != stays_locked)
            result = yield_beside(driver, process.target.pid, queue, flags);
        results.emplace_back(queue.gpu_id, result);
    }
    bool all = true;
    const Memory memory = memory_of(driver, process);
    for (const auto& [gpu_id, reason] : results) {
        const GpuMemory* gpu = on_gpu(memory, gpu_id);
        const std::string thing = fmt::format("{}, GPU {}", process.target.name(), gpu_id);
        if (reason != 0 && reason != EALREADY) {
            report.messages.push_back(why_not_yielded(reason, thing, gpu));
            all = false;
        } else if (gpu != nullptr) {
            report.text += fmt::format(
                "{}: {} of VRAM yielded{}{}\n", thing, rounded_size_text(gpu->yielded_bytes),
                reason == 0 ? " in " + duration_text(gpu->yield_ns) : std::string(" before"),
                what_stays(*gpu));
        }
    }
    report.json["memory"].push_back({{"pid", process.target.pid}, {"gpus", json_of(memory)}});
    return all;
}

void report_reclaimed(const Driver& driver, const TargetQueues& process, const Memory& before,
                      Report& report) {
    if (before.empty())
        return;
    const Memory after = memory_of(driver, process);
    report.json["memory"].push_back({{"pid", process.target.pid}, {"gpus", json_of(after)}});
    for (const GpuMemory& gpu : before) {
        const GpuMemory* now = on_gpu(after, gpu.gpu_id);
        if (gpu.yielded_bytes == 0 || now == nullptr || now->yielded_bytes != 0)
            continue;
        report.text +=
            fmt::format("{}, GPU {}: {} back in VRAM in {}\n", process.target.name(), gpu.gpu_id,
                        rounded_size_text(gpu.yielded_bytes), duration_text(now->reclaim_ns));
    }
}

std::string start_sentence(const Context& context, const Driver& driver, Verb verb, int errno_value,
                           const Target& target, const kfd::Queue& queue) {
    if (errno_value == ENOSPC)
        if (const auto missing = missing_vram(context, driver, {target, {queue}}, queue.gpu_id))
            return fmt::format("{}: {}", queue_name(queue.queue_id, target), *missing);
    return driver_sentence(context, verb, errno_value, target, queue.queue_id);
}

Json json_of(const Memory& memory) {
    Json gpus = Json::array();
    for (const GpuMemory& gpu : memory)
        gpus.push_back({{"gpu_id", gpu.gpu_id},
                        {"vram_bytes", gpu.vram_bytes},
                        {"yielded_bytes", gpu.yielded_bytes},
                        {"pinned_bytes", gpu.pinned_bytes},
                        {"shared_bytes", gpu.shared_bytes},
                        {"peer_bytes", gpu.peer_bytes},
                        {"yield_ns", gpu.yield_ns},
                        {"reclaim_ns", gpu.reclaim_ns}});
    return gpus;
}

std::string text_of(const Memory& memory) {
    Table table(
        {"GPU", "VRAM", "YIELDED", "SHARED", "PINNED", "PEER", "LAST-YIELD", "LAST-RETURN"});
    bool any = false;
    for (const GpuMemory& gpu : memory) {
        if (gpu.vram_bytes + gpu.yielded_bytes == 0)
            continue;
        any = true;
        table.add({std::to_string(gpu.gpu_id), rounded_size_text(gpu.vram_bytes),
                   rounded_size_text(gpu.yielded_bytes), rounded_size_text(gpu.shared_bytes),
                   rounded_size_text(gpu.pinned_bytes), rounded_size_text(gpu.peer_bytes),
                   duration_text(gpu.yield_ns), duration_text(gpu.reclaim_ns)});
    }
    return any ? table.text() : std::string{};
}

} // namespace cli
