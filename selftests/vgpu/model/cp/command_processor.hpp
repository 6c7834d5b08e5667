// SPDX-License-Identifier: MIT
// The compute command processor of one XCC: HQD slots, PM4 and AQL queues, dequeue and CWSR.
#pragma once

#include "model/base/clock.hpp"
#include "model/base/fault_hooks.hpp"
#include "model/base/observer.hpp"
#include "model/base/schedule.hpp"
#include "model/cp/aql_queue.hpp"
#include "model/cp/contention.hpp"
#include "model/cp/hqd.hpp"
#include "model/cp/pm4_executor.hpp"
#include "model/cp/pm4_user_queue.hpp"
#include "model/cp/scheduler.hpp"
#include "model/cp/vmid_registers.hpp"
#include "model/gmc/memory_controller.hpp"
#include "model/ih/interrupt_handler.hpp"
#include "model/regs/register_file.hpp"
#include "model/sq/shader_array.hpp"

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace vgpu {

class CommandProcessor final : public Pm4Target, public ShaderClient {
public:
    struct Surroundings {
        unsigned xcc;
        XccRegisters registers;
        MemoryController& memory;
        XccInterrupts interrupts;
        Scheduler& scheduler;
        ShaderArray& shaders;
        Clock& clock;
        FaultHooks& faults;
        Schedule& schedule;
        Observer& observer;
    };

    explicit CommandProcessor(const Surroundings& surroundings);

    // True when a queue with this doorbell was connected.
    bool doorbell(std::uint32_t dword, std::uint64_t value);
    // Advances every queue as far as possible. Returns true if something was done.
    bool run();
    // Some queue waits for memory that a CPU writes without telling.
    bool polling() const;
    // Adds the users' queues on slots. True when one of them is on its way off.
    bool add_user_queues(std::vector<Contention::Queue>& queues) const;
    // Everything is disconnected and forgotten.
    void reset();

    // ShaderClient
    void dispatch_completed(unsigned slot, std::uint64_t packet_index) override;
    void wave_interrupt(unsigned slot, std::uint32_t payload, bool priv) override;
    void wave_failed(unsigned slot, std::uint64_t pc, bool memory_fault) override;

    // Pm4Target
    void trace_packet(unsigned slot, unsigned depth, unsigned vmid, std::uint8_t opcode,
                      std::span<const std::uint32_t> body) override;
    void unmodelled_packet(std::uint8_t opcode, std::span<const std::uint32_t> body) override;
    void write_register(unsigned slot, std::uint32_t dword, std::uint32_t value) override;
    std::uint32_t read_register(unsigned slot, std::uint32_t dword) override;
    std::uint32_t read_memory(unsigned vmid, std::uint64_t va) override;
    void write_memory(unsigned vmid, std::uint64_t va, std::uint32_t value) override;
    void write_memory64(unsigned vmid, std::uint64_t va, std::uint64_t value) override;
    std::vector<std::uint32_t> fetch(unsigned vmid, std::uint64_t va,
                                     std::uint32_t dwords) override;
    std::uint64_t clock() override { return unit_.clock.ticks(); }
    unsigned xcc() const override { return unit_.xcc; }
    void end_of_pipe(unsigned slot, unsigned vmid, std::uint32_t context_id) override;
    std::optional<Stall> dispatch(unsigned slot, const pm4::Dispatch& packet) override;
    bool dispatches_done(unsigned slot) override {
        return unit_.shaders.dispatches_in_flight(slot) == 0;
    }
    void invalidate_tlbs() override { unit_.memory.invalidate(); }
    void set_resources(unsigned slot, const pm4::SetResources& packet) override;
    void start_run_list(const pm4::RunList& packet) override;
    void map_process(const pm4::MapProcess& packet) override;
    void map_queues(const pm4::MapQueues& packet) override;
    Stall unmap_queues(unsigned slot, const pm4::UnmapQueues& packet) override;
    Stall query_status(unsigned slot, const pm4::QueryStatus& packet) override;
    Stall delay_fence() override;

    // For the scheduler
    bool connected(unsigned slot) const { return connections_[slot] != nullptr; }
    bool by_runlist(unsigned slot) const {
        return connected(slot) && connections_[slot]->by_runlist;
    }
    const Hqd& hqd(unsigned slot) const { return hqds_[slot]; }
    // A packet's access to this XCC's own copy of a register, or to a unit that all XCCs share.
    void write_own_register(std::uint32_t dword, std::uint32_t value);
    void set_process(unsigned vmid, const VmidState& state) { vmids_[vmid] = state; }
    void set_gws(unsigned vmid, sq::GwsRange range);
    sq::GwsRange gws(unsigned vmid) const;
    // Watches of a process that got the VMID; a control that isn't valid changes nothing.
    void set_watches(unsigned vmid, const pm4::MapProcess& packet);
    void clear_watches(unsigned vmid);
    // Connects a queue of the runlist to a free slot. `packet` names its MQD on XCC 0.
    void load_queue(unsigned slot, const pm4::MapQueues& packet, unsigned vmid);
    void begin_stop(unsigned slot, StopMode mode, bool direct);
    // True when a fault makes an UNMAP_QUEUES pass over the queue. It is marked as skipped until a
    // runlist maps it again or it leaves.
    bool skips_unmap(unsigned slot, StopMode mode);
    bool skipped(unsigned slot) const { return connected(slot) && connections_[slot]->skipped; }
    std::optional<unsigned> skipped_slot(const pm4::MapQueues& packet) const;
    void keep_queue(unsigned slot);
    // True once a queue that was told to stop is off its slot, or a fault pretends it.
    bool left(unsigned slot);
    // Queues of the runlist that were told to stop and haven't go into the MQD of this XCC's HIQ.
    void report_hung(unsigned hiq);

    // Makes the MQDs that the queues of a process were last saved in say that nothing was saved.
    // Returns how many there were.
    unsigned scribble_saved_mqds(std::uint16_t pasid);

    // The queue that is connected to a slot, when its MQD is this one.
    AqlQueue* aql_queue(unsigned slot, std::uint64_t mqd);

private:
    // The queue on a slot. Exactly one of the first three is set.
    struct Connection {
        std::optional<AqlQueue> aql;
        std::optional<Pm4UserQueue> user_pm4;
        std::optional<Pm4Executor> pm4; // of the kernel, or of a queue that another XCC executes
        std::optional<RegisterDispatcher> kernel; // of the kernel, once it has named a shader
        bool by_runlist = false;
        std::optional<StopMode> stopping;
        bool skipped = false; // an UNMAP_QUEUES passed over it, and no runlist has mapped it since
        bool direct = false;  // the stop was asked for by CP_HQD_DEQUEUE_REQUEST
        bool follows = false; // another XCC acts on the ring's packets
        bool controls_gws = false;
        Schedule::Step looks_at = 0;             // at its ring
        Schedule::Step stops_at = 0;             // the CP takes note of `stopping`
        bool stop_seen = false;                  // it has
        std::optional<Schedule::Step> leaves_at; // once its waves are gone
        bool fence_is_early = false;             // an unmap does not wait for the end of the save

        // It has waves on this XCC, which it takes along when it leaves.
        bool has_waves() const { return of_user() || kernel; }
        bool of_user() const { return aql || user_pm4; }
    };

    // The state that a save left in an MQD.
    struct SavedMqd {
        std::uint16_t pasid = 0;
        std::uint32_t ctl_stack_offset = 0;
        std::uint64_t seen_write = 0; // AqlQueue::seen_write()
    };

    // command_processor.cpp: queues that are connected
    bool run_slot(unsigned slot);
    void fetch_ring(unsigned slot);
    std::string name_of(unsigned slot) const;
    ComputeRegisters* compute_registers(unsigned slot);

    // hqd_registers.cpp: the driver's view of the slots
    void connect_registers();
    unsigned selected_slot() const;
    std::uint32_t read_hqd(std::uint32_t index);
    void write_hqd(std::uint32_t index, std::uint32_t value);
    std::uint32_t alias(std::uint32_t dword) const;

    // By which fault knobs know a slot: unique among all XCCs.
    unsigned global_slot(unsigned slot) const { return unit_.xcc * hqd_slots + slot; }

    // queue_switch.cpp: connecting and disconnecting
    std::uint64_t own_mqd(const pm4::MapQueues& packet) const;
    StopRequest stop_request(unsigned slot, StopMode mode, bool direct) const;
    void connect(unsigned slot, bool by_runlist, bool controls_gws = false);
    void connect_aql(unsigned slot);
    void connect_user_pm4(unsigned slot);
    void bind(unsigned slot, const sq::WorkgroupShare& share);
    void load_mqd(unsigned slot, std::uint64_t mqd, const pm4::MapQueues& packet, unsigned vmid);
    std::uint32_t mqd_field(unsigned slot, std::uint32_t dword);
    void restore(unsigned slot);
    bool see_stop(unsigned slot);
    bool finish_stop(unsigned slot);
    void store_queue(unsigned slot, StopMode mode);
    void store_waves(unsigned slot);
    void store_control_stack(unsigned slot, std::span<const std::byte> stack,
                             std::uint32_t wave_state_bytes);
    void disconnect(unsigned slot);

    // mqd_write_back.cpp
    void refresh_status(unsigned slot);
    void enter_vmid(unsigned slot, unsigned vmid);
    void write_back(unsigned slot);
    void write_back_packets(unsigned slot);

    // silent_faults.cpp
    std::optional<std::uint64_t> seen_write(std::uint64_t mqd) const;
    void lose_doorbell(unsigned slot, std::uint64_t seen);

    // watch_registers.cpp
    void connect_watch_registers();

    // queue_reset.cpp
    void connect_reset_registers();
    void reset_queue(unsigned slot);

    Surroundings unit_;
    std::string actor_; // in the trace
    std::array<Hqd, hqd_slots> hqds_{};
    std::array<std::unique_ptr<Connection>, hqd_slots> connections_;
    std::map<std::uint64_t, SavedMqd> saved_mqds_; // by address; until they are loaded again
    VmidRegisters vmids_;
    std::optional<unsigned> kiq_slot_;
    std::optional<unsigned> hiq_slot_;
};

} // namespace vgpu
