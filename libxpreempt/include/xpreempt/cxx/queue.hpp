// SPDX-License-Identifier: MIT
// xpreempt/queue.h in C++: KFD queues by id or hsa_queue_t, and holds of one.
#pragma once

#include <xpreempt/cxx/owned.hpp>
#include <xpreempt/queue.h>

#include <cstdint>

namespace xpreempt::inline v0_tl {

// A value that names one queue of this process.
class Queue {
public:
    explicit Queue(xp_queue_t queue) noexcept : queue_(queue) {}

    [[nodiscard]] static Expected<Queue> of_id(std::uint32_t kfd_queue_id) {
        return detail::value_of<xp_queue_t>(
                   [=](xp_queue_t* queue) { return xp_queue_of_id(kfd_queue_id, queue); })
            .map([](xp_queue_t queue) { return Queue(queue); });
    }
    [[nodiscard]] static Expected<Queue> of_hsa(const void* hsa_queue) {
        return detail::value_of<xp_queue_t>(
                   [=](xp_queue_t* queue) { return xp_queue_of_hsa(hsa_queue, queue); })
            .map([](xp_queue_t queue) { return Queue(queue); });
    }

    // xp_queue_hold(): lasts until as many release(); see HeldQueue.
    Expected<void> hold(std::uint32_t flags = 0, std::uint32_t timeout_ms = 0) const {
        return detail::as_expected(xp_queue_hold(queue_, flags, timeout_ms));
    }
    Expected<void> release() const { return detail::as_expected(xp_queue_release(queue_)); }

    [[nodiscard]] xp_queue_t get() const noexcept { return queue_; }

private:
    xp_queue_t queue_;
};

// One hold of one queue, released at the end of its scope.
class HeldQueue {
public:
    [[nodiscard]] static Expected<HeldQueue> hold(Queue queue, std::uint32_t flags = 0,
                                                  std::uint32_t timeout_ms = 0) {
        return queue.hold(flags, timeout_ms).map([&] { return HeldQueue(queue.get()); });
    }

    // xp_queue_release(), as the destructor does, with its error.
    Expected<void> release() { return queue_.end(); }

private:
    explicit HeldQueue(xp_queue_t queue) : queue_(queue) {}
    detail::Owned<xp_queue_t, xp_queue_release> queue_;
};

} // namespace xpreempt::inline v0_tl
