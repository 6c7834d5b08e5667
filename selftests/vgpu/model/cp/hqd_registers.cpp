// SPDX-License-Identifier: MIT
// The command processor's slots as the driver sees them: banked CP_HQD_* registers.
#include "model/cp/command_processor.hpp"

#include <fmt/format.h>

namespace vgpu {
namespace {

// CP_HQD_DEQUEUE_REQUEST.DEQUEUE_REQ (enum hqd_dequeue_request_type of amdgpu_amdkfd.h).
std::optional<StopMode> stop_mode(std::uint32_t request) {
    switch (request & 0xf) {
    case 1: return StopMode::drain;
    case 2: return StopMode::reset;
    case 3: return StopMode::save;
    default: return std::nullopt;
    }
}

} // namespace

void CommandProcessor::connect_registers() {
    for (std::uint32_t index = 0; index < hqd::count; ++index) {
        unit_.registers.on_read(hqd::first + index, [this, index] { return read_hqd(index); });
        unit_.registers.on_write(hqd::first + index,
                                 [this, index](std::uint32_t value) { write_hqd(index, value); });
    }
    // "Poll these queues' write pointers once": a connected queue is looked at anyway.
    unit_.registers.on_write(reg::gc::CP_PQ_WPTR_POLL_CNTL1, [this](std::uint32_t) { run(); });
}

// GRBM_GFX_CNTL: PIPE [1:0], ME [3:2], VMID [7:4], QUEUE [10:8]. ME 0 is graphics; reading its
// slots finds the first slot of ME 1, which is what a part without graphics pipes does.
unsigned CommandProcessor::selected_slot() const {
    const std::uint32_t control = unit_.registers.value(reg::gc::GRBM_GFX_CNTL);
    const unsigned me = bits(control, 3, 2);
    if (me != 1 && me != 2)
        return slot_of({1, 0, 0});
    return slot_of({me, bits(control, 1, 0), bits(control, 10, 8)});
}

std::uint32_t CommandProcessor::read_hqd(std::uint32_t index) {
    const unsigned slot = selected_slot();
    const auto& connection = connections_[slot];
    if (index == hqd::active && connection != nullptr && connection->stopping) {
        unit_.faults.active_polled(global_slot(slot));
        finish_stop(slot);
    }
    refresh_status(slot);
    return hqds_[slot].registers[index];
}

void CommandProcessor::write_hqd(std::uint32_t index, std::uint32_t value) {
    const unsigned slot = selected_slot();
    Hqd& hqd = hqds_[slot];
    const auto& connection = connections_[slot];
    const bool stopping = connection != nullptr && connection->stopping.has_value();
    if (stopping) {
        // The dequeue stays latched until it is answered. Loading another queue over it would
        // lose waves on real hardware; it is a driver's bug, so it ends the run as one.
        if (index != hqd::dequeue_request)
            unit_.observer.unmodelled("cp",
                                      fmt::format("write of {} while a dequeue is pending",
                                                  unit_.registers.file().name(hqd::first + index)));
        return;
    }
    if (index == hqd::active) {
        const bool activate = bit(value, 0);
        if (activate && connection == nullptr) {
            hqd.registers[hqd::active] = value;
            connect(slot, false);
            run();
        } else if (!activate && connection != nullptr) {
            // A queue of a process leaves by a dequeue; who loads an HQD over it has forgotten that
            // it is there, and what it has begun will be begun again.
            if (connection->of_user())
                unit_.observer.unmodelled("cp", "an HQD loaded under a queue");
            disconnect(slot);
        }
        return;
    }
    hqd.registers[index] = value;
    if (index == hqd::dequeue_request && connection != nullptr) {
        const auto mode = stop_mode(value);
        if (!mode)
            return;
        begin_stop(slot, *mode, true);
        run();
    } else if (index == hqd::dequeue_request) {
        hqd.registers[index] = 0; // nothing to dequeue: answered at once
    }
}

} // namespace vgpu
