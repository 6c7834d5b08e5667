// SPDX-License-Identifier: MIT
// xpreempt/queue.h
#include "capi/c_boundary.hpp"
#include "kfd/queue_ioctls.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <xpreempt/queue.h>

using namespace xpreempt;
using namespace xpreempt::capi;

namespace {

using Clock = std::chrono::steady_clock;
using Progress = backend::Holds::Progress;

// To the driver, whether a late stop is confirmed.
constexpr std::chrono::milliseconds pause_between_questions{1};

static_assert(XP_QUEUE_MAX_TIMEOUT_MS == KFD_PREEMPT_MAX_TIMEOUT_MS);

std::string text_of(const hip::QueueRecord& queue) {
    return "KFD queue " + std::to_string(queue.kfd_queue_id);
}

template <typename Matches>
std::optional<hip::QueueRecord> find(const hip::Mapping& mapping, Matches matches) {
    for (const hip::QueueRecord& queue : mapping.queues())
        if (matches(queue))
            return queue;
    return std::nullopt;
}

std::optional<hip::QueueRecord> find(const hip::Mapping& mapping, const xp_queue_t& queue) {
    return find(mapping, [&](const hip::QueueRecord& record) {
        return record.kfd_queue_id == queue.kfd_queue_id && record.generation == queue.generation;
    });
}

Result<void> check_hook(const Library& library) {
    if (library.mapping().available())
        return {};
    return refuse_as(ENOSYS, "libxpreempt-hook.so is not loaded, which sees the queues that "
                             "this process creates");
}

// name: of the queue that the caller asked for, in an error message.
template <typename Matches>
Result<void> name_queue(const Library& library, xp_queue_t* queue, const std::string& name,
                        Matches matches) {
    TRY(check_given("queue", queue != nullptr));
    TRY(check_hook(library));
    const auto found = find(library.mapping(), matches);
    if (!found) {
        const std::uint32_t before = library.mapping().queues_before();
        return refuse_as(ENOENT, name + " is not a queue of this process" +
                                     (before != 0 ? ", or is older than the hook: load "
                                                    "libxpreempt-hook.so before ROCr"
                                                  : ""));
    }
    if (found->queue_type != kfd::queue_type_aql && found->queue_type != kfd::queue_type_compute)
        return refuse_as(EOPNOTSUPP, text_of(*found) + " runs no waves: it is an SDMA queue");
    *queue = {found->kfd_queue_id, found->generation};
    return {};
}

Result<void> check_can_stop(const Library& library, const hip::QueueRecord& queue,
                            std::uint32_t flags) {
    const backend::Transport& transport = library.transport();
    const std::string stop = text_of(queue) + " cannot be stopped";
    if (transport.kind() == backend::TransportKind::none)
        return refuse_as(EOPNOTSUPP, stop + ": " + library.probe().reason);
    if ((flags & XP_QUEUE_FAST) != 0 && (library.probe().driver.caps & KFD_PREEMPT_CAP_FAST) == 0)
        return refuse_as(EOPNOTSUPP, stop + " with XP_QUEUE_FAST: the driver does not have FAST");
    if ((flags & XP_QUEUE_DRAIN) != 0 && !transport.can(backend::StopType::drain))
        return refuse_as(EOPNOTSUPP, stop + " with XP_QUEUE_DRAIN: the driver cannot drain here");
    if ((flags & XP_QUEUE_DRAIN) == 0 &&
        (!transport.can(backend::StopType::save) || queue.save_area_bytes == 0))
        return refuse_as(EOPNOTSUPP, stop + ": its waves cannot be saved (no CWSR)");
    return {};
}

} // namespace

extern "C" {

int xp_queue_of_id(uint32_t kfd_queue_id, xp_queue_t* queue) {
    return c_call([&](Library& library) {
        return name_queue(
            library, queue, "KFD queue " + std::to_string(kfd_queue_id),
            [&](const hip::QueueRecord& record) { return record.kfd_queue_id == kfd_queue_id; });
    });
}

int xp_queue_of_hsa(const void* hsa_queue, xp_queue_t* queue) {
    return c_call([&](Library& library) -> Result<void> {
        TRY(check_given("hsa_queue", hsa_queue != nullptr));
        return name_queue(library, queue, "this hsa_queue_t", [&](const hip::QueueRecord& record) {
            return record.hsa_queue == reinterpret_cast<std::uintptr_t>(hsa_queue);
        });
    });
}

int xp_queue_hold(xp_queue_t queue, uint32_t flags, uint32_t timeout_ms) {
    return c_call([&](Library& library) -> Result<void> {
        TRY(check_flags("flags", flags, XP_QUEUE_DRAIN | XP_QUEUE_FAST));
        TRY(check_range("timeout_ms", timeout_ms, 0, XP_QUEUE_MAX_TIMEOUT_MS));
        TRY(check_hook(library));
        const auto deadline = Clock::now() + std::chrono::milliseconds(timeout_ms);
        const auto gone = [&]() -> Result<void> {
            return refuse_as(ENOENT, "KFD queue " + std::to_string(queue.kfd_queue_id) +
                                         " of generation " + std::to_string(queue.generation) +
                                         " was destroyed or never existed");
        };
        const auto record = find(library.mapping(), queue);
        if (!record)
            return gone();
        TRY(check_can_stop(library, *record, flags));
        library.release_at_exit();
        backend::Holds& holds = library.holds();
        const auto type =
            (flags & XP_QUEUE_DRAIN) != 0 ? backend::StopType::drain : backend::StopType::save;
        const auto owner = backend::Owner::of_queue();
        const auto held =
            holds.hold_with(*record, type, {timeout_ms, (flags & XP_QUEUE_FAST) != 0}, owner);
        if (!held) {
            const int error = held.error().errno_value;
            return error == ENOENT || error == ESTALE ? gone() : held;
        }
        const hip::QueueRef ref = hip::ref_of(*record);
        for (;;) {
            const auto progress = timeout_ms == 0 ? Progress::stopped : holds.progress(ref);
            if (progress == Progress::stopped)
                return {};
            if (progress == Progress::none)
                return gone();
            if (progress == Progress::dead)
                return refuse_as(EIO, text_of(*record) + " is lost: its work never completes");
            if (Clock::now() >= deadline) {
                holds.release_if_held(ref, owner);
                return refuse_as(ETIME, text_of(*record) + " did not stop within " +
                                            std::to_string(timeout_ms) +
                                            " ms; it is not held any more");
            }
            std::this_thread::sleep_for(pause_between_questions);
        }
    });
}

int xp_queue_release(xp_queue_t queue) {
    return c_call([&](Library& library) -> Result<void> {
        TRY(check_hook(library));
        if (library.holds().release_if_held({queue.kfd_queue_id, queue.generation},
                                            backend::Owner::of_queue()))
            return {};
        return refuse_as(ENOENT, "KFD queue " + std::to_string(queue.kfd_queue_id) +
                                     " is not held by xp_queue_hold(), or was destroyed");
    });
}
}
