// SPDX-License-Identifier: MIT
// PM4 packets as the CP decodes them. Pure functions on the dwords behind the header.
#include "model/cp/pm4.hpp"

#include <fmt/format.h>

namespace vgpu::pm4 {

std::string opcode_name(std::uint8_t opcode) {
    switch (static_cast<Opcode>(opcode)) {
    case Opcode::nop: return "NOP";
    case Opcode::dispatch_direct: return "DISPATCH_DIRECT";
    case Opcode::dispatch_indirect: return "DISPATCH_INDIRECT";
    case Opcode::context_control: return "CONTEXT_CONTROL";
    case Opcode::write_data: return "WRITE_DATA";
    case Opcode::wait_reg_mem: return "WAIT_REG_MEM";
    case Opcode::indirect_buffer: return "INDIRECT_BUFFER";
    case Opcode::copy_data: return "COPY_DATA";
    case Opcode::event_write: return "EVENT_WRITE";
    case Opcode::release_mem: return "RELEASE_MEM";
    case Opcode::dma_data: return "DMA_DATA";
    case Opcode::acquire_mem: return "ACQUIRE_MEM";
    case Opcode::set_sh_reg: return "SET_SH_REG";
    case Opcode::set_uconfig_reg: return "SET_UCONFIG_REG";
    case Opcode::frame_control: return "FRAME_CONTROL";
    case Opcode::pred_exec: return "PRED_EXEC";
    case Opcode::invalidate_tlbs: return "INVALIDATE_TLBS";
    case Opcode::set_resources: return "SET_RESOURCES";
    case Opcode::map_process: return "MAP_PROCESS";
    case Opcode::map_queues: return "MAP_QUEUES";
    case Opcode::unmap_queues: return "UNMAP_QUEUES";
    case Opcode::query_status: return "QUERY_STATUS";
    case Opcode::run_list: return "RUN_LIST";
    }
    return fmt::format("opcode {:#x}", opcode);
}

std::optional<Header> decode_header(std::uint32_t dword) {
    const unsigned type = bits(dword, 31, 30);
    if (dword == 0 || type == 2)
        return Header{.filler = true};
    if (type != 3)
        return std::nullopt;
    const std::uint32_t count = bits(dword, 29, 16);
    // A NOP with the largest count is a one-dword filler (soc15d.h, PACKET3 NOP 0x3fff).
    if (count == 0x3fff)
        return Header{.filler = true};
    return Header{false, static_cast<std::uint8_t>(bits(dword, 15, 8)), count + 1};
}

std::optional<WriteData> decode_write_data(std::span<const std::uint32_t> body) {
    const unsigned target = bits(body[0], 11, 8);
    if (target != 0 && target != 2 && target != 5)
        return std::nullopt;
    return WriteData{target == 0, !bit(body[0], 16), join(body[1], body[2]), body.subspan(3)};
}

std::optional<WaitRegMem> decode_wait_reg_mem(std::span<const std::uint32_t> body) {
    WaitRegMem wait;
    wait.function = bits(body[0], 2, 0);
    wait.memory = bits(body[0], 5, 4) == 1;
    const unsigned operation = bits(body[0], 7, 6);
    if (operation > 1 || (operation == 1 && wait.memory))
        return std::nullopt;
    wait.write_first = operation == 1;
    wait.address = wait.memory ? join(body[1], body[2]) : body[1];
    wait.wait_register = wait.write_first ? body[2] : body[1];
    wait.reference = body[3];
    wait.mask = body[4];
    return wait;
}

std::optional<IndirectBuffer> decode_indirect_buffer(std::span<const std::uint32_t> body) {
    return IndirectBuffer{join(body[0] & ~3U, body[1] & 0xffff), bits(body[2], 19, 0),
                          bits(body[2], 27, 24)};
}

std::optional<Dispatch> decode_dispatch_direct(std::span<const std::uint32_t> body) {
    return Dispatch{{body[0], body[1], body[2]}, body[3]};
}

std::optional<DispatchIndirect> decode_dispatch_indirect(std::span<const std::uint32_t> body) {
    return DispatchIndirect{join(body[0], body[1]), body[2]};
}

std::optional<EventWrite> decode_event_write(std::span<const std::uint32_t> body) {
    switch (bits(body[0], 5, 0)) {
    case 0x07: return EventWrite{true}; // CS_PARTIAL_FLUSH
    case 0x04:                          // CACHE_FLUSH_TS
    case 0x06:                          // CACHE_FLUSH
    case 0x14:                          // CACHE_FLUSH_AND_INV_TS_EVENT
    case 0x16: return EventWrite{};     // CACHE_FLUSH_AND_INV_EVENT
    default: return std::nullopt;
    }
}

std::optional<ReleaseMem> decode_release_mem(std::span<const std::uint32_t> body) {
    ReleaseMem release;
    release.data_select = bits(body[1], 31, 29);
    if (release.data_select > 3)
        return std::nullopt;
    // INT_SEL: 0 none, 1 and 2 an interrupt, 3 none but the data once it is confirmed.
    const unsigned interrupt_select = bits(body[1], 26, 24);
    if (interrupt_select > 3)
        return std::nullopt;
    release.interrupt = interrupt_select == 1 || interrupt_select == 2;
    release.address = join(body[2], body[3]);
    release.data = join(body[4], body[5]);
    release.context_id = body.size() > 6 ? body[6] : 0;
    return release;
}

std::optional<CopyData> decode_copy_data(std::span<const std::uint32_t> body) {
    return CopyData{bits(body[0], 3, 0), bits(body[0], 11, 8), bit(body[0], 16),
                    join(body[1], body[2]), join(body[3], body[4])};
}

std::optional<SetResources> decode_set_resources(std::span<const std::uint32_t> body) {
    return SetResources{bits(body[0], 31, 29) == 1, static_cast<std::uint16_t>(body[0]),
                        join(body[1], body[2]), bit(body[0], 28), join(body[3], body[4])};
}

std::optional<RunList> decode_run_list(std::span<const std::uint32_t> body) {
    return RunList{join(body[0] & ~3U, body[1]), bits(body[2], 19, 0), bit(body[2], 20),
                   bit(body[2], 23), bits(body[2], 27, 24)};
}

std::optional<MapProcess> decode_map_process(std::span<const std::uint32_t> body) {
    MapProcess process{.pasid = static_cast<std::uint16_t>(body[0]),
                       .quantum = bits(body[0], 31, 25),
                       .page_table_base = join(body[1], body[2]),
                       .sh_mem_bases = body[3],
                       .sh_mem_config = body[4],
                       .tba = join(body[5], body[6]),
                       .tma = join(body[7], body[8]),
                       .gws_resources = bits(body[12], 6, 0)};
    if (body.size() >= MapProcess::dwords_with_debugger) {
        process.debug_control = body[13];
        process.watch_controls = {body[14], body[15], body[16], body[17]};
    }
    return process;
}

std::optional<MapQueues> decode_map_queues(std::span<const std::uint32_t> body) {
    MapQueues map;
    const unsigned select = bits(body[0], 5, 4);
    const unsigned extended = bits(body[0], 3, 2);
    const unsigned engine = bits(body[0], 28, 26);
    if (select > 1)
        return std::nullopt;
    map.scheduler_chooses_slot = select == 1;
    map.hiq = select == 0 && extended == 0 && engine == 1;
    map.controls_gws = bit(body[0], 12);
    map.queue = bits(body[0], 15, 13);
    map.pipe = bits(body[0], 17, 16);
    map.me = bits(body[0], 18, 18) + 1;
    // GC 9.4.3 names SDMA engines 0..7 by extended_engine_sel 1 and 8..15 by 2. Older packets
    // use engine_sel 2 and 3; 0 is compute, and 4 graphics or, for a KCQ, compute too.
    if (extended != 0)
        map.sdma_engine = engine + 8 * (extended - 1);
    else if (engine == 2 || engine == 3)
        map.sdma_engine = engine - 2;
    map.doorbell = bits(body[1], 27, 2);
    map.mqd = join(body[2], body[3]);
    map.wptr_address = join(body[4], body[5]);
    return map;
}

std::optional<UnmapQueues> decode_unmap_queues(std::span<const std::uint32_t> body) {
    UnmapQueues unmap;
    const unsigned action = bits(body[0], 1, 0);
    if (action > 1)
        return std::nullopt;
    unmap.reset = action == 1;
    unmap.select = static_cast<QueueSelect>(bits(body[0], 5, 4));
    unmap.pasid = static_cast<std::uint16_t>(body[1]);
    if (unmap.select == QueueSelect::by_doorbell) {
        unmap.doorbell_count = bits(body[0], 31, 29);
        if (unmap.doorbell_count == 0 || unmap.doorbell_count > unmap.doorbells.size() ||
            body.size() <= unmap.doorbell_count)
            return std::nullopt;
        for (unsigned i = 0; i < unmap.doorbell_count; ++i)
            unmap.doorbells[i] = bits(body[1 + i], 27, 2);
    }
    return unmap;
}

std::optional<QueryStatus> decode_query_status(std::span<const std::uint32_t> body) {
    return QueryStatus{join(body[2], body[3]), join(body[4], body[5])};
}

} // namespace vgpu::pm4
