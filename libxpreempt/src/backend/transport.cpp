// SPDX-License-Identifier: MIT
// The ways to stop a queue, and the choice between them.
#include "backend/transport.hpp"

#include "kfd/module.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <vector>

namespace xpreempt::backend {

namespace {

class NoTransport final : public Transport {
public:
    [[nodiscard]] TransportKind kind() const override { return TransportKind::none; }
    [[nodiscard]] bool can(StopType) const override { return false; }
};

class PatchedTransport final : public Transport {
public:
    PatchedTransport(std::shared_ptr<const kfd::Device> device, std::uint32_t type_mask,
                     std::uint32_t max_batch)
        : device_(std::move(device)), type_mask_(type_mask), max_batch_(max_batch) {}

    [[nodiscard]] TransportKind kind() const override { return TransportKind::patched; }
    [[nodiscard]] bool can(StopType type) const override {
        return (type_mask_ >> number(type) & 1U) != 0;
    }
    Switched switch_all(std::span<const hip::QueueRecord> stops, StopType type,
                        std::span<const hip::QueueRecord> starts) override {
        std::vector<Change> changes;
        for (const hip::QueueRecord& queue : stops)
            changes.push_back(to_stop(queue, type));
        for (const hip::QueueRecord& queue : starts)
            changes.push_back(to_start(queue));
        auto answers = change(changes);
        const auto middle = answers.begin() + static_cast<std::ptrdiff_t>(stops.size());
        return {{answers.begin(), middle}, {middle, answers.end()}};
    }

    Result<void> stop(const hip::QueueRecord& queue, StopType type) override {
        return change_one(to_stop(queue, type), {});
    }
    Result<void> stop_with(const hip::QueueRecord& queue, StopType type,
                           const StopOptions& options) override {
        return change_one(to_stop(queue, type), options);
    }
    Result<void> start(const hip::QueueRecord& queue) override {
        return change_one(to_start(queue), {});
    }
    Result<void> confirm(const hip::QueueRecord& queue, StopType type) override {
        return change_one(to_stop(queue, type), {.timeout_ms = 1});
    }

private:
    struct Change {
        int fd; // the file that created the queue
        kfd_preempt_switch_entry entry;
    };
    static Change to_stop(const hip::QueueRecord& queue, StopType type) {
        Change change{queue.fd, {}};
        change.entry.queue_id = queue.kfd_queue_id;
        change.entry.op = KFD_PREEMPT_OP_PREEMPT;
        change.entry.preempt_type = static_cast<std::uint16_t>(number(type));
        return change;
    }
    static Change to_start(const hip::QueueRecord& queue) {
        Change change{queue.fd, {}};
        change.entry.queue_id = queue.kfd_queue_id;
        change.entry.op = KFD_PREEMPT_OP_RESUME;
        return change;
    }

    std::vector<Result<void>> change(std::span<const Change> changes) const {
        std::vector<Result<void>> answers;
        answers.reserve(changes.size());
        while (!changes.empty()) {
            // Queues of one file: the ids of another may be those of another context.
            std::vector<kfd_preempt_switch_entry> entries;
            for (const Change& next : changes)
                if (entries.size() < max_batch_ && next.fd == changes[0].fd)
                    entries.push_back(next.entry);
                else
                    break;
            const auto done = device_->switch_queues(0, entries, changes[0].fd);
            for (const kfd_preempt_switch_entry& entry : entries)
                answers.push_back(answer_of(done, entry));
            changes = changes.subspan(entries.size());
        }
        return answers;
    }

    Result<void> change_one(Change change, const StopOptions& options) const {
        return answer_of(device_->switch_queues(options.fast ? KFD_PREEMPT_SWITCH_FAST : 0,
                                                {&change.entry, 1}, change.fd, options.timeout_ms),
                         change.entry);
    }

    static Result<void> answer_of(const Result<kfd_ioctl_preempt_switch_args>& done,
                                  const kfd_preempt_switch_entry& entry) {
        const int problem = done ? -entry.result : done.error().errno_value;
        return problem == 0 ? Result<void>{} : fail(problem, Op::switch_queues, entry.queue_id);
    }

    static std::uint32_t number(StopType type) {
        return type == StopType::save ? KFD_PREEMPT_TYPE_SAVE : KFD_PREEMPT_TYPE_DRAIN;
    }

    std::shared_ptr<const kfd::Device> device_;
    std::uint32_t type_mask_;
    std::uint32_t max_batch_; // entries of one SWITCH
};

// Needs the hook: it knows all properties that UPDATE_QUEUE overwrites, and keeps ROCr's own
// updates from starting the queue.
class UpdateTransport final : public Transport {
public:
    UpdateTransport(std::shared_ptr<const kfd::Device> device, const hook::Table* table)
        : device_(std::move(device)), table_(table) {}

    [[nodiscard]] TransportKind kind() const override { return TransportKind::update_queue; }
    // With CWSR the driver saves; without, its unmap waits for the waves.
    [[nodiscard]] bool can(StopType type) const override { return type == StopType::save; }
    Result<void> stop(const hip::QueueRecord& queue, StopType) override {
        if (lost_a_queue_)
            return fail(EACCES, Op::update_queue, queue.kfd_queue_id);
        return update(queue, true);
    }
    Result<void> start(const hip::QueueRecord& queue) override { return update(queue, false); }

private:
    Result<void> update(const hip::QueueRecord& queue, bool held) {
        hip::QueueRecord now{};
        const int answer = table_->begin_update(queue.kfd_queue_id, queue.generation, &now);
        if (answer != 0)
            return fail(-answer, Op::update_queue, queue.kfd_queue_id);
        // A queue that ROCr itself stopped (percentage 0 after an error) isn't started by us.
        const auto updated = device_->update_queue({now.ring_base, now.kfd_queue_id, now.ring_bytes,
                                                    held ? 0 : now.percentage, now.priority},
                                                   now.fd);
        if (!updated && updated.error().errno_value == EACCES)
            lost_a_queue_ = true;
        const bool is_held = updated ? held : now.held != 0;
        table_->end_update(queue.kfd_queue_id, queue.generation, is_held ? 1 : 0);
        return updated;
    }

    std::shared_ptr<const kfd::Device> device_;
    const hook::Table* table_;
    // EACCES: a queue of this process was reset. 6.12 and 7.2 then take every queue of the node off
    // before they refuse, and put none back; so no stop is tried again.
    std::atomic<bool> lost_a_queue_ = false;
};

std::string text_of(int errno_value) {
    return std::strerror(errno_value);
}

// A transport, or why it isn't one.
using Attempt = tl::expected<std::unique_ptr<Transport>, std::string>;

tl::unexpected<std::string> unavailable(std::string reason) {
    return tl::make_unexpected(std::move(reason));
}

Attempt try_patched(const ProbeInputs& inputs, Probe& probe) {
    const auto driver = kfd::query_driver(*inputs.device, inputs.module);
    if (!driver)
        return unavailable(driver.error().errno_value == ENOTTY
                               ? "the driver has no preemption"
                               : "the driver rejected QUERY: " +
                                     text_of(driver.error().errno_value));
    if (driver->abi_major != KFD_PREEMPT_ABI_MAJOR)
        return unavailable("the driver has preemption ABI " + std::to_string(driver->abi_major) +
                           ", this library " + std::to_string(KFD_PREEMPT_ABI_MAJOR));
    if (driver->type_mask == 0)
        return unavailable("the driver cannot stop queues on this machine (kfd-preempt doctor)");
    probe.driver = *driver;
    return std::make_unique<PatchedTransport>(inputs.device, driver->type_mask,
                                              std::max(driver->max_batch, 1U));
}

Attempt try_update(const ProbeInputs& inputs) {
    if (inputs.table == nullptr)
        return unavailable("libxpreempt-hook.so is not loaded, which UPDATE_QUEUE needs");
    return std::make_unique<UpdateTransport>(inputs.device, inputs.table);
}

Attempt attempt(TransportKind kind, const ProbeInputs& inputs, Probe& probe) {
    switch (kind) {
    case TransportKind::patched: return try_patched(inputs, probe);
    case TransportKind::update_queue: return try_update(inputs);
    case TransportKind::none: break;
    }
    return unavailable("no queue can be stopped");
}

constexpr std::array all_kinds = {TransportKind::patched, TransportKind::update_queue,
                                  TransportKind::none};

Selected nothing(std::string reason, const ProbeInputs& inputs) {
    return {Probe{TransportKind::none, std::move(reason), {}}, std::make_unique<NoTransport>(),
            inputs.device};
}

} // namespace

Transport::Switched Transport::switch_all(std::span<const hip::QueueRecord> to_stop, StopType type,
                                          std::span<const hip::QueueRecord> to_start) {
    Switched answers;
    answers.stopped.reserve(to_stop.size());
    answers.started.reserve(to_start.size());
    for (const hip::QueueRecord& queue : to_stop)
        answers.stopped.push_back(stop(queue, type));
    for (const hip::QueueRecord& queue : to_start)
        answers.started.push_back(start(queue));
    return answers;
}

const char* name_of(TransportKind kind) {
    switch (kind) {
    case TransportKind::patched: return "patched";
    case TransportKind::update_queue: return "update-queue";
    case TransportKind::none: return "none";
    }
    return "";
}

Selected select_transport(const ProbeInputs& inputs) {
    std::span<const TransportKind> kinds = std::span(all_kinds).first(2);
    if (!inputs.wanted.empty()) {
        const auto* const named = std::ranges::find(all_kinds, inputs.wanted, name_of);
        if (named == all_kinds.end())
            return nothing("XPREEMPT_TRANSPORT is '" + inputs.wanted +
                               "': set it to patched, update-queue or none",
                           inputs);
        kinds = {named, 1};
    }
    if (!inputs.device)
        return nothing("cannot open /dev/kfd: " + text_of(inputs.open_errno), inputs);
    std::string reasons = inputs.wanted.empty() ? "" : "XPREEMPT_TRANSPORT is " + inputs.wanted;
    for (const TransportKind kind : kinds) {
        Probe probe{kind, reasons, {}};
        if (auto found = attempt(kind, inputs, probe))
            return {std::move(probe), std::move(*found), inputs.device};
        else
            reasons += (reasons.empty() ? "" : "; ") + found.error();
    }
    return nothing(std::move(reasons), inputs);
}

Selected select_transport(const hip::Mapping& mapping, const std::string& wanted) {
    ProbeInputs inputs;
    inputs.table = mapping.table();
    inputs.wanted = wanted;
    const kfd::Roots roots;
    inputs.module = kfd::loaded_module(roots);
    auto opened = kfd::Device::open(
        roots.device, inputs.table != nullptr ? kfd::Ioctl(inputs.table->ioctl) : kfd::plain_ioctl);
    if (opened)
        inputs.device = std::make_shared<const kfd::Device>(std::move(*opened));
    else
        inputs.open_errno = opened.error().errno_value;
    return select_transport(inputs);
}

} // namespace xpreempt::backend
