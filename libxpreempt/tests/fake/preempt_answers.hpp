// SPDX-License-Identifier: MIT
// The calls of preemption on the queues of the fake driver. They answer as the driver does:
// uapi/tests/driver_answers.h.
#pragma once

#include "fake/fake_rocm.hpp"
#include "kfd/queue_ioctls.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <iterator>
#include <kfd_preempt.h>
#include <span>

namespace fake {

constexpr std::uint32_t max_batch = 16;

// Returns true as often as the number says.
inline bool takes_one(std::atomic<unsigned>& number) {
    unsigned left = number;
    while (left > 0 && !number.compare_exchange_weak(left, left - 1)) {
    }
    return left > 0;
}

inline void before(const Driver& told, unsigned number) {
    if (number == xpreempt::kfd::nr_destroy_queue && told.in_destroy != nullptr)
        told.in_destroy();
}

// As KFD: after ETIME and EIO the queue is gone nevertheless.
inline int destroy(Driver& told, bool& used) {
    const int error = told.refused_destroy.exchange(0);
    used = used && error != 0 && error != ETIME && error != EIO;
    return -error;
}

// The next number of a small generator.
inline std::uint32_t draw(std::atomic<std::uint32_t>& state) {
    std::uint32_t next = state;
    next ^= next << 13;
    next ^= next >> 17;
    next ^= next << 5;
    state = next;
    return next >> 8;
}

enum class Fault { none, refused, late, lost };
inline Fault fault_of(Driver& told) {
    return told.faults == 0 ? Fault::none : Fault(draw(told.faults) % 4);
}

class PreemptAnswers {
public:
    PreemptAnswers(Driver& told, const bool (&used)[64]) : told_(told), used_(used) {}

    // As with firmware scheduling, and without FAST and CHECKPOINT.
    int preempt(const kfd_ioctl_preempt_queue_args& args) {
        if (args.flags != 0 || args.preempt_type > KFD_PREEMPT_TYPE_SAVE ||
            args.timeout_ms > KFD_PREEMPT_MAX_TIMEOUT_MS)
            return -EINVAL;
        if (const int error = find_queue(args.queue_id))
            return error;
        fake::Queue& queue = told_.queues[args.queue_id];
        if (queue.held) {
            told_.late_answers += queue.pending ? 1 : 0;
            return queue.pending ? -ETIME : -EALREADY;
        }
        if (args.preempt_type != KFD_PREEMPT_TYPE_SAVE)
            return -EOPNOTSUPP;
        const Fault fault = fault_of(told_);
        if (fault == Fault::refused || takes_one(told_.refused_stops))
            return -EBUSY;
        queue.pending = takes_one(told_.late_stops) || fault == Fault::late;
        queue.held = true;
        if (queue.pending) {
            ++told_.late_answers;
            return -ETIME;
        }
        ++queue.preempts;
        return fault == Fault::lost ? -EFAULT : 0;
    }

    int resume(const kfd_ioctl_resume_queue_args& args) {
        if (args.flags != 0 || args.pad[0] != 0 || args.pad[1] != 0)
            return -EINVAL;
        if (const int error = find_queue(args.queue_id))
            return error;
        fake::Queue& queue = told_.queues[args.queue_id];
        if (!queue.held)
            return -EALREADY;
        const Fault fault = fault_of(told_);
        if (fault == Fault::none && told_.faults != 0)
            queue.pending = false;
        if (queue.pending)
            return -EBUSY;
        if (takes_one(told_.refused_starts) || fault == Fault::refused)
            return -ENOSPC;
        queue.held = false;
        return fault == Fault::lost ? -EFAULT : 0;
    }

    // For own queues; each entry is independent of the others.
    int switch_queues(kfd_ioctl_preempt_switch_args& args) {
        if (args.flags != 0 || args.target_fd != 0 || args.target_pid != 0 || args.reserved != 0 ||
            args.timeout_ms > KFD_PREEMPT_MAX_TIMEOUT_MS || args.num_entries == 0)
            return -EINVAL;
        if (args.num_entries > max_batch)
            return -E2BIG;
        const std::span entries(reinterpret_cast<kfd_preempt_switch_entry*>(args.entries_ptr),
                                args.num_entries);
        if (!std::ranges::all_of(entries, is_valid))
            return -EINVAL;
        for (kfd_preempt_switch_entry& entry : entries) {
            entry.result = entry.op == KFD_PREEMPT_OP_PREEMPT
                               ? preempt({entry.queue_id, entry.preempt_type, args.timeout_ms, 0})
                               : resume({entry.queue_id, 0, {}});
            args.num_done += entry.result == 0 ? 1U : 0U;
        }
        return 0;
    }

    int status(kfd_ioctl_preempt_status_args& args) const {
        if ((args.flags & ~KFD_PREEMPT_STATUS_COUNT_MEMORY) != 0 || args.pad != 0)
            return -EINVAL;
        if (args.queue_id >= std::size(used_) || !used_[args.queue_id])
            return -ENOENT;
        const fake::Queue& queue = told_.queues[args.queue_id];
        args.state = told_.lost   ? KFD_PREEMPT_STATE_DEAD
                     : queue.held ? KFD_PREEMPT_STATE_HELD
                                  : KFD_PREEMPT_STATE_RUNNING;
        args.holds = queue.held ? KFD_PREEMPT_HOLD_SELF : 0;
        args.preempts = queue.preempts;
        return 0;
    }

private:
    // Returns 0 if calls of PREEMPT on this queue find it alive.
    [[nodiscard]] int find_queue(std::uint32_t id) const {
        if (id >= std::size(used_) || !used_[id])
            return -ENOENT;
        return told_.lost ? -EIO : 0;
    }

    static bool is_valid(const kfd_preempt_switch_entry& entry) {
        return entry.reserved == 0 && entry.gpu_id == 0 && entry.target_pid == 0 &&
               (entry.op == KFD_PREEMPT_OP_PREEMPT
                    ? entry.preempt_type <= KFD_PREEMPT_TYPE_SAVE
                    : entry.op == KFD_PREEMPT_OP_RESUME && entry.preempt_type == 0);
    }

    Driver& told_;
    const bool (&used_)[64];
};

} // namespace fake
