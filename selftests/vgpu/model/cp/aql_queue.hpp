// SPDX-License-Identifier: MIT
// The AQL front end of one user queue: reads packets, launches them, reports their completion.
#pragma once

#include "model/base/clock.hpp"
#include "model/base/observer.hpp"
#include "model/cp/amd_queue.hpp"
#include "model/cp/hqd.hpp"
#include "model/cp/pm4_executor.hpp"
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

// What the units around the CP are to an AQL queue.
struct AqlSurroundings {
    MemoryController& memory;
    ShaderArray& shaders;
    InterruptHandler& interrupts;
    Pm4Target& pm4;
    Clock& clock;
    Observer& observer;
};

class AqlQueue {
public:
    // `hqd` must stay where it is while the queue is connected.
    AqlQueue(const AqlSurroundings& surroundings, unsigned slot, Hqd& hqd);

    // Processes packets until one has to wait. True when at least one was started or completed.
    bool advance();
    // A dispatch that advance() or a restore started has ended.
    void dispatch_completed(std::uint64_t packet_index);

    // Nothing more is started. The queue leaves its slot when the shader array has stopped.
    void begin_stop();
    // Control stack: what the shader array saved, and where the front end is. Empty when there
    // is nothing to come back to but the read pointer.
    std::vector<std::byte> control_stack(std::span<const std::byte> shader_part) const;
    // The reverse, right after construction. False when the bytes make no sense.
    bool restore(std::span<const std::byte> control_stack);
    // Dispatches in flight were dropped (reset): their packets are consumed, their signals never
    // fire.
    void drop_in_flight();

    // True while a packet waits for something that no doorbell announces.
    bool polling() const { return polling_; }
    std::uint64_t in_flight() const { return next_ - read_ - done_.size(); }

private:
    struct Packet {
        std::uint64_t index = 0;
        std::uint64_t va = 0;
        std::array<std::uint32_t, 16> words{};
    };

    enum class Start : std::uint8_t { done, in_flight, wait };

    // aql_queue.cpp: the ring
    std::uint64_t packet_va(std::uint64_t index) const;
    std::optional<Packet> load(std::uint64_t index);
    bool advance_vendor();
    void complete(const Packet& packet);
    void retire(std::uint64_t index);
    void trace(const Packet& packet, const char* what);

    // aql_packets.cpp: what each type of packet does
    Start start(const Packet& packet);
    Start start_dispatch(const Packet& packet);
    std::optional<QueueError> problem_of(const Packet& packet) const;
    bool scratch_suffices(const Packet& packet);
    Start start_barrier(const Packet& packet, bool any);
    Start start_vendor(const Packet& packet);
    Start start_pm4(const Packet& packet);
    Start start_barrier_value(const Packet& packet);

    // aql_signal.cpp: what user space hears
    std::uint64_t amd_queue_va() const;
    bool has_property(unsigned property);
    void stamp(const Packet& packet, std::uint64_t field);
    void signal(std::uint64_t signal_va);
    void ring_mailbox(std::uint64_t mailbox, std::uint32_t event);
    void report(const QueueError& error);
    bool still_inactive();

    AqlSurroundings unit_;
    unsigned slot_;
    Hqd& hqd_;
    unsigned vmid_;
    std::uint64_t ring_base_;
    std::uint64_t ring_packets_;
    std::uint64_t read_ = 0;            // oldest packet that has not completed: read_dispatch_id
    std::uint64_t next_ = 0;            // next packet to start
    std::set<std::uint64_t> done_;      // completed ones in [read_, next_)
    std::optional<Pm4Executor> vendor_; // a vendor packet's PM4 that is still running
    std::optional<std::uint64_t> vendor_index_;
    bool stopping_ = false;
    bool failed_ = false;   // a packet made no sense: nothing starts until the queue is mapped anew
    bool inactive_ = false; // asked user space for something by the inactive signal
    bool polling_ = false;
};

} // namespace vgpu
