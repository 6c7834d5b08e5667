// SPDX-License-Identifier: MIT
// xpreempt/queue.h in C++: KFD queues, and holds of one or several of them.
#pragma once

#include <xpreempt/cxx/stream.hpp>
#include <xpreempt/queue.h>

#include <concepts>
#include <cstdint>
#include <span>
#include <vector>

namespace xpreempt::inline v0_tl {

// A KFD queue of this process, and the hold that this object has on it.
class Queue {
public:
    // xp_queue_open()
    [[nodiscard]] static Expected<Queue> open(StreamRef stream, std::uint32_t flags = 0) {
        const auto queue = detail::value_of<xp_queue_t>(
            [=](xp_queue_t* opened) { return xp_queue_open(stream.get(), flags, opened); });
        if (!queue)
            return tl::unexpected<Error>(queue.error());
        return Queue(*queue);
    }

    // Handle 0, which is EBADF in every call, if it was closed or moved from.
    [[nodiscard]] xp_queue_t get() const noexcept {
        return queue_.get() != nullptr ? *queue_.get() : xp_queue_t{};
    }

    // xp_queue_preempt(): returns when the queue has stopped. See Preempted.
    Expected<void> preempt() const { return detail::as_expected(xp_queue_preempt(get())); }

    // xp_queue_resume()
    Expected<void> resume() const { return detail::as_expected(xp_queue_resume(get())); }

    // xp_queue_query()
    [[nodiscard]] Expected<xp_queue_info> query() const {
        return detail::filled<xp_queue_info>(
            [this](xp_queue_info* info) { return xp_queue_query(get(), info); });
    }

    // xp_queue_close(), as the destructor does: resumes the queue if this object holds it.
    Expected<void> close() { return queue_.end(); }

private:
    explicit Queue(xp_queue_t queue) : queue_(queue) {}
    detail::Owned<xp_queue_t, xp_queue_close> queue_;
};

// One hold of one or several queues, resumed at the end of its scope. The queues may be moved
// meanwhile; one that is closed ends its part of the hold.
class Preempted {
public:
    // xp_queues_preempt(): all of them or none.
    [[nodiscard]] static Expected<Preempted> preempt(std::span<const Queue> queues) {
        std::vector<xp_queue_t> handles;
        handles.reserve(queues.size());
        for (const Queue& queue : queues)
            handles.push_back(queue.get());
        return preempt(std::move(handles));
    }
    template <std::same_as<Queue>... Queues>
    [[nodiscard]] static Expected<Preempted> preempt(const Queue& queue, const Queues&... others) {
        return preempt(std::vector<xp_queue_t>{queue.get(), others.get()...});
    }

    // xp_queues_resume(), as the destructor does, with its error. After an error that can pass
    // those that could not be started are still held, and resume() can be called again.
    Expected<void> resume() { return queues_.end(); }

private:
    using Handles = std::vector<xp_queue_t>;

    explicit Preempted(Handles queues) : queues_(std::move(queues)) {}
    static Expected<Preempted> preempt(Handles queues) {
        if (const int answer = xp_queues_preempt(queues.data(), queues.size()); answer != 0)
            return detail::failed(answer);
        return Preempted(std::move(queues));
    }
    // One by one if the call for all of them did nothing because a handle was closed, or because a
    // part of them was resumed before.
    static int resume_each(const Handles& queues) noexcept {
        const int answer = xp_queues_resume(queues.data(), queues.size());
        if (answer != -EBADF && answer != -ENOENT)
            return answer;
        int first_error = 0;
        for (const xp_queue_t queue : queues) {
            const int error = xp_queue_resume(queue);
            if (error != 0 && error != -EBADF && error != -ENOENT && first_error == 0)
                first_error = error;
        }
        return first_error;
    }
    detail::Owned<Handles, resume_each> queues_;
};

} // namespace xpreempt::inline v0_tl
