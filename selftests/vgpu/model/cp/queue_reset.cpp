// SPDX-License-Identifier: MIT
// Queues that don't leave: the report in the HIQ's MQD, and the resets that get rid of them.
#include "model/cp/command_processor.hpp"

#include <fmt/format.h>

namespace vgpu {
namespace {

// queue_doorbell_id0 to 15 of struct v9_mqd. The driver looks at the first
// (check_preemption_failed of kfd_mqd_manager_v9.c), and only whether it is zero.
constexpr std::uint32_t mqd_queue_doorbell_id = 240;
constexpr unsigned reported_queues = 16;

// CP_MEC_CNTL.MEC_ME1_PIPE0_RESET and the three behind it.
constexpr unsigned pipe0_reset_bit = 16;

} // namespace

void CommandProcessor::connect_reset_registers() {
    unit_.registers.on_write(reg::gc::SPI_COMPUTE_QUEUE_RESET, [this](std::uint32_t value) {
        if (bit(value, 0))
            reset_queue(selected_slot());
    });
    unit_.registers.on_write(reg::gc::CP_MEC_CNTL, [this](std::uint32_t value) {
        unit_.registers.set(reg::gc::CP_MEC_CNTL, value);
        for (unsigned pipe = 0; pipe < pipes_per_me; ++pipe)
            if (bit(value, pipe0_reset_bit + pipe))
                for (unsigned queue = 0; queue < queues_per_pipe; ++queue)
                    reset_queue(slot_of({1, pipe, queue}));
    });
}

// The firmware gives up on queues that didn't leave in time: it continues with the HIQ, and says
// in the HIQ's MQD which they are (comment in unmap_queues_cpsch of the driver). Their dequeue
// stays latched.
void CommandProcessor::report_hung(unsigned hiq) {
    unsigned reported = 0;
    for (unsigned slot = 0; slot < hqd_slots; ++slot) {
        if (!by_runlist(slot) || !connections_[slot]->stopping || reported == reported_queues)
            continue;
        const std::uint32_t doorbell = hqds_[slot].doorbell_dword();
        unit_.memory.store32(0, hqds_[hiq].mqd() + 4ULL * (mqd_queue_doorbell_id + reported),
                             doorbell);
        ++reported;
        unit_.observer.count("hung_queues", 1);
        unit_.observer.event(
            "cp", fmt::format("queue {:#x} does not leave {}: reported", doorbell, name_of(slot)));
    }
}

// A queue that was asked to leave does so now, without its waves. One that wasn't asked stays:
// the driver only resets queues whose dequeue hasn't been answered.
void CommandProcessor::reset_queue(unsigned slot) {
    const auto& connection = connections_[slot];
    const bool asked = connection != nullptr && (connection->stopping || connection->skipped);
    if (!asked || !connection->has_waves() || !unit_.faults.queue_reset(global_slot(slot)))
        return;
    unit_.observer.count("queue_resets", 1);
    unit_.observer.event(actor_, fmt::format("reset queue {:#x}", hqds_[slot].doorbell_dword()));
    connection->stopping = StopMode::reset;
    connection->stop_seen = true;
    connection->leaves_at = 0;
    unit_.shaders.request_stop(slot, StopMode::reset);
    finish_stop(slot);
}

} // namespace vgpu
