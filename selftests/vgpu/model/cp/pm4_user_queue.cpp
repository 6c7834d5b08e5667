// SPDX-License-Identifier: MIT
// A user's queue of PM4 packets: reads ring and indirect buffers, launches dispatches.
#include "model/cp/pm4_user_queue.hpp"

namespace vgpu {
namespace {

constexpr std::uint32_t indirect_buffer_dwords = 4; // with its header
constexpr std::uint32_t chained = 1U << 20;         // in its last dword

constexpr bool is_indirect_buffer(const pm4::Header& header) {
    return !header.filler &&
           header.opcode == static_cast<std::uint8_t>(pm4::Opcode::indirect_buffer);
}

} // namespace

Pm4UserQueue::Pm4UserQueue(const Pm4Surroundings& surroundings, unsigned slot, Hqd& hqd)
    : unit_(surroundings), slot_(slot), hqd_(hqd),
      dispatcher_(surroundings.shaders, surroundings.observer, slot),
      executor_(surroundings.pm4, slot, Pm4Executor::Privilege::user) {
    compute().load(unit_.memory, hqd_.mqd());
}

bool Pm4UserQueue::advance() {
    bool progress = false;
    while (!failed_) {
        if (executor_.idle() && !begin_packet())
            break;
        progress |= executor_.run();
        if (!executor_.idle())
            break;
        finish_packet(packet_dwords_);
        progress = true;
    }
    return progress;
}

// Gives the next packet to the executor. False when there is none yet.
bool Pm4UserQueue::begin_packet() {
    while (!failed_) {
        if (in_buffer() && dwords_left() == 0)
            leave_buffer();
        const auto packet = read_packet();
        if (!packet)
            return false;
        const auto header = pm4::decode_header(packet->front());
        if (header && is_indirect_buffer(*header)) {
            if (!enter_buffer(std::span(*packet).subspan(1)))
                return false;
            continue;
        }
        unit_.clock.advance(packet->size());
        packet_dwords_ = static_cast<std::uint32_t>(packet->size());
        executor_.push(hqd_.vmid(), *packet, in_buffer() ? 1 : 0);
        return true;
    }
    return false;
}

std::uint32_t Pm4UserQueue::dwords_left() const {
    if (in_buffer())
        return buffer_dwords_ - hqd_.registers[hqd::ib_rptr];
    return (hqd_.registers[hqd::pq_wptr] - hqd_.registers[hqd::pq_rptr]) & (hqd_.ring_dwords() - 1);
}

// From the current place on. Nothing when it can't be read: the fault is the driver's to see.
std::optional<std::uint32_t> Pm4UserQueue::dword(std::uint32_t offset) {
    const std::uint64_t va =
        in_buffer() ? hqd_.pair(hqd::ib_base) + 4ULL * (hqd_.registers[hqd::ib_rptr] + offset)
                    : hqd_.ring_base() + 4ULL * ((hqd_.registers[hqd::pq_rptr] + offset) &
                                                 (hqd_.ring_dwords() - 1));
    std::uint32_t value = 0;
    if (unit_.memory.read(hqd_.vmid(), va, std::as_writable_bytes(std::span(&value, 1))))
        return value;
    failed_ = true;
    return std::nullopt;
}

// A packet of the ring may not be there whole yet.
std::optional<std::vector<std::uint32_t>> Pm4UserQueue::read_packet() {
    const std::uint32_t left = dwords_left();
    if (left == 0)
        return std::nullopt;
    const auto first = dword(0);
    if (!first)
        return std::nullopt;
    const auto header = pm4::decode_header(*first);
    const std::uint32_t length = header ? 1 + header->body_dwords : 1;
    if (length > left) {
        if (in_buffer())
            fail("packet beyond the end of its indirect buffer");
        return std::nullopt;
    }
    std::vector<std::uint32_t> packet;
    for (std::uint32_t i = 0; i < length; ++i) {
        const auto value = dword(i);
        if (!value)
            return std::nullopt;
        packet.push_back(*value);
    }
    return packet;
}

// After a stop in the buffer the packet is read again, and the buffer continues where it was.
bool Pm4UserQueue::enter_buffer(std::span<const std::uint32_t> body) {
    if (in_buffer()) {
        fail("INDIRECT_BUFFER in an indirect buffer");
        return false;
    }
    if (body.size() + 1 != indirect_buffer_dwords) {
        fail("INDIRECT_BUFFER of another length");
        return false;
    }
    if ((body[2] & chained) != 0) {
        fail("INDIRECT_BUFFER that is chained");
        return false;
    }
    // NOLINTNEXTLINE(bugprone-unchecked-optional-access): its length was checked
    const pm4::IndirectBuffer buffer = *pm4::decode_indirect_buffer(body);
    unit_.pm4.trace_packet(slot_, 0, hqd_.vmid(),
                           static_cast<std::uint8_t>(pm4::Opcode::indirect_buffer), body);
    if (hqd_.pair(hqd::ib_base) != buffer.address) {
        hqd_.set_pair(hqd::ib_base, buffer.address);
        hqd_.registers[hqd::ib_rptr] = 0;
    }
    buffer_dwords_ = buffer.size_dwords;
    if (!in_buffer())
        leave_buffer(); // an empty one
    return true;
}

void Pm4UserQueue::leave_buffer() {
    buffer_dwords_ = 0;
    hqd_.set_pair(hqd::ib_base, 0);
    hqd_.registers[hqd::ib_rptr] = 0;
    finish_packet(indirect_buffer_dwords);
}

void Pm4UserQueue::finish_packet(std::uint32_t dwords) {
    if (in_buffer()) {
        hqd_.registers[hqd::ib_rptr] += dwords;
        return;
    }
    std::uint32_t& read = hqd_.registers[hqd::pq_rptr];
    read = (read + dwords) & (hqd_.ring_dwords() - 1);
    if (const std::uint64_t report = hqd_.pair(hqd::rptr_report); report != 0)
        unit_.memory.store32(hqd_.vmid(), report, read);
}

bool Pm4UserQueue::busy() const {
    const std::uint32_t mask = hqd_.ring_dwords() - 1;
    const std::uint32_t read = hqd_.registers[hqd::pq_rptr];
    const std::uint32_t write = hqd_.registers[hqd::pq_wptr];
    return (!failed_ && ((read ^ write) & mask) != 0) ||
           unit_.shaders.dispatches_in_flight(slot_) != 0;
}

void Pm4UserQueue::fail(const char* why) {
    failed_ = true;
    unit_.observer.unmodelled("pm4", why);
}

Stall Pm4UserQueue::dispatch(const pm4::Dispatch& packet) {
    Stall stall;
    unit_.shaders.set_cu_mask(slot_, compute().cu_mask());
    if (const char* problem = dispatcher_.dispatch(packet, stall))
        fail(problem);
    return stall;
}

} // namespace vgpu
