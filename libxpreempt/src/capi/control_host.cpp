// SPDX-License-Identifier: MIT
// Streams, xqueues and queues as records of the control socket; suspends as holds.
#include "capi/control_host.hpp"

#include "backend/queue_use.hpp"

#include <set>
#include <unistd.h>

namespace xpreempt::capi {

namespace {

namespace wire = control::wire;

hip::Stream stream_of(std::uint64_t handle) {
    return reinterpret_cast<hip::Stream>(static_cast<std::uintptr_t>(handle));
}

std::uint64_t handle_of(hip::Stream stream) {
    return reinterpret_cast<std::uintptr_t>(stream);
}

// Doesn't keep the object alive: an xqueue's destruction resumes it, and must not wait for the
// socket.
struct OwnerHold final : control::Hold {
    void release() override {
        if (const auto held = owner.lock())
            (void)held->release();
    }
    [[nodiscard]] bool ended() const override {
        const auto held = owner.lock();
        return held == nullptr || !held->lives();
    }

    std::weak_ptr<xqueue::Holdable> owner;
};

// EBUSY: other streams share the stream's queue, and may not stop with it.
Result<void> check_stoppable(const Library& library, hip::Stream stream, bool allow_shared) {
    const auto queue = TRY(library.mapping().queue_of(stream));
    const auto level = backend::level_of(library.transport(), library.probe(), library.mapping(),
                                         stream, allow_shared);
    if (level.level != xqueue::Level::block)
        return {};
    return queue.num_streams > 1 && !allow_shared
               ? fail(EBUSY, Op::share_queue, queue.kfd_queue_id)
               : fail(EOPNOTSUPP, Op::preempt_queue, queue.kfd_queue_id);
}

} // namespace

control::Snapshot ControlHost::snapshot() {
    control::Snapshot now{};
    now.process.pid = static_cast<std::uint32_t>(::getpid());
    now.process.transport = static_cast<std::uint32_t>(library_.probe().kind);
    now.process.flags = (library_.mapping().available() ? wire::process_hook : 0) |
                        (read_only_ ? wire::process_read_only : 0);
    wire::put_text(now.process.library_version, XPREEMPT_VERSION);
    wire::put_text(now.process.reason, library_.probe().reason);
    for (const hip::QueueRecord& record : library_.mapping().queues()) {
        const backend::StopCounters counters = library_.holds().counters(hip::ref_of(record));
        wire::Queue queue{};
        queue.kfd_queue_id = record.kfd_queue_id;
        queue.generation = record.generation;
        queue.gpu_id = record.gpu_id;
        queue.queue_type = record.queue_type;
        queue.num_streams = record.num_streams;
        queue.holds = library_.holds().count(hip::ref_of(record));
        queue.save_area_bytes = record.save_area_bytes;
        queue.stops = counters.stops;
        queue.last_stop_ns = counters.last_stop_ns;
        queue.max_stop_ns = counters.max_stop_ns;
        queue.last_start_ns = counters.last_start_ns;
        now.queues.push_back(queue);
    }
    now.rings = rings();
    now.streams = streams();
    now.xqueues = xqueues();
    return now;
}

std::vector<wire::Ring> ControlHost::rings() {
    std::vector<wire::Ring> rings;
    for (const backend::QueueUse& use : backend::uses_of_queues(library_.mapping())) {
        wire::Ring ring{};
        ring.kfd_queue_id = use.queue.kfd_queue_id;
        ring.generation = use.queue.generation;
        ring.packets = use.packets;
        ring.flags = (use.ring.in_vram != 0 ? wire::ring_in_vram : 0) |
                     (use.ring.seen != 0 ? wire::ring_seen : 0) |
                     (use.ring.in_hip_call != 0 ? wire::ring_hip_call : 0) |
                     (use.is_blind() ? wire::ring_blind : 0) |
                     (use.is_rocrs() ? wire::ring_rocrs : 0);
        rings.push_back(ring);
    }
    return rings;
}

std::vector<wire::Stream> ControlHost::streams() {
    std::set<hip::Stream> known;
    for (const hook::StreamRecord& record : library_.mapping().streams())
        known.insert(const_cast<void*>(record.key)); // HIP's handles aren't const
    for (const hip::Stream stream : library_.labels.named_streams())
        known.insert(stream);
    for (const auto& [handle, xqueue] : library_.xqueues.entries())
        known.insert(library_.labels.of_xqueue(handle).stream);
    std::vector<wire::Stream> streams;
    for (const hip::Stream stream : known) {
        wire::Stream record{};
        record.handle = handle_of(stream);
        if (const auto queue = library_.mapping().queue_of(stream)) {
            record.kfd_queue_id = queue->kfd_queue_id;
            record.generation = queue->generation;
            record.gpu_id = queue->gpu_id;
            record.num_sharing = queue->num_streams;
            record.queue_holds = library_.holds().count(hip::ref_of(*queue));
        }
        const auto level = backend::level_of(library_.transport(), library_.probe(),
                                             library_.mapping(), stream, false);
        record.level = static_cast<std::uint32_t>(level.level);
        wire::put_text(record.name, library_.labels.of_stream(stream));
        wire::put_text(record.reason, level.reason);
        streams.push_back(record);
    }
    return streams;
}

std::vector<wire::Xqueue> ControlHost::xqueues() {
    std::vector<wire::Xqueue> xqueues;
    for (const auto& [handle, xqueue] : library_.xqueues.entries()) {
        const xqueue::State state = xqueue->state();
        const struct xp_xqueue_stats statistics = xqueue->statistics();
        const xqueue::LevelChoice level = xqueue->level();
        const Labels::Xqueue label = library_.labels.of_xqueue(handle);
        wire::Xqueue record{};
        record.handle = handle;
        record.stream = handle_of(label.stream);
        record.suspends = state.suspends;
        record.held_level = state.suspends > 0 ? static_cast<std::uint32_t>(state.held_level) : 0;
        record.best_level = static_cast<std::uint32_t>(level.level);
        record.pending = state.pending;
        record.in_flight = state.in_flight;
        record.submitted = statistics.submitted;
        record.launched = statistics.launched;
        record.completed = statistics.completed;
        record.dropped = statistics.dropped;
        record.suspends_done[0] = statistics.suspends_block;
        record.suspends_done[1] = statistics.suspends_deactivate;
        record.suspends_done[2] = statistics.suspends_interrupt;
        record.resumes = statistics.resumes;
        record.hw_failures = statistics.hw_failures;
        record.last_suspend_ns = statistics.last_suspend_ns;
        record.max_suspend_ns = statistics.max_suspend_ns;
        record.last_resume_ns = statistics.last_resume_ns;
        wire::put_text(record.name, label.name);
        wire::put_text(record.reason, level.reason);
        xqueues.push_back(record);
    }
    return xqueues;
}

// A person at a terminal means the GPU: at level 1 launched work would continue.
Result<control::Suspended> ControlHost::suspend_stream(hip::Stream key, bool allow_shared) {
    if (!library_.owner_of(key).is_xqueue())
        TRY(check_stoppable(library_, key, allow_shared));
    auto hold = std::make_unique<OwnerHold>(); // first: it may find no memory
    const auto owner = TRY(library_.ensure_owner_of(key));
    const auto held =
        TRY(owner.stream->hold({.least = xqueue::Level::deactivate, .allow_shared = allow_shared}));
    hold->owner = owner.hooked;
    return control::Suspended{std::move(hold), static_cast<std::uint32_t>(held)};
}

Result<control::Suspended> ControlHost::suspend(wire::Object object, std::uint64_t handle,
                                                std::uint32_t flags) {
    library_.release_at_exit();
    if (object == wire::Object::stream)
        return suspend_stream(stream_of(handle), (flags & wire::allow_shared) != 0);
    const auto owner = TRY(library_.find_xqueue(handle));
    auto hold = std::make_unique<OwnerHold>();
    const auto level = TRY(owner.stream->hold({.exact = (flags & wire::exact) != 0}));
    hold->owner = owner.stream;
    return control::Suspended{std::move(hold), static_cast<std::uint32_t>(level)};
}

std::uint32_t ControlHost::holds(wire::Object object, std::uint64_t handle) {
    if (object == wire::Object::stream) {
        const auto queue = library_.mapping().queue_of(stream_of(handle));
        return queue ? library_.holds().count(hip::ref_of(*queue)) : 0;
    }
    const auto xqueue = library_.xqueues.find(handle);
    return xqueue ? (*xqueue)->state().suspends : 0;
}

} // namespace xpreempt::capi
