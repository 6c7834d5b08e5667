// SPDX-License-Identifier: MIT
// The AQL front end of one user queue: reads packets, launches them, reports their completion.
#include "model/cp/aql_queue.hpp"

#include "model/sq/relaunch_words.hpp"

#include <fmt/format.h>

#include <atomic>
#include <cstring>
#include <utility>

namespace vgpu {
namespace {

// HSA packet type and header bit (HSA System Architecture, 2.9).
constexpr unsigned barrier_bit = 8;
constexpr std::size_t packet_bytes = 64;
constexpr std::size_t completion_signal_dword = 14;

// The CP's record, in events at the end of the control stack.
struct FrontEndRecord {
    std::uint32_t magic = 0;
    std::uint32_t shader_bytes = 0;
    std::uint64_t next = 0;
};
constexpr std::uint32_t record_magic = 0x4c51'4156; // "VAQL"

} // namespace

AqlQueue::AqlQueue(const AqlSurroundings& surroundings, unsigned slot, Hqd& hqd,
                   const AqlPartition& partition)
    : unit_(surroundings), slot_(slot), hqd_(hqd), partition_(partition), vmid_(hqd.vmid()),
      ring_base_(hqd.ring_base()), ring_packets_(hqd.ring_dwords() / 16) {
    read_ = extend(hqd_.registers[hqd::pq_rptr]);
    next_ = read_;
    seen_write_ = read_;
    connect_scratch();
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

// A vendor packet's PM4 that has to wait. False while it still does.
bool AqlQueue::advance_vendor() {
    // NOLINTBEGIN(bugprone-unchecked-optional-access): the caller has checked it
    vendor_->run();
    if (!vendor_->idle()) {
        polling_ = vendor_->polling();
        return false;
    }
    const auto packet = load(*vendor_index_);
    // NOLINTEND(bugprone-unchecked-optional-access)
    vendor_index_.reset();
    if (packet)
        complete(*packet);
    return true;
}

// The register counts dwords, as it does on a real MI308X (debugfs, hqds).
std::uint64_t AqlQueue::see_write() {
    seen_write_ = unit_.memory.read64(vmid_, hqd_.pair(hqd::wptr_poll));
    hqd_.set_pair(hqd::pq_wptr, seen_write_ * 16);
    return seen_write_;
}

bool AqlQueue::advance() {
    if (!leads())
        return follow();
    bool progress = false;
    polling_ = false;
    if (failed_)
        return false;
    if (vendor_index_) {
        if (!advance_vendor())
            return false;
        progress = true;
    }
    while (!stopping_ && !failed_ && !ignores_writes_ && !still_inactive()) {
        const std::uint64_t write = see_write();
        // Writers reserve slots beyond a full ring and wait for them then: those aren't ours yet.
        if (next_ >= write || next_ - consumed() >= ring_packets_)
            break;
        const auto packet = load(next_);
        if (!packet)
            break;
        const std::uint32_t header = packet->words[0];
        if (packet->invalid())
            break; // reserved but not published yet; the doorbell follows
        if (bit(header, barrier_bit) && consumed() != next_)
            break; // dispatch_completed() makes the CP look again
        const Start result = start(*packet);
        if (result == Start::wait)
            break;
        progress = true;
        ++next_;
        note_work();
        if (result == Start::done)
            complete(*packet);
        else if (vendor_index_)
            break;
    }
    return progress;
}

// PM4 that still waits is started again from its beginning when the queue comes back. Nothing
// was started behind it.
void AqlQueue::begin_stop() {
    stopping_ = true;
    if (!vendor_index_)
        return;
    next_ = *vendor_index_;
    vendor_index_.reset();
    vendor_.reset();
}

void AqlQueue::dispatch_completed(std::uint64_t packet_index) {
    const Schedule::Step at = unit_.schedule.later(Schedule::Kind::completion);
    if (unit_.schedule.reached(at))
        report_completion(packet_index);
    else
        late_.push_back({packet_index, at});
}

bool AqlQueue::report_late() {
    bool any = false;
    for (std::size_t i = 0; i < late_.size();) {
        if (!unit_.schedule.reached(late_[i].at)) {
            ++i;
            continue;
        }
        const std::uint64_t packet_index = late_[i].packet_index;
        late_.erase(late_.begin() + static_cast<std::ptrdiff_t>(i));
        report_completion(packet_index);
        any = true;
    }
    if (read_pointer_pending_ && unit_.schedule.reached(read_pointer_at_)) {
        report_read_pointer();
        any = true;
    }
    return any;
}

void AqlQueue::report_all() {
    for (const Late& late : std::exchange(late_, {}))
        report_completion(late.packet_index);
    if (read_pointer_pending_)
        report_read_pointer();
}

void AqlQueue::report_completion(std::uint64_t packet_index) {
    if (packet_index < read_ || packet_index >= next_ || done_.contains(packet_index)) {
        unit_.observer.unmodelled("aql", "completion of a packet that is not in flight");
        return;
    }
    if (const auto packet = load(packet_index)) {
        trace(*packet, "complete");
        const bool everywhere = complete(*packet);
        // Scratch too large to keep goes back to the process behind each dispatch that had it.
        AqlQueue* leader = on(0);
        if (everywhere && leader != nullptr && packet->words[6] != 0 &&
            has_property(amd_queue::property_use_scratch_once))
            leader->report(scratch_to_reclaim);
    } else {
        retire(packet_index);
    }
}

// This XCC is done with the packet. True when it was the last one, and the packet is complete.
bool AqlQueue::complete(const Packet& packet) {
    if (shared() && (!done_elsewhere(packet.index) || packet.invalid())) {
        retire(packet.index);
        return false;
    }
    const std::uint64_t signal_va =
        join(packet.words[completion_signal_dword], packet.words[completion_signal_dword + 1]);
    stamp(packet, amd_signal::end_ts);
    // The slot is handed back before the signal fires: who waits for it may reuse the slot.
    invalidate(packet);
    retire(packet.index);
    if (signal_va != 0)
        signal(signal_va);
    return true;
}

// read_dispatch_id moves over every packet whose slot may be reused. It is stored as 64 bits.
void AqlQueue::retire(std::uint64_t index) {
    done_.insert(index);
    const std::uint64_t before = consumed();
    while (done_.erase(read_) != 0)
        ++read_;
    hqd_.registers[hqd::pq_rptr] = low_half(read_ * 16);
    if (read_ == next_ && busy_) {
        busy_ = false;
        // NOLINTNEXTLINE(bugprone-unchecked-optional-access): set while it is busy
        connect_times_->end = unit_.clock.ticks();
    }
    if (consumed() == before || read_pointer_pending_)
        return;
    read_pointer_at_ = unit_.schedule.later(Schedule::Kind::read_pointer);
    read_pointer_pending_ = !unit_.schedule.reached(read_pointer_at_);
    if (!read_pointer_pending_)
        report_read_pointer();
}

void AqlQueue::report_read_pointer() {
    read_pointer_pending_ = false;
    if (const std::uint64_t report = hqd_.pair(hqd::rptr_report); report != 0)
        unit_.memory.store64(vmid_, report, consumed());
}

void AqlQueue::note_work() {
    if (busy_)
        return;
    busy_ = true;
    connect_times_ = {.start = unit_.clock.ticks(), .end = 0};
}

std::optional<AqlQueue::ConnectTimes> AqlQueue::connect_times() const {
    auto times = connect_times_;
    if (times && busy_)
        times->end = unit_.clock.ticks();
    return times;
}

std::vector<std::byte> AqlQueue::control_stack(std::span<const std::byte> shader_part) const {
    if (shader_part.empty() && in_flight() == 0 && done_.empty())
        return {};
    const FrontEndRecord record{record_magic, static_cast<std::uint32_t>(shader_part.size()),
                                next_};
    std::vector<std::uint32_t> events;
    sq::relaunch::append_events(events, std::as_bytes(std::span(&record, 1)));
    std::vector<std::byte> bytes(shader_part.begin(), shader_part.end());
    const auto added = std::as_bytes(std::span(events));
    bytes.insert(bytes.end(), added.begin(), added.end());
    return bytes;
}

bool AqlQueue::restore(std::span<const std::byte> control_stack) {
    std::array<std::uint32_t, sq::relaunch::event_words(sizeof(FrontEndRecord))> words{};
    if (control_stack.size() < sizeof words)
        return false;
    const std::size_t room = control_stack.size() - sizeof words;
    std::memcpy(words.data(), control_stack.data() + room, sizeof words);
    std::span<const std::uint32_t> events = words;
    const auto bytes = sq::relaunch::take_events(events);
    FrontEndRecord record;
    if (!bytes || bytes->size() != sizeof record)
        return false;
    std::memcpy(&record, bytes->data(), sizeof record);
    if (record.magic != record_magic || record.shader_bytes != room || record.next < read_ ||
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
    note_work();
    return true;
}

void AqlQueue::drop_in_flight() {
    late_.clear();
    while (read_ < next_) {
        // Tells the other XCCs that no XCC will complete it.
        if (const auto packet = shared() ? load(read_) : std::nullopt)
            invalidate(*packet);
        retire(read_);
    }
}

void AqlQueue::invalidate(const Packet& packet) {
    unit_.memory.store32(vmid_, packet.va, (packet.words[0] & 0xffff'0000) | type_invalid);
}

void AqlQueue::trace(const Packet& packet, const char* what) {
    if (!unit_.observer.tracing())
        return;
    unit_.observer.event("aql",
                         fmt::format("{} queue {:#x} packet {} header {:#x} signal {:#x}", what,
                                     hqd_.doorbell_dword(), packet.index, packet.words[0] & 0xffff,
                                     join(packet.words[completion_signal_dword],
                                          packet.words[completion_signal_dword + 1])));
}

} // namespace vgpu
