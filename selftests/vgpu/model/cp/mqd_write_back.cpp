// SPDX-License-Identifier: MIT
// Fields that the CP writes into the MQD of a user queue that leaves its slot. Offsets and values
// are those of a MI308X (debugfs `mqds` and `hqds`); no source documents them.
#include "model/cp/command_processor.hpp"

namespace vgpu {
namespace {

// Fields of HQD registers.
constexpr std::uint32_t pq_empty = 1U << 15;          // CP_HQD_PQ_CONTROL
constexpr std::uint32_t queue_idle = 1U << 30;        // CP_HQD_HQ_STATUS0
constexpr std::uint32_t ran_a_packet = 1U << 20;      // CP_HQD_HQ_STATUS0, a reserved bit
constexpr std::uint32_t eop_rptr_empty = 1U << 30;    // CP_HQD_EOP_RPTR.RPTR_EQ_CSMD_WPTR
constexpr std::uint32_t eop_wptr_empty = 0xffU << 15; // CP_HQD_EOP_WPTR: EOP_EMPTY, EOP_AVAIL

// Dwords of struct v9_mqd that are no registers of the HQD. Names where v9_structs.h has one.
constexpr std::uint32_t mqd_dispatch_initiator = 1;
constexpr std::uint32_t mqd_tg_chunk_size = 41;
constexpr std::uint32_t mqd_restore_tg_chunk_size = 42;
constexpr std::uint32_t mqd_connect_start_time = 88;
constexpr std::uint32_t mqd_connect_end_time = 90;
constexpr std::uint32_t mqd_read_index = 96;
constexpr std::uint32_t mqd_pq_exe_status = 114;
constexpr std::uint32_t mqd_reserved_227 = 227;
constexpr std::uint32_t mqd_reserved_320 = 320; // of XCC 0: the read pointer of each XCC

constexpr std::uint32_t order_mode = 1U << 14;      // COMPUTE_DISPATCH_INITIATOR
constexpr std::uint32_t executed = 3;               // in mqd_pq_exe_status
constexpr std::uint64_t connect_ended = 1ULL << 63; // in the start time

} // namespace

// The status bits of an HQD as they are now.
void CommandProcessor::refresh_status(unsigned slot) {
    Hqd& hqd = hqds_[slot];
    const Connection* connection = connections_[slot].get();
    if (connection == nullptr || hqd.vmid() == 0)
        return;
    const auto set = [&hqd](std::uint32_t index, std::uint32_t mask, bool on) {
        hqd.registers[index] = on ? hqd.registers[index] | mask : hqd.registers[index] & ~mask;
    };
    const bool empty = hqd.registers[hqd::pq_rptr] == hqd.registers[hqd::pq_wptr];
    set(hqd::pq_control, pq_empty, empty);
    set(hqd::hq_status0, queue_idle, empty);
    if (connection->aql && connection->aql->connect_times())
        hqd.registers[hqd::hq_status0] |= ran_a_packet;
}

// MAP_QUEUES: the queue's doorbell is on, its packets and indirect buffers run in its VMID, and its
// end-of-pipe queue, which user space gives none, is empty.
void CommandProcessor::enter_vmid(unsigned slot, unsigned vmid) {
    Hqd& hqd = hqds_[slot];
    hqd.registers[hqd::doorbell] |= hqd::doorbell_scheduler_hit | hqd::doorbell_enable;
    hqd.registers[hqd::vmid] = vmid | vmid << 8; // VMID, IB_VMID
    if (vmid == 0)
        return;
    hqd.registers[hqd::eop_rptr] = eop_rptr_empty;
    hqd.registers[hqd::eop_wptr] = eop_wptr_empty;
}

void CommandProcessor::write_back(unsigned slot) {
    Hqd& hqd = hqds_[slot];
    if (hqd.mqd() == 0)
        return;
    refresh_status(slot);
    const auto store = [&](std::uint32_t dword, std::uint32_t value) {
        unit_.memory.store32(0, hqd.mqd() + 4ULL * dword, value);
    };
    for (const std::uint32_t index :
         {hqd::pq_rptr, hqd::pq_wptr, hqd::pq_wptr + 1, hqd::ib_base, hqd::ib_base + 1,
          hqd::ib_rptr, hqd::cntl_stack_offset, hqd::wg_state_offset})
        store(hqd::mqd_dword + index, hqd.registers[index]);
    if (hqd.vmid() == 0)
        return; // what of a kernel queue is written isn't known
    for (const std::uint32_t index :
         {hqd::vmid, hqd::doorbell, hqd::pq_control, hqd::hq_status0, hqd::eop_rptr, hqd::eop_wptr})
        store(hqd::mqd_dword + index, hqd.registers[index]);
    if (connections_[slot]->aql)
        write_back_packets(slot);
}

void CommandProcessor::write_back_packets(unsigned slot) {
    Hqd& hqd = hqds_[slot];
    // NOLINTNEXTLINE(bugprone-unchecked-optional-access): the caller has seen it
    const AqlQueue& queue = *connections_[slot]->aql;
    const auto times = queue.connect_times();
    if (!times)
        return;
    const auto store = [&](std::uint32_t dword, std::uint32_t value) {
        unit_.memory.store32(0, hqd.mqd() + 4ULL * dword, value);
    };
    const auto store64 = [&](std::uint32_t dword, std::uint64_t value) {
        unit_.memory.store64(0, hqd.mqd() + 4ULL * dword, value);
    };
    hqd.set_pair(hqd::aql_dispatch_id, queue.packets_read());
    for (const std::uint32_t index : {hqd::aql_dispatch_id, hqd::aql_dispatch_id + 1})
        store(hqd::mqd_dword + index, hqd.registers[index]);
    store64(mqd_read_index, queue.packets_read());
    store64(mqd_connect_start_time, times->start | connect_ended);
    store64(mqd_connect_end_time, times->end);
    store(mqd_dispatch_initiator, order_mode);
    store(mqd_restore_tg_chunk_size, mqd_field(slot, mqd_tg_chunk_size));
    store(mqd_pq_exe_status, executed);
    store(mqd_reserved_227, 1);
    unit_.memory.store32(0, queue.mqd_on(0) + 4ULL * (mqd_reserved_320 + unit_.xcc),
                         hqd.registers[hqd::pq_rptr]);
}

} // namespace vgpu
