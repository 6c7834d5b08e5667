// SPDX-License-Identifier: MIT
// Hardware queue descriptors: the slots that queues are connected to, and their registers.
#pragma once

#include "model/base/bits.hpp"
#include "registers.hpp"

#include <array>
#include <cstdint>
#include <string>

namespace vgpu {

// ME 1 and 2 are the two compute engines (MEC1, MEC2).
struct HqdAddress {
    unsigned me = 1;
    unsigned pipe = 0;
    unsigned queue = 0;
};

inline constexpr unsigned pipes_per_me = 4;
inline constexpr unsigned queues_per_pipe = 8;
inline constexpr unsigned hqd_slots = 2 * pipes_per_me * queues_per_pipe;

constexpr unsigned slot_of(HqdAddress address) {
    return ((address.me - 1) * pipes_per_me + address.pipe) * queues_per_pipe + address.queue;
}

constexpr HqdAddress address_of(unsigned slot) {
    return {slot / (pipes_per_me * queues_per_pipe) + 1, slot / queues_per_pipe % pipes_per_me,
            slot % queues_per_pipe};
}

// Ring id of the CP's interrupt entries.
constexpr std::uint8_t ring_id_of(unsigned slot) {
    const HqdAddress address = address_of(slot);
    return static_cast<std::uint8_t>(address.queue << 4 | address.me << 2 | address.pipe);
}

// The registers of one HQD lie at CP_MQD_BASE_ADDR + i, and the MQD keeps register i in dword
// 128 + i (struct v9_mqd of v9_structs.h), which is how queues are connected and saved.
namespace hqd {
inline constexpr std::uint32_t first = reg::gc::CP_MQD_BASE_ADDR;
inline constexpr std::uint32_t count = reg::gc::CP_HQD_AQL_DISPATCH_ID_HI - first + 1;
inline constexpr std::uint32_t mqd_dword = 128;

inline constexpr std::uint32_t mqd_base = reg::gc::CP_MQD_BASE_ADDR - first;
inline constexpr std::uint32_t active = reg::gc::CP_HQD_ACTIVE - first;
inline constexpr std::uint32_t vmid = reg::gc::CP_HQD_VMID - first;
inline constexpr std::uint32_t pq_base = reg::gc::CP_HQD_PQ_BASE - first;
inline constexpr std::uint32_t pq_rptr = reg::gc::CP_HQD_PQ_RPTR - first;
inline constexpr std::uint32_t rptr_report = reg::gc::CP_HQD_PQ_RPTR_REPORT_ADDR - first;
inline constexpr std::uint32_t wptr_poll = reg::gc::CP_HQD_PQ_WPTR_POLL_ADDR - first;
inline constexpr std::uint32_t doorbell = reg::gc::CP_HQD_PQ_DOORBELL_CONTROL - first;
inline constexpr std::uint32_t pq_control = reg::gc::CP_HQD_PQ_CONTROL - first;
inline constexpr std::uint32_t ib_base = reg::gc::CP_HQD_IB_BASE_ADDR - first;
inline constexpr std::uint32_t ib_rptr = reg::gc::CP_HQD_IB_RPTR - first;
inline constexpr std::uint32_t dequeue_request = reg::gc::CP_HQD_DEQUEUE_REQUEST - first;
inline constexpr std::uint32_t hq_status0 = reg::gc::CP_HQD_HQ_STATUS0 - first;
inline constexpr std::uint32_t eop_rptr = reg::gc::CP_HQD_EOP_RPTR - first;
inline constexpr std::uint32_t eop_wptr = reg::gc::CP_HQD_EOP_WPTR - first;
inline constexpr std::uint32_t ctx_save_base = reg::gc::CP_HQD_CTX_SAVE_BASE_ADDR_LO - first;
inline constexpr std::uint32_t cntl_stack_offset = reg::gc::CP_HQD_CNTL_STACK_OFFSET - first;
inline constexpr std::uint32_t cntl_stack_size = reg::gc::CP_HQD_CNTL_STACK_SIZE - first;
inline constexpr std::uint32_t wg_state_offset = reg::gc::CP_HQD_WG_STATE_OFFSET - first;
inline constexpr std::uint32_t ctx_save_size = reg::gc::CP_HQD_CTX_SAVE_SIZE - first;
inline constexpr std::uint32_t aql_control = reg::gc::CP_HQD_AQL_CONTROL - first;
inline constexpr std::uint32_t pq_wptr = reg::gc::CP_HQD_PQ_WPTR_LO - first;
inline constexpr std::uint32_t aql_dispatch_id = reg::gc::CP_HQD_AQL_DISPATCH_ID - first;

// Fields of CP_HQD_PQ_DOORBELL_CONTROL.
inline constexpr std::uint32_t doorbell_offset = 0x3ff'ffffU << 2;
inline constexpr std::uint32_t doorbell_scheduler_hit = 1U << 29;
inline constexpr std::uint32_t doorbell_enable = 1U << 30;
inline constexpr std::uint32_t doorbell_hit = 1U << 31;
} // namespace hqd

struct Hqd {
    std::array<std::uint32_t, hqd::count> registers{};

    std::uint64_t pair(std::uint32_t index) const {
        return join(registers[index], registers[index + 1]);
    }
    void set_pair(std::uint32_t index, std::uint64_t value) {
        registers[index] = low_half(value);
        registers[index + 1] = high_half(value);
    }

    bool active() const { return bit(registers[hqd::active], 0); }
    unsigned vmid() const { return registers[hqd::vmid] & 15; }
    std::uint64_t mqd() const { return pair(hqd::mqd_base); }
    std::uint64_t ring_base() const { return pair(hqd::pq_base) << 8; }
    // CP_HQD_PQ_CONTROL.QUEUE_SIZE: the ring has 2^(n+1) dwords.
    std::uint32_t ring_dwords() const { return 2U << bits(registers[hqd::pq_control], 5, 0); }
    // Dword index into the doorbell BAR.
    std::uint32_t doorbell_dword() const { return bits(registers[hqd::doorbell], 27, 2); }
    // The number of that doorbell, of 8 bytes, among the 1024 of a process.
    std::uint32_t doorbell_id() const { return doorbell_dword() / 2 % 1024; }
    bool is_aql() const { return bit(registers[hqd::aql_control], 0); }
};

} // namespace vgpu
