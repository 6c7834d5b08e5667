// SPDX-License-Identifier: MIT
// A user's queue of PM4 packets: reads ring and indirect buffers, launches dispatches.
#pragma once

#include "model/base/clock.hpp"
#include "model/base/observer.hpp"
#include "model/cp/hqd.hpp"
#include "model/cp/pm4_executor.hpp"
#include "model/cp/register_dispatcher.hpp"
#include "model/gmc/memory_controller.hpp"
#include "model/sq/shader_array.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace vgpu {

struct Pm4Surroundings {
    MemoryController& memory;
    ShaderArray& shaders;
    Pm4Target& pm4;
    Clock& clock;
    Observer& observer;
};

// The CP reads one packet at a time, and its read pointers pass a packet when the packet is done: a
// queue that leaves in between comes back to the packet that had to wait. Where the queue is, its
// HQD says, and so the MQD does: the ring's read pointer stays at INDIRECT_BUFFER while
// CP_HQD_IB_RPTR counts what is done of the buffer.
class Pm4UserQueue {
public:
    // `hqd` must stay where it is while the queue is connected.
    Pm4UserQueue(const Pm4Surroundings& surroundings, unsigned slot, Hqd& hqd);

    // Processes packets until one has to wait. True when something was done.
    bool advance();
    // Nothing more is started.
    void begin_stop() { executor_.drop(); }
    // COMPUTE_* registers into the MQD.
    void store() const { dispatcher_.registers().store(unit_.memory, hqd_.mqd()); }

    ComputeRegisters& compute() { return dispatcher_.registers(); }
    // The stall that ends when the dispatch has begun; empty when it has.
    Stall dispatch(const pm4::Dispatch& packet);

    // Packets or dispatches aren't done.
    bool busy() const;
    // A packet waits for memory that a CPU writes without telling.
    bool polling() const { return executor_.polling(); }

private:
    bool in_buffer() const { return buffer_dwords_ != 0; }
    bool begin_packet();
    std::optional<std::vector<std::uint32_t>> read_packet();
    std::uint32_t dwords_left() const;
    std::optional<std::uint32_t> dword(std::uint32_t offset);
    bool enter_buffer(std::span<const std::uint32_t> body);
    void leave_buffer();
    void finish_packet(std::uint32_t dwords);
    void fail(const char* why);

    Pm4Surroundings unit_;
    unsigned slot_;
    Hqd& hqd_;
    RegisterDispatcher dispatcher_;
    Pm4Executor executor_;
    std::uint32_t packet_dwords_ = 0; // of the packet in the executor
    std::uint32_t buffer_dwords_ = 0; // of the indirect buffer, 0 when in none
    bool failed_ = false;             // a packet made no sense: nothing starts any more
};

} // namespace vgpu
