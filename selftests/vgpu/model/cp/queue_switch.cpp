// SPDX-License-Identifier: MIT
// Connecting a queue to its slot and taking it off: MQD write-back, control stack, CWSR.
#include "model/cp/command_processor.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace vgpu {
namespace {

// The control stack of a user compute queue lies one page behind its MQD (allocate_mqd() of
// kfd_mqd_manager_v9.c), is as large as CP_HQD_CNTL_STACK_SIZE says, and grows down.
constexpr std::uint64_t control_stack_from_mqd = 4096;

// Dwords of struct v9_mqd (v9_structs.h) that are no registers of the HQD.
constexpr std::uint32_t mqd_header = 0xC0310800; // dword 0
constexpr std::uint32_t mqd_logic_xcc_id = 39;
constexpr std::uint32_t mqd_tg_chunk_size = 41;
constexpr std::uint32_t mqd_pm4_target_xcc = 225;
constexpr std::uint32_t mqd_stride = 226;

const char* name_of_mode(StopMode mode) {
    switch (mode) {
    case StopMode::drain: return "drain";
    case StopMode::reset: return "reset";
    case StopMode::save: return "save";
    }
    return "?";
}

} // namespace

std::uint32_t CommandProcessor::mqd_field(unsigned slot, std::uint32_t dword) {
    return unit_.memory.read32(0, hqds_[slot].mqd() + 4ULL * dword);
}

void CommandProcessor::load_mqd(unsigned slot, std::uint64_t mqd, const pm4::MapQueues& packet,
                                unsigned vmid) {
    Hqd& hqd = hqds_[slot];
    for (std::uint32_t index = 0; index < hqd::count; ++index)
        hqd.registers[index] = unit_.memory.read32(0, mqd + 4ULL * (hqd::mqd_dword + index));
    hqd.set_pair(hqd::mqd_base, mqd);
    hqd.set_pair(hqd::wptr_poll, packet.wptr_address);
    hqd.registers[hqd::doorbell] =
        (hqd.registers[hqd::doorbell] & ~hqd::doorbell_offset) | packet.doorbell << 2;
    enter_vmid(slot, vmid);
}

// The MQDs of the XCCs lie cp_mqd_stride_size apart.
std::uint64_t CommandProcessor::own_mqd(const pm4::MapQueues& packet) const {
    const std::uint64_t stride =
        unit_.xcc == 0 ? 0 : unit_.memory.read32(0, packet.mqd + 4ULL * mqd_stride);
    return packet.mqd + unit_.xcc * stride;
}

void CommandProcessor::load_queue(unsigned slot, const pm4::MapQueues& packet, unsigned vmid) {
    const std::uint64_t mqd = own_mqd(packet);
    const auto seen = seen_write(mqd);
    load_mqd(slot, mqd, packet, vmid);
    // A MI308X does this too: even an MQD that was never written back has it.
    if (vmid != 0)
        unit_.memory.store32(0, mqd + 4ULL * (hqd::mqd_dword + hqd::active), 1);
    connect(slot, true, packet.controls_gws);
    if (seen)
        lose_doorbell(slot, *seen);
}

void CommandProcessor::connect(unsigned slot, bool by_runlist, bool controls_gws) {
    Hqd& hqd = hqds_[slot];
    hqd.registers[hqd::active] |= 1;
    hqd.registers[hqd::dequeue_request] = 0;
    saved_mqds_.erase(hqd.mqd());
    connections_[slot] = std::make_unique<Connection>();
    connections_[slot]->by_runlist = by_runlist;
    connections_[slot]->controls_gws = controls_gws;
    connections_[slot]->looks_at = unit_.schedule.later(Schedule::Kind::map);
    if (unit_.observer.tracing())
        unit_.observer.event(actor_, fmt::format("map queue {:#x} to {} vmid {} mqd {:#x} {}",
                                                 hqd.doorbell_dword(), name_of(slot), hqd.vmid(),
                                                 hqd.mqd(), hqd.is_aql() ? "aql" : "pm4"));
    if (hqd.is_aql()) {
        connect_aql(slot);
        return;
    }
    // A user PM4 queue may have been written while it was off; a kernel queue's doorbell comes.
    if (hqd.vmid() != 0 && hqd.pair(hqd::wptr_poll) != 0)
        hqd.registers[hqd::pq_wptr] = unit_.memory.read32(hqd.vmid(), hqd.pair(hqd::wptr_poll));
    connections_[slot]->follows = unit_.scheduler.xccs() > 1 && hqd.vmid() != 0 &&
                                  mqd_field(slot, mqd_pm4_target_xcc) != unit_.xcc;
    if (hqd.vmid() != 0 && !connections_[slot]->follows)
        connect_user_pm4(slot);
    else
        connections_[slot]->pm4.emplace(*this, slot);
}

void CommandProcessor::connect_aql(unsigned slot) {
    const unsigned xccs = unit_.scheduler.xccs();
    sq::WorkgroupShare share;
    if (xccs > 1)
        share = {std::max(1U, mqd_field(slot, mqd_tg_chunk_size)),
                 mqd_field(slot, mqd_logic_xcc_id) % xccs, xccs};
    bind(slot, share);
    const std::uint32_t stride = xccs > 1 ? mqd_field(slot, mqd_stride) : 0;
    connections_[slot]->aql.emplace(
        AqlSurroundings{unit_.memory, unit_.shaders, unit_.interrupts, *this, unit_.clock,
                        unit_.schedule, unit_.observer,
                        unit_.registers.value(reg::gc::CP_MEC_ME1_UCODE_ADDR)},
        slot, hqds_[slot], AqlPartition{unit_.scheduler, unit_.xcc, stride, share});
    restore(slot);
}

// One XCC executes it, with all workgroups.
void CommandProcessor::connect_user_pm4(unsigned slot) {
    bind(slot, {});
    connections_[slot]->user_pm4.emplace(
        Pm4Surroundings{unit_.memory, unit_.shaders, *this, unit_.clock, unit_.observer}, slot,
        hqds_[slot]);
    restore(slot);
}

void CommandProcessor::bind(unsigned slot, const sq::WorkgroupShare& share) {
    const Hqd& hqd = hqds_[slot];
    const VmidState& vmid = vmids_[hqd.vmid()];
    unit_.shaders.bind({.slot = slot,
                        .vmid = hqd.vmid(),
                        .doorbell_id = hqd.doorbell_id(),
                        .tba = vmid.tba(),
                        .tma = vmid.tma(),
                        .ctx_save_base = hqd.pair(hqd::ctx_save_base),
                        .ctx_save_bytes = hqd.registers[hqd::ctx_save_size],
                        .ctl_stack_bytes = hqd.registers[hqd::cntl_stack_size],
                        .sh_mem_bases = vmid.sh_mem_bases,
                        .xcc = unit_.xcc,
                        .share = share,
                        .cu_mask = ComputeRegisters::cu_mask(unit_.memory, hqd.mqd()),
                        .gws = gws(hqd.vmid()),
                        .controls_gws = connections_[slot]->controls_gws,
                        .debug_control = vmid.debug_control});
}

// BASE [5:0], SIZE [22:16].
void CommandProcessor::set_gws(unsigned vmid, sq::GwsRange range) {
    unit_.registers.set(reg::gc::GDS_GWS_VMID0 + vmid, range.base | range.size << 16);
}

sq::GwsRange CommandProcessor::gws(unsigned vmid) const {
    const std::uint32_t value = unit_.registers.value(reg::gc::GDS_GWS_VMID0 + vmid);
    return {bits(value, 5, 0), bits(value, 22, 16)};
}

// Continues what a save left in the control stack. The stack is empty from then on.
void CommandProcessor::restore(unsigned slot) {
    Hqd& hqd = hqds_[slot];
    const std::uint32_t size = hqd.registers[hqd::cntl_stack_size];
    const std::uint32_t offset = hqd.registers[hqd::cntl_stack_offset];
    if (offset >= size)
        return;
    std::vector<std::byte> stack(size - offset);
    const std::uint64_t address = hqd.mqd() + control_stack_from_mqd + offset;
    Connection& connection = *connections_[slot];
    if (!unit_.memory.read(0, address, stack) ||
        !(connection.aql ? connection.aql->restore(stack) : unit_.shaders.restore(slot, stack))) {
        unit_.observer.unmodelled("cp", "a control stack that no save wrote");
        return;
    }
    hqd.registers[hqd::cntl_stack_offset] = size;
    hqd.registers[hqd::wg_state_offset] = size;
    unit_.observer.count("queue_restores", 1);
    if (unit_.observer.tracing())
        unit_.observer.event(actor_,
                             fmt::format("restore queue {:#x} control stack {} bytes in flight {}",
                                         hqd.doorbell_dword(), stack.size(),
                                         unit_.shaders.dispatches_in_flight(slot)));
    if (connection.aql)
        connection.aql->complete_restored();
}

AqlQueue* CommandProcessor::aql_queue(unsigned slot, std::uint64_t mqd) {
    Connection* connection = connections_[slot].get();
    if (connection == nullptr || !connection->aql || hqds_[slot].mqd() != mqd)
        return nullptr;
    return &*connection->aql;
}

StopRequest CommandProcessor::stop_request(unsigned slot, StopMode mode, bool direct) const {
    return {.slot = global_slot(slot),
            .xcc = unit_.xcc,
            .doorbell = hqds_[slot].doorbell_dword(),
            .vmid = hqds_[slot].vmid(),
            .pasid = unit_.memory.pasid(hqds_[slot].vmid()),
            .direct = direct,
            .save = mode == StopMode::save};
}

void CommandProcessor::begin_stop(unsigned slot, StopMode mode, bool direct) {
    Connection& connection = *connections_[slot];
    if (connection.stopping) {
        // A reset overtakes a save that a time slice began.
        if (mode == StopMode::reset && !direct && !connection.direct) {
            connection.stopping = mode;
            if (connection.stop_seen)
                unit_.shaders.request_stop(slot, mode);
        }
        return;
    }
    connection.stopping = mode;
    connection.direct = direct;
    connection.stops_at = unit_.schedule.later(Schedule::Kind::stop);
    if (unit_.observer.tracing())
        unit_.observer.event(actor_,
                             fmt::format("stop queue {:#x} {}{}", hqds_[slot].doorbell_dword(),
                                         name_of_mode(mode), direct ? " (dequeue request)" : ""));
    see_stop(slot);
}

// Nothing of the queue starts from here on. False while the CP hasn't taken note of the request.
bool CommandProcessor::see_stop(unsigned slot) {
    Connection& connection = *connections_[slot];
    if (connection.stop_seen || !unit_.schedule.reached(connection.stops_at))
        return connection.stop_seen;
    connection.stop_seen = true;
    if (!connection.has_waves())
        return true;
    if (connection.aql)
        connection.aql->begin_stop();
    else if (connection.user_pm4)
        connection.user_pm4->begin_stop();
    // NOLINTNEXTLINE(bugprone-unchecked-optional-access): the caller has checked it
    const StopMode mode = *connection.stopping;
    const StopRequest request = stop_request(slot, mode, connection.direct);
    if (request.save && !unit_.shaders.stopped(slot) && unit_.faults.waves_hang(request))
        unit_.shaders.ignore_save_requests(slot, true);
    unit_.shaders.request_stop(slot, mode);
    unit_.faults.stop_begins(request);
    return true;
}

// Takes a stopped queue off its slot. False while waves are still on the hardware.
bool CommandProcessor::finish_stop(unsigned slot) {
    Connection& connection = *connections_[slot];
    if (!see_stop(slot) || (connection.has_waves() && !unit_.shaders.stopped(slot)))
        return false;
    if (unit_.faults.hung() ||
        (connection.has_waves() && unit_.faults.stop_held(global_slot(slot))))
        return false;
    // NOLINTNEXTLINE(bugprone-unchecked-optional-access): the caller has checked it
    const StopMode mode = *connection.stopping;
    if (!connection.leaves_at) {
        connection.leaves_at = unit_.schedule.later(Schedule::Kind::leave);
        connection.fence_is_early = connection.aql && !connection.direct &&
                                    unit_.faults.early_fence(stop_request(slot, mode, false));
    }
    if (!unit_.schedule.reached(*connection.leaves_at) ||
        (connection.fence_is_early && unit_.faults.stop_held(global_slot(slot))))
        return false;
    if (connection.aql)
        connection.aql->report_all();
    store_queue(slot, mode);
    disconnect(slot);
    return true;
}

bool CommandProcessor::left(unsigned slot) {
    const auto& connection = connections_[slot];
    return connection == nullptr || !connection->stopping || finish_stop(slot) ||
           connection->fence_is_early;
}

void CommandProcessor::store_queue(unsigned slot, StopMode mode) {
    const Hqd& hqd = hqds_[slot];
    Connection& connection = *connections_[slot];
    unit_.observer.count("queue_unmaps", 1);
    if (connection.of_user() && mode == StopMode::reset) {
        if (connection.aql)
            connection.aql->drop_in_flight();
        store_control_stack(slot, {}, 0);
    } else if (connection.of_user()) {
        store_waves(slot);
    }
    if (connection.user_pm4)
        connection.user_pm4->store();
    write_back(slot);
    if (connection.aql && mode == StopMode::save)
        saved_mqds_[hqd.mqd()] = {unit_.memory.pasid(hqd.vmid()),
                                  hqd.registers[hqd::cntl_stack_offset],
                                  connection.aql->seen_write()};
}

void CommandProcessor::store_waves(unsigned slot) {
    const Connection& connection = *connections_[slot];
    const std::uint32_t doorbell = hqds_[slot].doorbell_dword();
    const std::size_t in_flight =
        connection.aql ? connection.aql->in_flight() : unit_.shaders.dispatches_in_flight(slot);
    const SavedQueue saved = unit_.shaders.take_saved(slot);
    store_control_stack(slot,
                        connection.aql ? connection.aql->control_stack(saved.control_stack)
                                       : saved.control_stack,
                        saved.wave_state_bytes);
    unit_.scheduler.count_saved(saved.waves);
    if (saved.waves != 0) {
        unit_.observer.count("queue_saves", 1);
        unit_.observer.count("waves_saved", saved.waves);
        unit_.observer.count("handler_instructions", saved.handler_instructions);
        unit_.observer.count(fmt::format("saves_by_doorbell/{:#x}", doorbell), 1);
    }
    if (unit_.observer.tracing())
        unit_.observer.event(
            actor_, fmt::format("save queue {:#x} waves {} state {} bytes handler {} in flight {}",
                                doorbell, saved.waves, saved.wave_state_bytes,
                                saved.handler_instructions, in_flight));
}

unsigned CommandProcessor::scribble_saved_mqds(std::uint16_t pasid) {
    constexpr auto field = [](std::uint32_t index) { return 4ULL * (hqd::mqd_dword + index); };
    unsigned scribbled = 0;
    for (const auto& [mqd, saved] : saved_mqds_) {
        const std::uint64_t offset = mqd + field(hqd::cntl_stack_offset);
        // The driver may have freed and unmapped the memory since: what is there must be what was
        // saved.
        if (saved.pasid != pasid || !unit_.memory.is_mapped(0, mqd, Access::read) ||
            unit_.memory.read32(0, mqd) != mqd_header ||
            unit_.memory.read32(0, offset) != saved.ctl_stack_offset)
            continue;
        const std::uint32_t size = unit_.memory.read32(0, mqd + field(hqd::cntl_stack_size));
        const std::vector<std::byte> junk(size - std::min(size, saved.ctl_stack_offset),
                                          std::byte{0xff});
        unit_.memory.write(0, mqd + control_stack_from_mqd + size - junk.size(), junk);
        unit_.memory.store32(0, offset, size);
        unit_.memory.store32(0, mqd + field(hqd::wg_state_offset), size);
        ++scribbled;
    }
    return scribbled;
}

void CommandProcessor::store_control_stack(unsigned slot, std::span<const std::byte> stack,
                                           std::uint32_t wave_state_bytes) {
    Hqd& hqd = hqds_[slot];
    const std::uint32_t size = hqd.registers[hqd::cntl_stack_size];
    if (stack.size() > size) {
        unit_.observer.unmodelled(
            "cp", fmt::format("{} bytes of control stack where {} fit", stack.size(), size));
        return;
    }
    const std::uint32_t offset = size - static_cast<std::uint32_t>(stack.size());
    unit_.memory.write(0, hqd.mqd() + control_stack_from_mqd + offset, stack);
    hqd.registers[hqd::cntl_stack_offset] = offset;
    hqd.registers[hqd::wg_state_offset] = size + wave_state_bytes;
}

void CommandProcessor::disconnect(unsigned slot) {
    Hqd& hqd = hqds_[slot];
    if (connections_[slot]->has_waves())
        unit_.shaders.unbind(slot);
    connections_[slot].reset();
    if (unit_.observer.tracing())
        unit_.observer.event(
            actor_, fmt::format("queue {:#x} left {}", hqd.doorbell_dword(), name_of(slot)));
    // As in a MI308X: the pointers are 0 and no doorbell is named, all else stays until the slot
    // is taken again.
    hqd.registers[hqd::active] = 0;
    hqd.registers[hqd::dequeue_request] = 0;
    hqd.registers[hqd::doorbell] &= ~(hqd::doorbell_offset | hqd::doorbell_scheduler_hit |
                                      hqd::doorbell_enable | hqd::doorbell_hit);
    hqd.registers[hqd::pq_rptr] = 0;
    hqd.set_pair(hqd::pq_wptr, 0);
}

} // namespace vgpu
