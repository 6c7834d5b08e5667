// SPDX-License-Identifier: MIT
// The AQL front end of one user queue: reads packets, launches them, reports their completion.
#include "model/cp/aql_queue.hpp"

#include <fmt/format.h>

#include <atomic>
#include <cstring>

namespace vgpu {
namespace {

// HSA packet types and header bits (HSA System Architecture, 2.9).
constexpr std::uint32_t type_vendor = 0;
constexpr std::uint32_t type_invalid = 1;
constexpr std::uint32_t type_dispatch = 2;
constexpr std::uint32_t type_barrier_and = 3;
constexpr std::uint32_t type_barrier_or = 5;
constexpr unsigned barrier_bit = 8;
constexpr std::size_t packet_bytes = 64;
constexpr std::size_t completion_signal_dword = 14;

// amd_signal_t: value at 8, mailbox pointer at 16, event id at 24.
constexpr std::uint64_t signal_value = 8;
constexpr std::uint64_t signal_mailbox = 16;
constexpr std::uint64_t signal_event_id = 24;

// A barrier packet whose reserved2 holds this asks for a snapshot of the counters.
constexpr std::uint64_t snapshot_magic = 0x5041'4e53'5550'4756; // "VGPUSNAP"

// The CP's record at the end of the control stack, after the shader array's.
struct FrontEndRecord {
    std::uint32_t magic = 0;
    std::uint32_t shader_bytes = 0;
    std::uint64_t next = 0;
};
constexpr std::uint32_t record_magic = 0x4c51'4156; // "VAQL"

} // namespace

AqlQueue::AqlQueue(const AqlSurroundings& surroundings, unsigned slot, Hqd& hqd)
    : unit_(surroundings), slot_(slot), hqd_(hqd), vmid_(hqd.vmid()), ring_base_(hqd.ring_base()),
      ring_packets_(hqd.ring_dwords() / 16) {
    // CP_HQD_PQ_RPTR holds 32 bits of a dword count. The packet index has 64: take it as the
    // last one at or before the write index that has these low bits.
    const std::uint64_t write = unit_.memory.read64(vmid_, hqd_.pair(hqd::wptr_poll));
    const std::uint64_t low = hqd_.registers[hqd::pq_rptr] / 16;
    constexpr std::uint64_t mask = (std::uint64_t{1} << 28) - 1;
    read_ = write - ((write - low) & mask);
    next_ = read_;
}

std::uint64_t AqlQueue::packet_va(std::uint64_t index) const {
    return ring_base_ + index % ring_packets_ * packet_bytes;
}

std::optional<AqlQueue::Packet> AqlQueue::load(std::uint64_t index) {
    Packet packet{index, packet_va(index), {}};
    const std::byte* bytes = unit_.memory.translate(vmid_, packet.va, packet_bytes, Access::read);
    if (bytes == nullptr)
        return std::nullopt;
    // The header is published last by its writer.
    const auto* header = reinterpret_cast<const std::uint32_t*>(bytes);
    packet.words[0] = std::atomic_ref(*const_cast<std::uint32_t*>(header)).load();
    std::memcpy(packet.words.data() + 1, bytes + 4, packet_bytes - 4);
    return packet;
}

bool AqlQueue::advance() {
    bool progress = false;
    polling_ = false;
    if (vendor_index_) {
        progress = vendor_->run();
        if (!vendor_->idle()) {
            polling_ = vendor_->polling();
            return progress;
        }
        if (const auto packet = load(*vendor_index_))
            complete(*packet);
        vendor_index_.reset();
    }
    while (!stopping_) {
        const std::uint64_t write = unit_.memory.read64(vmid_, hqd_.pair(hqd::wptr_poll));
        if (next_ >= write)
            break;
        const auto packet = load(next_);
        if (!packet)
            break;
        const std::uint32_t header = packet->words[0];
        if ((header & 0xff) == type_invalid)
            break; // reserved but not published yet; the doorbell follows
        if (bit(header, barrier_bit) && in_flight() != 0)
            break; // dispatch_completed() makes the CP look again
        const Start result = start(*packet);
        if (result == Start::wait)
            break;
        progress = true;
        ++next_;
        if (result == Start::done)
            complete(*packet);
        else if (vendor_index_)
            break;
    }
    return progress;
}

AqlQueue::Start AqlQueue::start(const Packet& packet) {
    switch (packet.words[0] & 0xff) {
    case type_dispatch: return start_dispatch(packet);
    case type_barrier_and: return start_barrier(packet, false);
    case type_barrier_or: return start_barrier(packet, true);
    case type_vendor: return start_vendor(packet);
    default:
        unit_.observer.unmodelled("aql", fmt::format("packet type {}", packet.words[0] & 0xff));
        return Start::done;
    }
}

AqlQueue::Start AqlQueue::start_dispatch(const Packet& packet) {
    AqlDispatch dispatch;
    dispatch.packet_index = packet.index;
    dispatch.packet_va = packet.va;
    dispatch.packet = packet.words;
    if (!unit_.shaders.dispatch(slot_, dispatch))
        return Start::wait;
    unit_.observer.count("dispatches", 1);
    trace(packet, "dispatch");
    return Start::in_flight;
}

AqlQueue::Start AqlQueue::start_barrier(const Packet& packet, bool any) {
    // Five signal handles at dword 2; null ones count as satisfied for AND, as absent for OR.
    unsigned signals = 0;
    unsigned reached = 0;
    for (std::size_t i = 0; i < 5; ++i) {
        const std::uint64_t va = join(packet.words[2 + 2 * i], packet.words[3 + 2 * i]);
        if (va == 0)
            continue;
        ++signals;
        if (unit_.memory.read64(vmid_, va + signal_value) == 0)
            ++reached;
    }
    const bool open = any ? signals == 0 || reached != 0 : reached == signals;
    if (!open) {
        polling_ = true;
        return Start::wait;
    }
    trace(packet, any ? "barrier-or" : "barrier-and");
    if (join(packet.words[12], packet.words[13]) == snapshot_magic)
        take_snapshot(packet);
    return Start::done;
}

void AqlQueue::take_snapshot(const Packet& packet) {
    unit_.observer.snapshot(packet.words[1]); // reserved1 is the caller's label
}

// AMD_AQL_FORMAT_PM4_IB: an INDIRECT_BUFFER packet in dwords 1..4, run in the queue's VMID.
AqlQueue::Start AqlQueue::start_vendor(const Packet& packet) {
    if (packet.words[0] >> 16 != 1) {
        unit_.observer.unmodelled("aql", fmt::format("vendor format {}", packet.words[0] >> 16));
        return Start::done;
    }
    trace(packet, "vendor pm4");
    vendor_.emplace(unit_.pm4, slot_);
    vendor_->push(vmid_, {packet.words.begin() + 1, packet.words.begin() + 5});
    vendor_->run();
    if (vendor_->idle())
        return Start::done;
    vendor_index_ = packet.index;
    polling_ = vendor_->polling();
    return Start::in_flight;
}

void AqlQueue::dispatch_completed(std::uint64_t packet_index) {
    if (packet_index < read_ || packet_index >= next_ || done_.contains(packet_index)) {
        unit_.observer.unmodelled("aql", "completion of a packet that is not in flight");
        return;
    }
    if (const auto packet = load(packet_index)) {
        trace(*packet, "complete");
        complete(*packet);
    } else {
        retire(packet_index);
    }
}

void AqlQueue::complete(const Packet& packet) {
    const std::uint64_t signal_va =
        join(packet.words[completion_signal_dword], packet.words[completion_signal_dword + 1]);
    // The slot is handed back before the signal fires: who waits for it may reuse the slot.
    unit_.memory.store32(vmid_, packet.va, (packet.words[0] & 0xffff'0000) | type_invalid);
    retire(packet.index);
    if (signal_va != 0)
        signal(signal_va);
}

// read_dispatch_id moves over every packet whose slot may be reused. It is stored as 64 bits.
void AqlQueue::retire(std::uint64_t index) {
    done_.insert(index);
    const std::uint64_t before = read_;
    while (done_.erase(read_) != 0)
        ++read_;
    hqd_.registers[hqd::pq_rptr] = low_half(read_ * 16);
    const std::uint64_t report = hqd_.pair(hqd::rptr_report);
    if (read_ != before && report != 0)
        unit_.memory.store64(vmid_, report, read_);
}

void AqlQueue::signal(std::uint64_t signal_va) {
    std::byte* value = unit_.memory.translate(vmid_, signal_va + signal_value, 8, Access::write);
    if (value == nullptr)
        return;
    const std::uint64_t mailbox = unit_.memory.read64(vmid_, signal_va + signal_mailbox);
    const std::uint32_t event = unit_.memory.read32(vmid_, signal_va + signal_event_id);
    // The guest's CPUs use atomic operations on the same word.
    std::atomic_ref(*reinterpret_cast<std::int64_t*>(value)).fetch_sub(1);
    if (mailbox == 0)
        return;
    unit_.memory.store64(vmid_, mailbox, event);
    unit_.interrupts.raise({.client = ih::client_grbm_cp,
                            .source = ih::source_cp_end_of_pipe,
                            .ring = ring_id_of(slot_),
                            .vmid = static_cast<std::uint8_t>(vmid_),
                            .pasid = unit_.memory.pasid(vmid_),
                            .context = {event}});
}

std::vector<std::byte> AqlQueue::control_stack(std::span<const std::byte> shader_part) const {
    if (shader_part.empty() && in_flight() == 0 && done_.empty())
        return {};
    const FrontEndRecord record{record_magic, static_cast<std::uint32_t>(shader_part.size()),
                                next_};
    std::vector<std::byte> bytes(shader_part.begin(), shader_part.end());
    bytes.resize((bytes.size() + 7) & ~std::size_t{7});
    const auto* raw = reinterpret_cast<const std::byte*>(&record);
    bytes.insert(bytes.end(), raw, raw + sizeof record);
    return bytes;
}

bool AqlQueue::restore(std::span<const std::byte> control_stack) {
    FrontEndRecord record;
    if (control_stack.size() < sizeof record)
        return false;
    std::memcpy(&record, control_stack.data() + control_stack.size() - sizeof record,
                sizeof record);
    const std::size_t room = control_stack.size() - sizeof record;
    if (record.magic != record_magic || record.shader_bytes > room || record.next < read_ ||
        record.next - read_ > ring_packets_)
        return false;
    if (record.shader_bytes != 0 &&
        !unit_.shaders.restore(slot_, control_stack.first(record.shader_bytes)))
        return false;
    next_ = record.next;
    for (std::uint64_t index = read_; index < next_; ++index)
        done_.insert(index);
    for (const std::uint64_t index : unit_.shaders.pending_packets(slot_))
        done_.erase(index);
    return true;
}

void AqlQueue::drop_in_flight() {
    for (std::uint64_t index = read_; index < next_; ++index)
        retire(index);
}

void AqlQueue::trace(const Packet& packet, const char* what) {
    if (!unit_.observer.tracing())
        return;
    unit_.observer.event("aql", fmt::format("{} queue {:#x} packet {} signal {:#x}", what,
                                            hqd_.doorbell_dword(), packet.index,
                                            join(packet.words[completion_signal_dword],
                                                 packet.words[completion_signal_dword + 1])));
}

} // namespace vgpu
