// SPDX-License-Identifier: MIT
// xpreempt/queue.h
#include "capi/c_boundary.hpp"

#include <memory>
#include <span>
#include <vector>
#include <xpreempt/queue.h>

using namespace xpreempt;
using namespace xpreempt::capi;

namespace {

using ForAll = Result<void>(backend::Holds&, std::span<QueueHandle* const>);

Result<void> for_all(Library& library, const xp_queue_t* queues, std::size_t count, ForAll* body) {
    if (count > 0 && queues == nullptr)
        return refuse_null("queues");
    std::vector<std::shared_ptr<QueueHandle>> owners; // another thread may close one meanwhile
    std::vector<QueueHandle*> handles;
    for (std::size_t i = 0; i < count; ++i) {
        const auto found = TRY(library.queues.find(queues[i].handle));
        owners.push_back(found);
        handles.push_back(found.get());
    }
    return body(library.holds(), handles);
}

} // namespace

extern "C" {

int xp_queue_open(void* stream, uint32_t flags, xp_queue_t* queue) {
    return c_call([&](Library& library) -> Result<void> {
        if (queue == nullptr)
            return refuse_null("queue");
        TRY(check_flags("flags", flags, XP_ALLOW_SHARED));
        const auto record = TRY(library.stoppable_queue(stream, (flags & XP_ALLOW_SHARED) != 0));
        library.release_at_exit();
        queue->handle =
            library.queues.insert(std::make_shared<QueueHandle>(library.holds(), record));
        return {};
    });
}

int xp_queue_preempt(xp_queue_t queue) {
    return xp_queues_preempt(&queue, 1);
}

int xp_queue_resume(xp_queue_t queue) {
    return xp_queues_resume(&queue, 1);
}

int xp_queues_preempt(const xp_queue_t* queues, size_t count) {
    return c_call([&](Library& library) -> Result<void> {
        return for_all(library, queues, count, QueueHandle::preempt_all);
    });
}

int xp_queues_resume(const xp_queue_t* queues, size_t count) {
    return c_call([&](Library& library) -> Result<void> {
        return for_all(library, queues, count, QueueHandle::resume_all);
    });
}

int xp_queue_query(xp_queue_t queue, struct xp_queue_info* info) {
    return c_call([&](Library& library) -> Result<void> {
        TRY(check_size(info, "xp_queue_info"));
        const auto found = TRY(library.queues.find(queue.handle));
        const hip::QueueRecord& record = found->queue();
        const auto now = library.mapping().queue(record.kfd_queue_id);
        if (!now || now->generation != record.generation)
            return fail(ESTALE, Op::queue_status, record.kfd_queue_id);
        struct xp_queue_info ours{};
        ours.kfd_queue_id = record.kfd_queue_id;
        ours.generation = record.generation;
        ours.gpu_id = record.gpu_id;
        ours.num_streams = now->num_streams;
        ours.holds = library.holds().count(hip::ref_of(record));
        if (library.transport().kind() == backend::TransportKind::patched) {
            const auto status = TRY(library.device()->status(record.kfd_queue_id, now->fd));
            ours.preempts_known = 1;
            ours.preempts = status.preempts;
            ours.last_preempt_ns = status.last_preempt_ns;
            ours.max_preempt_ns = status.max_preempt_ns;
        }
        copy_out(info, ours);
        return {};
    });
}

int xp_queue_close(xp_queue_t queue) {
    return c_call([&](Library& library) -> Result<void> {
        return library.queues.remove(queue.handle).map([](const auto&) {});
    });
}
}
