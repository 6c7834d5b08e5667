// SPDX-License-Identifier: MIT
// One SDMA engine: the kernel's GFX ring and eight user rings (RLC), which share a packet set.
#pragma once

#include "model/base/clock.hpp"
#include "model/base/fault_hooks.hpp"
#include "model/base/observer.hpp"
#include "model/base/schedule.hpp"
#include "model/gmc/memory_controller.hpp"
#include "model/ih/interrupt_handler.hpp"
#include "model/regs/register_file.hpp"

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace vgpu {

// A user queue that MAP_QUEUES puts on a ring.
struct SdmaUserQueue {
    std::uint64_t mqd = 0;
    std::uint32_t doorbell = 0; // dword in the doorbell BAR
    std::uint64_t wptr_address = 0;
    unsigned vmid = 0;
};

class SdmaEngine {
public:
    struct Surroundings {
        RegisterFile& registers;
        MemoryController& memory;
        InterruptHandler& interrupts;
        Clock& clock;
        FaultHooks& faults;
        Schedule& schedule;
        Observer& observer;
    };

    SdmaEngine(const Surroundings& surroundings, unsigned engine);
    ~SdmaEngine() = default;
    // Register handlers point into the engine.
    SdmaEngine(const SdmaEngine&) = delete;
    SdmaEngine& operator=(const SdmaEngine&) = delete;

    // True when an enabled ring has this doorbell.
    bool doorbell(std::uint32_t dword, std::uint64_t value);
    // Gives every ring its turn: a few packets, or a part of a large one. True when something was
    // done, so that more may be left.
    bool run();
    bool polling() const;
    void reset();

    // As the CP's scheduler does for MAP_QUEUES and UNMAP_QUEUES: a user ring is loaded from its
    // MQD, and its read pointer goes back there, with what was done of a packet it had begun.
    void map_user_queue(const SdmaUserQueue& queue);
    // Returns false while a fault knob stalls a selected ring: ask again.
    bool
    unmap_user_queues(const std::function<bool(unsigned vmid, std::uint32_t doorbell)>& selected);

private:
    static constexpr unsigned user_rings = 8;
    static constexpr std::size_t indirect_dwords = 6;

    struct Buffer {
        unsigned vmid = 0;
        std::vector<std::uint32_t> dwords;
        std::size_t next = 0;
    };
    struct Ring {
        std::uint32_t base = 0; // dword of its RB_CNTL; all rings have one register layout
        bool user = false;
        std::uint64_t mqd = 0;       // of a user ring the CP mapped
        std::vector<Buffer> buffers; // the ring's packets, then nested indirect buffers
        std::uint64_t done = 0;      // bytes or rows of the packet at hand that are done
        bool waiting = false;        // a poll isn't satisfied yet
        bool faulted = false;        // an access of the packet at hand has no page
        bool draining = false;       // disabled by the driver, ends the packet at hand
        Schedule::Step looks_at = 0; // fetches nothing before
    };
    // The outcome of a packet's turn.
    struct Step {
        enum class Result : std::uint8_t { done, more, wait, fault };
        Result result = Result::done;
        std::size_t dwords = 0; // when done
    };

    void set_power_on_values();
    std::uint32_t reg(const Ring& ring, std::uint32_t gfx_register) const;
    void set_reg(const Ring& ring, std::uint32_t gfx_register, std::uint32_t value);
    std::uint64_t read_pointer(const Ring& ring) const;
    std::uint64_t write_pointer(const Ring& ring) const;
    unsigned vmid_of(const Ring& ring) const;
    std::uint32_t doorbell_of(const Ring& ring) const;
    bool enabled(const Ring& ring) const;
    bool idle(const Ring& ring) const;
    bool stuck(const Ring& ring);
    void write_control(Ring& ring, std::uint32_t value);
    Ring* free_user_ring();
    bool run_ring(Ring& ring);
    bool run_buffer(Ring& ring);
    void fetch(Ring& ring);
    // Work in flight is dropped; the read pointer names the packet at hand.
    void give_up(Ring& ring);
    void set_read_pointer(const Ring& ring, std::uint64_t read);
    void report_read_pointer(const Ring& ring);

    // sdma_packets.cpp
    using Packet = std::span<const std::uint32_t>;
    Step execute(Ring& ring, unsigned vmid, Packet packet);
    Step write(unsigned vmid, Packet packet);
    Step indirect(Ring& ring, unsigned vmid, Packet packet);
    Step fence(unsigned vmid, Packet packet);
    Step poll(unsigned vmid, Packet packet);
    Step atomic(unsigned vmid, Packet packet);
    Step page_entries(unsigned vmid, Packet packet);
    Step trap(const Ring& ring, unsigned vmid, Packet packet);
    Step timestamp(unsigned vmid, Packet packet);
    Step unknown(Packet packet);
    void trace(std::string_view text);

    // sdma_copy.cpp: packets that may take many turns
    Step copy(Ring& ring, unsigned vmid, Packet packet);
    Step copy_linear(Ring& ring, unsigned vmid, Packet packet);
    Step copy_rect(Ring& ring, unsigned vmid, Packet packet);
    Step fill(Ring& ring, unsigned vmid, Packet packet);
    bool move(unsigned vmid, std::uint64_t source, std::uint64_t target, std::uint64_t bytes);

    Surroundings unit_;
    unsigned engine_;
    unsigned aid_;
    unsigned place_; // there
    std::string name_;
    std::array<Ring, 1 + user_rings> rings_{};
    unsigned next_user_ring_ = 0; // that the CP takes if it is free
};

// Returns nothing for a packet that isn't executed: it is reported when met.
std::optional<std::string_view> sdma_packet_name(std::uint8_t opcode);

} // namespace vgpu
