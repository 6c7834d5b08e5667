// SPDX-License-Identifier: MIT
// The shader side of one XCC as the command processor sees it: dispatch, run, stop, save, restore.
#pragma once

#include "model/base/clock.hpp"
#include "model/base/memory.hpp"
#include "model/base/observer.hpp"
#include "model/base/schedule.hpp"
#include "model/isa/isa.hpp"
#include "model/sq/cu_mask.hpp"
#include "model/sq/dispatch_geometry.hpp"
#include "model/sq/gws_range.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace vgpu {

// The CP's description of a queue that is in a hardware slot (HQD).
struct QueueBinding {
    unsigned slot = 0; // key of every call below, unique among bound queues
    unsigned vmid = 0;
    std::uint32_t doorbell_id = 0;
    std::uint64_t tba = 0;            // byte address of the trap handler, 0 for none
    std::uint64_t tma = 0;            // byte address of the trap handler's memory
    std::uint64_t ctx_save_base = 0;  // CWSR area in `vmid`, from the MQD
    std::uint32_t ctx_save_bytes = 0; // its size, control stack part included
    // Its control stack part (CP_HQD_CNTL_STACK_SIZE): wave data lives behind it.
    std::uint32_t ctl_stack_bytes = 0;
    std::uint32_t sh_mem_bases = 0;  // private (low half) and shared (high half) apertures >> 48
    unsigned xcc = 0;                // XCC_ID of its waves
    sq::WorkgroupShare share;        // of each dispatch
    sq::CuMask cu_mask;              // of its waves, new and restored ones
    sq::GwsRange gws;                // of `vmid`
    bool controls_gws = false;       // the process has GWS for this queue
    std::uint32_t debug_control = 0; // SPI_GDBG_PER_VMID_CNTL: exceptions of its new waves
};

// The memory that a queue's waves have for scratch: `waves` slots, one behind the other.
struct ScratchRing {
    std::uint64_t base = 0;
    std::uint32_t waves = 0;
    std::uint32_t wave_bytes = 0;
    std::array<std::uint32_t, 4> resource{}; // the same as a buffer, for programs that ask for it
};

// The COMPUTE_* registers of a dispatch that has no kernel descriptor.
struct RegisterDispatch {
    std::uint64_t entry = 0; // COMPUTE_PGM, as a byte address
    std::uint32_t rsrc1 = 0;
    std::uint32_t rsrc2 = 0;
    std::uint32_t rsrc3 = 0;
    std::array<std::uint32_t, 16> user_data{}; // for the first SGPRs
    sq::Coordinates start{};                   // id of the first workgroup
};

// A 64-byte AQL kernel dispatch packet, and where it came from. When registers describe the
// dispatch, the packet has its sizes and nothing else.
struct AqlDispatch {
    std::uint64_t packet_index = 0; // read_dispatch_id of the packet
    std::uint64_t packet_va = 0;    // its address in the ring, for kernels that ask for it
    std::array<std::uint32_t, 16> packet{};
    // amd_queue_t address for kernels that ask for it, 0 when unknown
    std::uint64_t amd_queue_va = 0;
    ScratchRing scratch; // of the queue; for packets with a private segment
    std::optional<RegisterDispatch> registers;
    std::uint32_t ring_packet = 0; // number of the packet in its ring, which starts in a TTMP
};

// How running waves end. Encoded by the CP from CP_HQD_DEQUEUE_REQUEST or UNMAP_QUEUES.
enum class StopMode : std::uint8_t { drain, reset, save };

// The result of a finished save, for the MQD. These bytes and the CWSR area have everything needed
// to restore: the model keeps nothing else of a queue that left the hardware.
struct SavedQueue {
    std::vector<std::byte> control_stack;   // dispatch, workgroup and wave records, oldest first
    std::uint32_t wave_state_bytes = 0;     // used part of the CWSR area behind the control stack
    std::uint64_t waves = 0;                // saved waves
    std::uint64_t handler_instructions = 0; // executed by the trap handler for this save
};

// Implemented by the command processor. Called from inside run() and request_stop().
class ShaderClient {
public:
    virtual ~ShaderClient() = default;
    // Every workgroup of the dispatch has ended; its memory effects are visible.
    virtual void dispatch_completed(unsigned slot, std::uint64_t packet_index) = 0;
    // A wave executed s_sendmsg(MSG_INTERRUPT): raise SQ interrupt 239 with this payload (m0).
    // `priv`: it did so in the trap handler.
    virtual void wave_interrupt(unsigned slot, std::uint32_t payload, bool priv) = 0;
    // A wave can't continue: bad instruction or memory fault at pc. It is in its trap handler now,
    // or was ended when there is none.
    virtual void wave_failed(unsigned slot, std::uint64_t pc, bool memory_fault) = 0;
};

class ShaderArray {
public:
    struct Config {
        unsigned compute_units = 4;
        unsigned shader_engines = 1; // unit i is in engine i % shader_engines
        isa::Isa isa = isa::Isa::gfx942;
        // True: registers and LDS of a relaunched wave are poisoned before the trap handler
        // restores them, so that a handler that forgets some is caught.
        bool poison_on_restore = true;
        const Clock* reference_clock = nullptr; // what s_memrealtime reads
    };

    ShaderArray(const Config& config, Memory& memory, Schedule& schedule, Observer& observer,
                ShaderClient& client);
    ~ShaderArray();
    ShaderArray(const ShaderArray&) = delete;
    ShaderArray& operator=(const ShaderArray&) = delete;

    // A queue was connected to its slot. Must not be bound already.
    void bind(const QueueBinding& queue);
    // The queue left its slot. Any wave still there is dropped without a trace in memory.
    void unbind(unsigned slot);

    // Starts a dispatch. False when the slot holds all the dispatches it can track; the CP offers
    // the packet again later. Workgroups launch as compute units have room.
    bool dispatch(unsigned slot, const AqlDispatch& dispatch);
    std::size_t dispatches_in_flight(unsigned slot) const;

    // For workgroups that launch from here on, of any dispatch.
    void set_cu_mask(unsigned slot, const sq::CuMask& mask);

    // No new workgroup of the slot launches from here on. save: waves trap into the driver's
    // handler; drain: running workgroups end; reset: waves vanish at once.
    void request_stop(unsigned slot, StopMode mode);
    // True once no wave of the slot is on hardware.
    bool stopped(unsigned slot) const;
    // Any wave is.
    bool has_waves() const;
    // Ticks of the reference clock at which the first of the waves that sleep goes on.
    std::optional<std::uint64_t> next_wakeup() const;
    // After a stop (save or drain): what is left to do, to be stored by the CP at the end of the
    // control stack. Empty control stack: nothing was in flight.
    SavedQueue take_saved(unsigned slot);
    // The reverse, after bind(): dispatches and waves come back from the control stack and the
    // CWSR area. False when the bytes make no sense (nothing was restored).
    bool restore(unsigned slot, std::span<const std::byte> control_stack);
    // Packet index of every dispatch that restore() brought back or dispatch() started and that
    // hasn't completed, oldest first.
    std::vector<std::uint64_t> pending_packets(unsigned slot) const;

    // A fault knob: a wave of this slot that is asked to save never enters the trap handler.
    void ignore_save_requests(unsigned slot, bool ignore);

    // Runs up to `wave_instructions`, round robin over waves, in a fixed order. Returns how many
    // ran: 0 means that there was nothing to run (no wave, or every wave waits).
    std::uint64_t run(std::uint64_t wave_instructions);

    // Instructions that the waves of each VMID executed since the last call.
    std::array<std::uint64_t, 16> take_executed_by_vmid();

    // TCP_WATCHn, of a number below 4: its address and TCP_WATCHn_CNTL.
    void set_watch(unsigned number, std::uint64_t address, std::uint32_t control);

    // Everything is dropped, as by a reset of the device.
    void reset();

private:
    struct State;
    std::unique_ptr<State> state_;
};

} // namespace vgpu
