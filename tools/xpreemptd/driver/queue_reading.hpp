// SPDX-License-Identifier: MIT
// Translates STATUS of a queue: whether it has work, and who holds it.
#pragma once

#include "driver/provider.hpp"

#include <kfd_preempt.h>

namespace xpreemptd {

inline QueueReading reading_of(const kfd_ioctl_preempt_status_args& status) {
    QueueReading reading;
    reading.uid = status.queue_uid;
    reading.doorbell = status.doorbell;
    reading.known = (status.valid & KFD_PREEMPT_VALID_INDEXES) != 0;
    reading.held = status.holds != 0;
    reading.by_programs = status.holds == KFD_PREEMPT_HOLD_OPERATOR;
    reading.away = (status.status & KFD_PREEMPT_STATUS_YIELDED) != 0;
    reading.packets = status.write_index;
    // The packet processor takes a packet off an AQL queue before the packet completes, so the ring
    // of a busy queue can be empty. A signal that cannot be read may be that of a running kernel.
    const bool has_packets = status.write_index != status.read_index;
    const bool may_run = (status.valid & KFD_PREEMPT_UNREAD_SIGNAL) != 0 ||
                         ((status.valid & KFD_PREEMPT_VALID_SIGNAL) != 0 && status.last_signal > 0);
    reading.by_signal = !has_packets && may_run;
    reading.busy = reading.known && (has_packets || reading.by_signal);
    return reading;
}

} // namespace xpreemptd
