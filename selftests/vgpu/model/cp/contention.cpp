// SPDX-License-Identifier: MIT
// Counts what the waves of a process execute while another process has work.
#include "model/cp/contention.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace vgpu {

bool Contention::on_slot(std::uint32_t doorbell) const {
    const auto end = queues_.begin() + static_cast<std::ptrdiff_t>(on_slots_);
    return std::any_of(queues_.begin(), end,
                       [doorbell](const Queue& queue) { return queue.doorbell == doorbell; });
}

// Replaces queues_, which keeps those that left until the state is settled.
void Contention::update(std::span<const Queue> queues, bool settled, std::uint64_t now) {
    const std::vector<Queue> before = std::exchange(queues_, {queues.begin(), queues.end()});
    on_slots_ = queues_.size();
    for (const Queue& queue : before) {
        if (on_slot(queue.doorbell))
            continue;
        if (!settled) {
            queues_.push_back(queue);
            continue;
        }
        Process& owner = process(queue.pasid);
        if (!std::exchange(owner.stopped, true))
            owner.stopped_since = now;
        owner.stopped_busy |= queue.busy;
    }
}

void Contention::begin_slice(std::span<const Queue> queues, bool switching, std::uint64_t now) {
    if (switching == seen_switching_ && std::ranges::equal(queues, seen_))
        return;
    seen_.assign(queues.begin(), queues.end());
    seen_switching_ = switching;
    const bool settled = !switching && std::any_of(queues.begin(), queues.end(),
                                                   [](const Queue& queue) { return queue.busy; });
    update(queues, settled, now);
    for (auto& [pasid, process] : processes_)
        process.on_slot = false;
    began_.clear();
    for (std::size_t i = 0; i < queues_.size(); ++i) {
        Process& owner = process(queues_[i].pasid);
        owner.on_slot |= i < on_slots_;
        if (queues_[i].busy && !owner.busy) {
            began_.push_back(queues_[i].pasid);
            owner.busy_since = now;
        }
        owner.busy |= queues_[i].busy;
    }
    for (auto& [pasid, process] : processes_) {
        if (process.on_slot && process.stopped)
            interval("stopped_intervals", pasid, process.stopped_since, now);
        if (process.on_slot)
            process.stopped = process.stopped_busy = false;
        const bool was_busy = process.busy;
        process.busy = std::any_of(queues_.begin(), queues_.end(), [pasid](const Queue& queue) {
            // NOLINTNEXTLINE(clang-analyzer-core.NullDereference): it loses track of queues_
            return queue.pasid == pasid && queue.busy;
        });
        if (was_busy && !process.busy)
            interval("busy_intervals", pasid, process.busy_since, now);
    }
    for (const std::uint16_t pasid : began_)
        begin_period(pasid);
    busy_.clear();
    for (const auto& [pasid, process] : processes_)
        if (process.busy)
            busy_.push_back(pasid);
    if (settled)
        for (const std::uint16_t pasid : busy_)
            note_stops(pasid);
}

void Contention::reset() {
    queues_.clear();
    seen_.clear();
    seen_switching_ = false;
}

void Contention::interval(const char* group, std::uint16_t pasid, std::uint64_t begin,
                          std::uint64_t end) {
    if (recorder_)
        recorder_(fmt::format("{}/{}", group, pasid), begin, end);
}

void Contention::begin_period(std::uint16_t pasid) {
    observer_.count(fmt::format("busy_periods/{}", pasid), 1);
    for (auto& [key, pair] : pairs_)
        if (key.second == pasid)
            pair.executed = pair.stopped = pair.stopped_busy = false;
}

void Contention::note_stops(std::uint16_t busy) {
    for (const auto& [pasid, process] : processes_) {
        if (pasid == busy || !process.stopped)
            continue;
        Pair& with = pair(pasid, busy);
        with.stopped = true;
        if (process.stopped_busy && !std::exchange(with.stopped_busy, true))
            count("busy_periods_stopped", with, 1);
    }
}

void Contention::executed(std::uint16_t pasid, std::uint64_t instructions) {
    observer_.count(process(pasid).by_pasid, instructions);
    for (const std::uint16_t other : busy_) {
        if (other == pasid)
            continue;
        Pair& with = pair(pasid, other);
        if (!std::exchange(with.executed, true))
            count("busy_periods_shared", with, 1);
        count("wave_instructions_while_busy", with, instructions);
        if (with.stopped)
            count("wave_instructions_after_stop", with, instructions);
    }
}

Contention::Process& Contention::process(std::uint16_t pasid) {
    Process& process = processes_[pasid];
    if (process.by_pasid.empty())
        process.by_pasid = fmt::format("wave_instructions_by_pasid/{}", pasid);
    return process;
}

Contention::Pair& Contention::pair(std::uint16_t pasid, std::uint16_t busy) {
    Pair& pair = pairs_[{pasid, busy}];
    if (pair.key.empty())
        pair.key = fmt::format("{}:{}", pasid, busy);
    return pair;
}

void Contention::count(const char* group, const Pair& pair, std::uint64_t amount) {
    observer_.count(fmt::format("{}/{}", group, pair.key), amount);
}

} // namespace vgpu
