// SPDX-License-Identifier: MIT
// PM4 packets as the CP decodes them. Pure functions on the dwords behind the header.
#pragma once

#include "model/base/bits.hpp"
#include "model/sq/address_watch.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace vgpu::pm4 {

// Opcodes of soc15d.h and kfd_pm4_opcodes.h.
enum class Opcode : std::uint8_t {
    nop = 0x10,
    dispatch_direct = 0x15,
    dispatch_indirect = 0x16,
    pred_exec = 0x23,
    context_control = 0x28,
    write_data = 0x37,
    wait_reg_mem = 0x3c,
    indirect_buffer = 0x3f,
    copy_data = 0x40,
    event_write = 0x46,
    release_mem = 0x49,
    dma_data = 0x50,
    acquire_mem = 0x58,
    set_sh_reg = 0x76,
    set_uconfig_reg = 0x79,
    frame_control = 0x90,
    invalidate_tlbs = 0x98,
    set_resources = 0xa0,
    map_process = 0xa1,
    map_queues = 0xa2,
    unmap_queues = 0xa3,
    query_status = 0xa4,
    run_list = 0xa5,
};

// "WRITE_DATA", or "opcode 0x12" for one that isn't above.
std::string opcode_name(std::uint8_t opcode);

struct Header {
    bool filler = false; // a type 2 packet or a zero dword: one dword, no meaning
    std::uint8_t opcode = 0;
    std::uint32_t body_dwords = 0;
};
// Nothing for a header that is neither type 3 nor filler.
std::optional<Header> decode_header(std::uint32_t dword);

// Each decoder wants at least `dwords` of body and gets the whole body.
struct WriteData {
    static constexpr std::size_t dwords = 4;
    bool to_register = false;
    bool increment = true;
    std::uint64_t address = 0; // register dword or byte address
    std::span<const std::uint32_t> data;
};
std::optional<WriteData> decode_write_data(std::span<const std::uint32_t> body);

struct WaitRegMem {
    static constexpr std::size_t dwords = 6;
    unsigned function = 0; // of poll_succeeds()
    bool memory = false;
    bool write_first = false; // write reference to `address`, then wait on `wait_register`
    std::uint64_t address = 0;
    std::uint32_t wait_register = 0;
    std::uint32_t reference = 0;
    std::uint32_t mask = 0;
};
std::optional<WaitRegMem> decode_wait_reg_mem(std::span<const std::uint32_t> body);

struct IndirectBuffer {
    static constexpr std::size_t dwords = 3;
    std::uint64_t address = 0;
    std::uint32_t size_dwords = 0;
    unsigned vmid = 0;
};
std::optional<IndirectBuffer> decode_indirect_buffer(std::span<const std::uint32_t> body);

// DISPATCH_DIRECT; of DISPATCH_INDIRECT the dimensions are in memory.
struct Dispatch {
    static constexpr std::size_t dwords = 4;
    std::array<std::uint32_t, 3> dimensions{};
    std::uint32_t initiator = 0; // COMPUTE_DISPATCH_INITIATOR
};
std::optional<Dispatch> decode_dispatch_direct(std::span<const std::uint32_t> body);

struct DispatchIndirect {
    static constexpr std::size_t dwords = 3;
    std::uint64_t address = 0;
    std::uint32_t initiator = 0;
};
std::optional<DispatchIndirect> decode_dispatch_indirect(std::span<const std::uint32_t> body);

// Nothing for an event that is neither a flush nor an invalidation of caches.
struct EventWrite {
    static constexpr std::size_t dwords = 1;
    bool waits_for_dispatches = false; // CS_PARTIAL_FLUSH
};
std::optional<EventWrite> decode_event_write(std::span<const std::uint32_t> body);

struct ReleaseMem {
    static constexpr std::size_t dwords = 6;
    unsigned data_select = 0; // 0 none, 1 32 bits, 2 64 bits, 3 clock
    bool interrupt = false;
    std::uint64_t address = 0;
    std::uint64_t data = 0;
    std::uint32_t context_id = 0;
};
std::optional<ReleaseMem> decode_release_mem(std::span<const std::uint32_t> body);

struct CopyData {
    static constexpr std::size_t dwords = 5;
    unsigned source_select = 0; // 0 register, 1 and 2 memory, 5 immediate, 9 clock
    unsigned target_select = 0; // 0 register, 1, 2 and 5 memory
    bool wide = false;
    std::uint64_t source = 0;
    std::uint64_t target = 0;
};
std::optional<CopyData> decode_copy_data(std::span<const std::uint32_t> body);

struct SetResources {
    static constexpr std::size_t dwords = 5;
    bool for_hiq = false;
    std::uint16_t vmid_mask = 0;
    std::uint64_t queue_mask = 0;
    bool separates_xnack_modes = false; // enb_xnack_retry_disable_check
    std::uint64_t gws_mask = 0;         // resources of GWS
};
std::optional<SetResources> decode_set_resources(std::span<const std::uint32_t> body);

struct RunList {
    static constexpr std::size_t dwords = 3;
    std::uint64_t address = 0;
    std::uint32_t size_dwords = 0;
    bool chained = false;
    bool valid = false;
    unsigned process_count = 0; // that may be mapped at one time
};
std::optional<RunList> decode_run_list(std::span<const std::uint32_t> body);

struct MapProcess {
    // The packet of a MI100 says nothing of the debugger.
    static constexpr std::size_t dwords = 15;
    static constexpr std::size_t dwords_with_debugger = 18;
    std::uint16_t pasid = 0;
    unsigned quantum = 0; // ms
    std::uint64_t page_table_base = 0;
    std::uint32_t sh_mem_bases = 0;
    std::uint32_t sh_mem_config = 0;
    std::uint64_t tba = 0; // as the registers hold it, address >> 8
    std::uint64_t tma = 0;
    unsigned gws_resources = 0;
    std::uint32_t debug_control = 0;                                 // SPI_GDBG_PER_VMID_CNTL
    std::array<std::uint32_t, sq::address_watches> watch_controls{}; // TCP_WATCHn_CNTL without VMID
};
std::optional<MapProcess> decode_map_process(std::span<const std::uint32_t> body);

struct MapQueues {
    static constexpr std::size_t dwords = 6;
    bool scheduler_chooses_slot = false;
    bool hiq = false;
    unsigned me = 1; // the rest of the slot, when the packet chooses it
    unsigned pipe = 0;
    unsigned queue = 0;
    std::optional<unsigned> sdma_engine; // a user SDMA queue instead of a compute queue
    std::uint32_t doorbell = 0;          // dword in the doorbell BAR
    std::uint64_t mqd = 0;
    std::uint64_t wptr_address = 0;
    bool controls_gws = false; // gws_control_queue
};
std::optional<MapQueues> decode_map_queues(std::span<const std::uint32_t> body);

enum class QueueSelect : std::uint8_t { by_doorbell, by_pasid, all, all_dynamic };

struct UnmapQueues {
    static constexpr std::size_t dwords = 2;
    bool reset = false; // waves are dropped rather than saved
    QueueSelect select = QueueSelect::by_doorbell;
    std::uint16_t pasid = 0;
    std::array<std::uint32_t, 4> doorbells{};
    unsigned doorbell_count = 0;

    bool names(std::uint32_t doorbell) const {
        return std::find(doorbells.begin(), doorbells.begin() + doorbell_count, doorbell) !=
               doorbells.begin() + doorbell_count;
    }
};
std::optional<UnmapQueues> decode_unmap_queues(std::span<const std::uint32_t> body);

struct QueryStatus {
    static constexpr std::size_t dwords = 6;
    std::uint64_t address = 0;
    std::uint64_t value = 0;
};
std::optional<QueryStatus> decode_query_status(std::span<const std::uint32_t> body);

} // namespace vgpu::pm4
