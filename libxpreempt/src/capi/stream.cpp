// SPDX-License-Identifier: MIT
// xpreempt/stream.h
#include "capi/c_boundary.hpp"
#include "kfd/save_area.hpp"
#include "kfd/save_cost.hpp"

#include <algorithm>
#include <iterator>
#include <span>
#include <vector>
#include <xpreempt/stream.h>

using namespace xpreempt;
using namespace xpreempt::capi;

namespace {

// HIP gives such a stream a queue that no other stream gets; that is seen here, not believed.
Result<void> verify_own_queue(Library& library, hip::Stream stream) {
    if (!library.mapping().available())
        return {}; // xp_stream_query() reports that nothing is known
    TRY(library.gates().identify(stream));
    const auto queue = TRY(library.mapping().queue_of(stream));
    if (queue.num_streams != 1)
        return fail(EBUSY, Op::share_queue, queue.kfd_queue_id);
    return {};
}

// The hardware queues of several streams, for Together. None of a single stream: its own hold is
// the only call then.
std::vector<xqueue::QueueName> queues_of(const std::vector<Library::Owner>& owners) {
    std::vector<xqueue::QueueName> queues;
    if (owners.size() > 1)
        for (const Library::Owner& owner : owners)
            std::ranges::copy(owner.stream->queues(), std::back_inserter(queues));
    return queues;
}

// Holds of several streams. They stop at once, and without finish() all of them end.
class HeldTogether {
public:
    HeldTogether(xqueue::Together& together, const std::vector<Library::Owner>& owners)
        : together_(together) {
        held_.reserve(owners.size());
        if (const auto queues = queues_of(owners); !queues.empty())
            together_.exchange(this, queues, {});
    }
    ~HeldTogether() {
        for (xqueue::Holdable* const held : held_)
            (void)held->release();
        together_.end(this);
    }
    HeldTogether(const HeldTogether&) = delete;
    HeldTogether& operator=(const HeldTogether&) = delete;

    Result<xqueue::Level> hold(const Library::Owner& owner, const xqueue::HoldMode& mode) {
        const auto level = TRY(owner.stream->hold(mode));
        held_.push_back(owner.stream.get());
        return level;
    }
    void finish() { held_.clear(); }

private:
    xqueue::Together& together_;
    std::vector<xqueue::Holdable*> held_;
};

// Names the reason why a stream's level could not be reached.
Result<xqueue::Level> explain(const Library& library, const Library::Owner& owner,
                              const xqueue::HoldMode& mode, Result<xqueue::Level> held) {
    if (held || held.error().op != Op::choose_level)
        return held;
    const auto best = backend::level_of(library.transport(), library.probe(), library.mapping(),
                                        owner.key, mode.allow_shared);
    return best.reason.empty() ? held : refuse_as(held.error().errno_value, best.reason);
}

constexpr std::uint32_t hold_flags =
    XP_HOLD_EXACT | XP_HOLD_SHARED | XP_HOLD_LEAST(XP_LEVEL_INTERRUPT);
constexpr std::uint32_t least_shift = 8;
static_assert(XP_HOLD_LEAST(1) == 1U << least_shift);

} // namespace

extern "C" {

int xp_stream_query(void* stream, struct xp_stream_info* info) {
    return c_call([&](Library& library) -> Result<void> {
        TRY(check_size(info, "xp_stream_info"));
        const auto queue = TRY(library.mapping().queue_of(stream));
        const auto level = backend::level_of(library.transport(), library.probe(),
                                             library.mapping(), stream, false);
        struct xp_stream_info ours{};
        ours.kfd_queue_id = queue.kfd_queue_id;
        ours.generation = queue.generation;
        ours.gpu_id = queue.gpu_id;
        ours.num_sharing = queue.num_streams;
        ours.level = static_cast<std::uint32_t>(level.level);
        ours.save_area_bytes = queue.save_area_bytes;
        if (library.transport().kind() == backend::TransportKind::patched)
            if (const auto status = library.device()->status(queue.kfd_queue_id, queue.fd)) {
                ours.preempts_known = 1;
                ours.preempts = status->preempts;
                ours.last_preempt_ns = status->last_preempt_ns;
                ours.max_preempt_ns = status->max_preempt_ns;
            }
        for (const backend::SeenQueue& seen : library.order().scan_queues()) {
            if (hip::ref_of(seen.record) != hip::ref_of(queue))
                continue;
            ours.held = seen.held ? 1 : 0;
            ours.blocked = seen.waits_for ? 1 : 0;
            ours.blocker = seen.waits_for ? seen.waits_for->kfd_queue_id : 0;
        }
        ours.waiters = library.waiters(library.mapping().key_of(stream), queue);
        put_text(ours.reason, level.reason);
        copy_out(info, ours);
        return {};
    });
}

int xp_stream_predict(void* stream, struct xp_prediction* prediction) {
    return c_call([&](Library& library) -> Result<void> {
        TRY(check_size(prediction, "xp_prediction"));
        const auto queue = TRY(library.mapping().queue_of(stream));
        const kfd::Roots roots;
        const auto gpu = TRY(kfd::gpu_of(roots, queue.gpu_id));
        const kfd::SaveArea area =
            kfd::save_area_of(roots, queue.save_area, queue.save_area_bytes * gpu.xccs);
        const kfd::SaveCost cost = kfd::predict_save(gpu, area.memory);
        struct xp_prediction ours{};
        ours.gpu_id = gpu.gpu_id;
        ours.memory = static_cast<std::uint32_t>(area.memory);
        ours.xccs = gpu.xccs;
        ours.compute_units = kfd::compute_units(gpu);
        ours.memory_mbs = kfd::memory_mbs(gpu, area.memory);
        ours.full_bytes = cost.full_bytes;
        ours.light_bytes = cost.light_bytes;
        ours.full_us_least = cost.full_us_least;
        ours.full_us_most = cost.full_us_most;
        ours.light_us_most = cost.light_us_most;
        put_text(ours.memory_reason, area.reason);
        copy_out(prediction, ours);
        return {};
    });
}

int xp_stream_sharing(void* stream, void** streams, size_t max, size_t* count) {
    return c_call([&](Library& library) -> Result<void> {
        if (count == nullptr || (streams == nullptr && max > 0))
            return fail(EINVAL, Op::map_stream);
        const auto queue = TRY(library.mapping().queue_of(stream));
        const auto sharing = library.mapping().streams_of(hip::ref_of(queue));
        std::copy_n(sharing.begin(), std::min(max, sharing.size()), streams);
        *count = sharing.size();
        return {};
    });
}

int xp_stream_touch(void* stream) {
    return c_call([&](Library& library) { return library.gates().touch(stream); });
}

int xp_stream_create(void** stream) {
    return c_call([&](Library& library) -> Result<void> {
        if (stream == nullptr)
            return fail(EINVAL, Op::call_hip);
        const auto hip = TRY(library.hip());
        const auto created = TRY(hip::create_own_queue_stream(*hip));
        if (const auto verified = verify_own_queue(library, created); !verified) {
            (void)hip->stream_destroy(created); // the first error is the one to report
            return verified;
        }
        *stream = created;
        return {};
    });
}

int xp_stream_hold(void* stream, uint32_t flags, uint32_t* level) {
    return xp_streams_hold(&stream, 1, flags, level);
}

int xp_stream_release(void* stream) {
    return xp_streams_release(&stream, 1);
}

int xp_streams_hold(void* const* streams, size_t count, uint32_t flags, uint32_t* level) {
    return c_call([&](Library& library) -> Result<void> {
        TRY(check_flags("flags", flags, hold_flags));
        const std::uint32_t asked = flags >> least_shift;
        const xqueue::HoldMode mode{(flags & XP_HOLD_EXACT) != 0,
                                    asked == 0 ? xqueue::Level::block : xqueue::Level(asked),
                                    (flags & XP_HOLD_SHARED) != 0};
        TRY(check_given("streams", streams != nullptr || count == 0));
        std::vector<Library::Owner> owners;
        for (void* const stream : std::span(streams, count))
            owners.push_back(TRY(library.ensure_owner(stream)));
        HeldTogether held(library.together(), owners);
        auto lowest = xqueue::Level::interrupt;
        for (const Library::Owner& owner : owners)
            lowest = std::min(lowest, TRY(explain(library, owner, mode, held.hold(owner, mode))));
        held.finish();
        if (level != nullptr)
            *level = static_cast<std::uint32_t>(lowest);
        return {};
    });
}

int xp_streams_release(void* const* streams, size_t count) {
    return c_call([&](Library& library) -> Result<void> {
        TRY(check_given("streams", streams != nullptr || count == 0));
        std::vector<Library::Owner> owners;
        Result<void> answer;
        for (void* const stream : std::span(streams, count))
            if (auto owner = library.owner_of(stream); owner.stream != nullptr)
                owners.push_back(std::move(owner));
            else
                answer = fail(ENOENT, Op::nothing_held);
        const auto queues = queues_of(owners);
        if (!queues.empty())
            library.together().keep(&owners, queues);
        for (const Library::Owner& owner : owners)
            if (const auto released = owner.stream->release(); !released)
                answer = released;
        if (!queues.empty())
            library.together().exchange(&owners, {}, queues);
        return answer;
    });
}

int xp_stream_is_idle(void* stream, uint32_t* idle) {
    return c_call([&](Library& library) -> Result<void> {
        TRY(check_given("idle", idle != nullptr));
        return library.gates().is_idle(stream).map([&](bool is_idle) { *idle = is_idle ? 1 : 0; });
    });
}

int xp_stream_wait(void* stream) {
    return c_call([&](Library& library) { return library.gates().wait_for(stream); });
}

int xp_stream_set_name(void* stream, const char* name) {
    return c_call([&](Library& library) -> Result<void> {
        const auto wanted = TRY(Labels::check(name != nullptr ? name : ""));
        library.labels.name_stream(library.mapping().key_of(stream), wanted);
        return {};
    });
}

int xp_stream_destroy(void* stream) {
    return c_call([&](Library& library) -> Result<void> {
        library.labels.forget_stream(library.mapping().key_of(stream));
        return hip::check(TRY(library.hip())->stream_destroy(stream));
    });
}
}
