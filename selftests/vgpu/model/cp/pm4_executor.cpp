// SPDX-License-Identifier: MIT
// Runs PM4 of one queue packet by packet; a packet that has to wait stalls it.
#include "model/cp/pm4_executor.hpp"

#include "model/base/polling.hpp"

#include <algorithm>
#include <utility>

namespace vgpu {

using pm4::Opcode;

void Pm4Executor::push(unsigned vmid, std::vector<std::uint32_t> dwords, unsigned depth) {
    const unsigned outer = frames_.empty() ? depth : frames_.back().depth + 1;
    frames_.push_back({vmid, std::move(dwords), 0, outer});
}

void Pm4Executor::drop() {
    frames_.clear();
    stall_ = nullptr;
}

bool Pm4Executor::run() {
    bool progress = false;
    while (!idle()) {
        if (stall_) {
            if (!stall_())
                break;
            stall_ = nullptr;
            progress = true;
            continue;
        }
        Frame& frame = frames_.back();
        if (frame.next == frame.dwords.size()) {
            frames_.pop_back();
            continue;
        }
        const std::uint32_t dword = frame.dwords[frame.next++];
        const auto header = pm4::decode_header(dword);
        if (!header) {
            target_.unmodelled_packet(0, {&dword, 1});
            continue;
        }
        if (header->filler)
            continue;
        const std::size_t left = frame.dwords.size() - frame.next;
        const std::size_t length = std::min<std::size_t>(header->body_dwords, left);
        // execute() may push a frame and move the dwords: give it its own copy of the body.
        const std::vector<std::uint32_t> body(
            frame.dwords.begin() + static_cast<std::ptrdiff_t>(frame.next),
            frame.dwords.begin() + static_cast<std::ptrdiff_t>(frame.next + length));
        frame.next += length;
        execute(header->opcode, frame.vmid, body);
        progress = true;
    }
    return progress;
}

void Pm4Executor::execute(std::uint8_t opcode, unsigned vmid, std::span<const std::uint32_t> body) {
    const auto known = static_cast<Opcode>(opcode);
    if (known == Opcode::nop)
        return;
    target_.trace_packet(slot_, frames_.back().depth, vmid, opcode, body);
    if (!execute_data(known, vmid, body) &&
        (privilege_ == Privilege::user || !execute_scheduling(known, body)))
        target_.unmodelled_packet(opcode, body);
}

namespace {

// Decodes a packet whose body is long enough.
template <class Packet>
std::optional<Packet> decode(std::optional<Packet> (*decoder)(std::span<const std::uint32_t>),
                             std::span<const std::uint32_t> body) {
    if (body.size() < Packet::dwords)
        return std::nullopt;
    return decoder(body);
}

} // namespace

// True when the packet was one of these and was understood.
bool Pm4Executor::execute_data(Opcode opcode, unsigned vmid, std::span<const std::uint32_t> body) {
    switch (opcode) {
    case Opcode::write_data: return write_data(vmid, body);
    case Opcode::wait_reg_mem: return wait_reg_mem(vmid, body);
    case Opcode::release_mem: return release_mem(vmid, body);
    case Opcode::copy_data: return copy_data(vmid, body);
    case Opcode::pred_exec: return pred_exec(body);
    case Opcode::indirect_buffer:
        if (const auto buffer = decode(pm4::decode_indirect_buffer, body)) {
            const unsigned buffer_vmid = vmid != 0 ? vmid : buffer->vmid;
            push(buffer_vmid, target_.fetch(buffer_vmid, buffer->address, buffer->size_dwords));
            return true;
        }
        return false;
    // First dwords of the persistent and of the UCONFIG register space (soc15d.h).
    case Opcode::set_sh_reg: return set_registers(0x2c00, body);
    case Opcode::set_uconfig_reg: return set_registers(0xc000, body);
    case Opcode::dispatch_direct:
        if (const auto packet = decode(pm4::decode_dispatch_direct, body))
            return dispatch(*packet);
        return false;
    case Opcode::dispatch_indirect:
        if (const auto packet = decode(pm4::decode_dispatch_indirect, body))
            return dispatch({{target_.read_memory(vmid, packet->address),
                              target_.read_memory(vmid, packet->address + 4),
                              target_.read_memory(vmid, packet->address + 8)},
                             packet->initiator});
        return false;
    case Opcode::event_write:
        if (const auto packet = decode(pm4::decode_event_write, body)) {
            if (packet->waits_for_dispatches)
                when_dispatches_done({});
            return true;
        }
        return false;
    // A constant to GDS, which the model doesn't have.
    case Opcode::dma_data: return bits(body[0], 21, 20) == 1 && bits(body[0], 30, 29) == 2;
    // Caches and pipeline state that the model doesn't have: memory is always coherent.
    case Opcode::acquire_mem:
    case Opcode::context_control:
    case Opcode::frame_control: return true;
    default: return false;
    }
}

// XCCs that run the dwords behind it [31:24], the count of these [13:0]. MEC skips nothing outside
// of an indirect buffer.
bool Pm4Executor::pred_exec(std::span<const std::uint32_t> body) {
    if (body.empty())
        return false;
    const bool runs = (bits(body[0], 31, 24) >> target_.xcc() & 1) != 0;
    if (Frame& frame = frames_.back(); !runs && frames_.size() > 1)
        frame.next += std::min<std::size_t>(bits(body[0], 13, 0), frame.dwords.size() - frame.next);
    return true;
}

bool Pm4Executor::execute_scheduling(Opcode opcode, std::span<const std::uint32_t> body) {
    switch (opcode) {
    case Opcode::invalidate_tlbs: target_.invalidate_tlbs(); return true;
    case Opcode::set_resources:
        if (const auto packet = decode(pm4::decode_set_resources, body))
            return target_.set_resources(slot_, *packet), true;
        return false;
    case Opcode::run_list:
        if (const auto packet = decode(pm4::decode_run_list, body)) {
            target_.start_run_list(*packet);
            // A list that is chained to itself is read once; the scheduler goes through it again.
            if (!packet->chained)
                push(0, target_.fetch(0, packet->address, packet->size_dwords));
            return true;
        }
        return false;
    case Opcode::map_process:
        if (const auto packet = decode(pm4::decode_map_process, body))
            return target_.map_process(*packet), true;
        return false;
    case Opcode::map_queues:
        if (const auto packet = decode(pm4::decode_map_queues, body))
            return target_.map_queues(*packet), true;
        return false;
    case Opcode::unmap_queues:
        if (const auto packet = decode(pm4::decode_unmap_queues, body)) {
            stall_ = target_.unmap_queues(slot_, *packet);
            polls_ = true; // it ends by time, too
            return true;
        }
        return false;
    case Opcode::query_status:
        if (const auto packet = decode(pm4::decode_query_status, body)) {
            stall_ = target_.query_status(slot_, *packet);
            polls_ = false;
            return true;
        }
        return false;
    default: return false;
    }
}

// Consecutive registers; the offset is relative to the space of the packet.
bool Pm4Executor::set_registers(std::uint32_t space, std::span<const std::uint32_t> body) {
    for (std::size_t i = 1; i < body.size(); ++i)
        target_.write_register(
            slot_, space + bits(body[0], 15, 0) + static_cast<std::uint32_t>(i) - 1, body[i]);
    return !body.empty();
}

bool Pm4Executor::write_data(unsigned vmid, std::span<const std::uint32_t> body) {
    const auto packet = decode(pm4::decode_write_data, body);
    if (!packet)
        return false;
    std::uint64_t address = packet->address;
    for (const std::uint32_t value : packet->data) {
        if (packet->to_register)
            target_.write_register(slot_, static_cast<std::uint32_t>(address), value);
        else
            target_.write_memory(vmid, address, value);
        if (packet->increment)
            address += packet->to_register ? 1 : 4;
    }
    return true;
}

bool Pm4Executor::wait_reg_mem(unsigned vmid, std::span<const std::uint32_t> body) {
    const auto packet = decode(pm4::decode_wait_reg_mem, body);
    if (!packet)
        return false;
    if (packet->write_first)
        target_.write_register(slot_, static_cast<std::uint32_t>(packet->address),
                               packet->reference);
    stall_ = [this, vmid, wait = *packet] {
        const std::uint32_t value = wait.memory ? target_.read_memory(vmid, wait.address)
                                                : target_.read_register(slot_, wait.wait_register);
        // A packet that writes first waits for an answer to some bits of what it wrote: those in
        // the mask.
        return poll_succeeds(wait.function, value & wait.mask,
                             wait.write_first ? wait.reference & wait.mask : wait.reference);
    };
    polls_ = true;
    return true;
}

// The packets behind it wait as well. Hardware may run them before the end of the pipe.
bool Pm4Executor::release_mem(unsigned vmid, std::span<const std::uint32_t> body) {
    const auto decoded = decode(pm4::decode_release_mem, body);
    if (!decoded)
        return false;
    // How late it is, is chosen once the dispatches are done.
    when_dispatches_done([this, vmid, packet = *decoded, late = std::optional<Stall>()]() mutable {
        if (!late)
            late = target_.delay_fence();
        if (*late && !(*late)())
            return false;
        write_fence(vmid, packet);
        return true;
    });
    return true;
}

void Pm4Executor::write_fence(unsigned vmid, const pm4::ReleaseMem& packet) {
    switch (packet.data_select) {
    case 1:
        target_.write_memory(vmid, packet.address, static_cast<std::uint32_t>(packet.data));
        break;
    case 2: target_.write_memory64(vmid, packet.address, packet.data); break;
    case 3: target_.write_memory64(vmid, packet.address, target_.clock()); break;
    default: break;
    }
    if (packet.interrupt)
        target_.end_of_pipe(slot_, vmid, packet.context_id);
}

void Pm4Executor::when_dispatches_done(Stall act) {
    Stall stall = [this, act = std::move(act)] {
        return target_.dispatches_done(slot_) && (!act || act());
    };
    if (stall())
        return;
    stall_ = std::move(stall);
    polls_ = false;
}

bool Pm4Executor::dispatch(const pm4::Dispatch& packet) {
    auto stall = target_.dispatch(slot_, packet);
    if (!stall)
        return false;
    stall_ = std::move(*stall);
    polls_ = false;
    return true;
}

bool Pm4Executor::copy_data(unsigned vmid, std::span<const std::uint32_t> body) {
    const auto packet = decode(pm4::decode_copy_data, body);
    if (!packet)
        return false;
    std::uint64_t value = 0;
    switch (packet->source_select) {
    case 0: value = target_.read_register(slot_, static_cast<std::uint32_t>(packet->source)); break;
    case 1:
    case 2:
        value = target_.read_memory(vmid, packet->source);
        if (packet->wide)
            value |= static_cast<std::uint64_t>(target_.read_memory(vmid, packet->source + 4))
                     << 32;
        break;
    case 5: value = packet->source; break;
    case 9: value = target_.clock(); break;
    default: return false;
    }
    switch (packet->target_select) {
    case 0:
        target_.write_register(slot_, static_cast<std::uint32_t>(packet->target),
                               static_cast<std::uint32_t>(value));
        return true;
    case 1:
    case 2:
    case 5:
        if (packet->wide)
            target_.write_memory64(vmid, packet->target, value);
        else
            target_.write_memory(vmid, packet->target, static_cast<std::uint32_t>(value));
        return true;
    default: return false;
    }
}

} // namespace vgpu
