// SPDX-License-Identifier: MIT
// The AQL front end of one user queue: reads packets, launches them, reports their completion.
#pragma once

#include "model/base/clock.hpp"
#include "model/base/observer.hpp"
#include "model/base/schedule.hpp"
#include "model/cp/amd_queue.hpp"
#include "model/cp/hqd.hpp"
#include "model/cp/pm4_executor.hpp"
#include "model/cp/scheduler.hpp"
#include "model/gmc/memory_controller.hpp"
#include "model/ih/interrupt_handler.hpp"
#include "model/sq/shader_array.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <vector>

namespace vgpu {

// The units that an AQL queue uses.
struct AqlSurroundings {
    MemoryController& memory;
    ShaderArray& shaders;
    XccInterrupts interrupts;
    Pm4Target& pm4;
    Clock& clock;
    Schedule& schedule;
    Observer& observer;
    std::uint32_t firmware = 0; // the version that the driver loaded
};

// Where the queue's other halves are: every XCC reads the same ring, with an MQD of its own.
struct AqlPartition {
    Scheduler& scheduler;
    unsigned xcc = 0;
    std::uint32_t mqd_stride = 0;
    sq::WorkgroupShare share;
};

// XCC 0 leads: it looks at a packet first and decides when it starts. The others follow it packet
// by packet with their share of a dispatch's workgroups. A packet is complete when all XCCs are
// done with it, and the last one of them says so. Where each one is can be read from the MQD of
// one that isn't connected, so nothing else needs to be kept.
class AqlQueue {
public:
    // `hqd` must stay where it is while the queue is connected.
    AqlQueue(const AqlSurroundings& surroundings, unsigned slot, Hqd& hqd,
             const AqlPartition& partition);

    // Processes packets until one has to wait. True when at least one was started or completed.
    bool advance();
    // A dispatch that advance() or a restore started has ended.
    void dispatch_completed(std::uint64_t packet_index);
    // Reports the ends of dispatches, and the read pointer, that a schedule delayed until now. True
    // when there were any.
    bool report_late();
    // However long they were delayed: the queue leaves its slot.
    void report_all();

    // A fault: new packets aren't seen until doorbell() or until the queue is mapped anew.
    void ignore_writes() { ignores_writes_ = true; }
    void doorbell() { ignores_writes_ = false; }
    std::uint64_t seen_write() const { return seen_write_; }

    // Nothing more is started. The queue leaves its slot when the shader array has stopped.
    void begin_stop();
    // Control stack: what the shader array saved, and where the front end is. Empty when there
    // is nothing to come back to but the read pointer.
    std::vector<std::byte> control_stack(std::span<const std::byte> shader_part) const;
    // The reverse, right after construction. False when the bytes make no sense.
    bool restore(std::span<const std::byte> control_stack);
    // After that: packets that were done here, and everywhere else since.
    void complete_restored();
    // Dispatches in flight were dropped (reset): their packets are consumed, their signals never
    // fire.
    void drop_in_flight();

    // True while a packet waits for something that no doorbell announces.
    bool polling() const { return polling_; }
    // Packets aren't done. A queue that failed doesn't come to the rest.
    bool busy() const { return in_flight() != 0 || (!failed_ && next_ < seen_write_); }
    std::uint64_t in_flight() const { return next_ - read_ - done_.size(); }

    // When the queue last went from idle to busy and back, or until now, in ticks; nothing when it
    // began no packet since it was mapped.
    struct ConnectTimes {
        std::uint64_t start = 0;
        std::uint64_t end = 0;
    };
    std::optional<ConnectTimes> connect_times() const;
    std::uint64_t packets_read() const { return read_; }
    std::uint64_t mqd_on(unsigned xcc) const;

private:
    static constexpr std::uint32_t type_invalid = 1; // HSA packet type of a free slot

    struct Packet {
        std::uint64_t index = 0;
        std::uint64_t va = 0;
        std::array<std::uint32_t, 16> words{};

        bool invalid() const { return (words[0] & 0xff) == type_invalid; }
    };

    enum class Start : std::uint8_t { done, in_flight, wait };

    // Memory for private segments, for dispatches up to a size.
    struct QueueScratch {
        ScratchRing ring; // of the first XCC
        std::uint32_t lane_bytes = 0;
        std::uint64_t max_use_index = ~0ULL;          // of the last packet that may use it
        std::array<std::uint32_t, 3> grid_limit = {}; // of the alternate scratch
    };
    static constexpr std::size_t main_scratch = 0;
    static constexpr std::size_t alternate_scratch = 1;

    // aql_queue.cpp: the ring
    std::uint64_t packet_va(std::uint64_t index) const;
    std::optional<Packet> load(std::uint64_t index);
    bool advance_vendor();
    std::uint64_t see_write();
    void report_completion(std::uint64_t packet_index);
    void report_read_pointer();
    bool complete(const Packet& packet);
    void retire(std::uint64_t index);
    void note_work();
    void invalidate(const Packet& packet);
    void trace(const Packet& packet, const char* what);

    // aql_partition.cpp: the other XCCs
    std::uint64_t extend(std::uint32_t read_pointer) const;
    AqlQueue* on(unsigned xcc) const;
    std::uint64_t read_on(unsigned xcc) const;
    bool done_on(unsigned xcc, std::uint64_t index) const;
    bool done_elsewhere(std::uint64_t index) const;
    std::uint64_t consumed() const;
    bool leads() const { return partition_.xcc == 0; }
    bool shared() const { return partition_.share.count > 1; }
    bool follow();

    // aql_packets.cpp: what each type of packet does
    Start start(const Packet& packet);
    Start start_dispatch(const Packet& packet);
    Start launch(const Packet& packet);
    std::optional<QueueError> problem_of(const Packet& packet) const;
    Start start_barrier(const Packet& packet, bool any);
    Start start_vendor(const Packet& packet);
    Start start_pm4(const Packet& packet);
    Start start_barrier_value(const Packet& packet);

    // aql_scratch.cpp
    bool offers_reclaim();
    void offer_reclaim();
    bool reclaims_scratch();
    void connect_scratch();
    void read_scratch();
    std::optional<std::size_t> scratch_for(const Packet& packet) const;
    std::size_t scratch_of_started(const Packet& packet);
    bool scratch_in_use_once(const Packet& packet);
    ScratchRing scratch_ring(std::size_t kind);
    void store_scratch_use(std::size_t kind, std::uint64_t packet_index);

    // aql_signal.cpp: what user space hears
    std::uint64_t amd_queue_va() const;
    bool has_property(unsigned property);
    void stamp(const Packet& packet, std::uint64_t field);
    void signal(std::uint64_t signal_va);
    void ring_mailbox(std::uint64_t mailbox, std::uint32_t event);
    void report(const QueueError& error);
    std::optional<std::uint64_t> request();
    bool still_inactive();

    AqlSurroundings unit_;
    unsigned slot_;
    Hqd& hqd_;
    AqlPartition partition_;
    unsigned vmid_;
    std::uint64_t ring_base_;
    std::uint64_t ring_packets_;
    std::uint64_t read_ = 0;            // oldest packet that this XCC isn't done with
    std::uint64_t next_ = 0;            // next packet to start
    std::set<std::uint64_t> done_;      // those in [read_, next_) that it is done with
    std::optional<Pm4Executor> vendor_; // a vendor packet's PM4 that is still running
    std::optional<std::uint64_t> vendor_index_;
    std::uint64_t seen_write_ = 0; // the write index when the queue last looked at it
    bool ignores_writes_ = false;
    std::optional<ConnectTimes> connect_times_;
    bool busy_ = false; // the end of connect_times_ is to come
    bool stopping_ = false;
    bool failed_ = false;   // a packet made no sense: nothing starts until the queue is mapped anew
    bool inactive_ = false; // asked user space for something by the inactive signal
    bool polling_ = false;
    std::array<QueueScratch, 2> scratch_; // main and alternate: the leader's copy of amd_queue_t
    struct Late {
        std::uint64_t packet_index = 0;
        Schedule::Step at = 0;
    };
    std::vector<Late> late_; // dispatches whose end isn't reported yet
    bool read_pointer_pending_ = false;
    Schedule::Step read_pointer_at_ = 0;
};

} // namespace vgpu
