// SPDX-License-Identifier: MIT
// Runs PM4 of one queue packet by packet; a packet that has to wait stalls it.
#pragma once

#include "model/cp/pm4.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace vgpu {

// True once the wait is over. Asked again and again until then.
using Stall = std::function<bool()>;

// The operations that packets perform; the command processor implements them.
class Pm4Target {
public:
    virtual ~Pm4Target() = default;

    virtual void trace_packet(unsigned slot, unsigned depth, unsigned vmid, std::uint8_t opcode,
                              std::span<const std::uint32_t> body) = 0;
    virtual void unmodelled_packet(std::uint8_t opcode, std::span<const std::uint32_t> body) = 0;
    virtual void write_register(unsigned slot, std::uint32_t dword, std::uint32_t value) = 0;
    virtual std::uint32_t read_register(unsigned slot, std::uint32_t dword) = 0;
    virtual std::uint32_t read_memory(unsigned vmid, std::uint64_t va) = 0;
    virtual void write_memory(unsigned vmid, std::uint64_t va, std::uint32_t value) = 0;
    virtual void write_memory64(unsigned vmid, std::uint64_t va, std::uint64_t value) = 0;
    virtual std::vector<std::uint32_t> fetch(unsigned vmid, std::uint64_t va,
                                             std::uint32_t dwords) = 0;
    virtual std::uint64_t clock() = 0;
    virtual unsigned xcc() const = 0; // that runs the packets
    virtual void end_of_pipe(unsigned slot, unsigned vmid, std::uint32_t context_id) = 0;
    // The stall that ends when the dispatch has begun; an empty one when it has. Nothing when this
    // queue can't dispatch.
    virtual std::optional<Stall> dispatch(unsigned slot, const pm4::Dispatch& packet) = 0;
    // No dispatch of the queue is in flight.
    virtual bool dispatches_done(unsigned slot) = 0;
    virtual void invalidate_tlbs() = 0;
    virtual void set_resources(unsigned slot, const pm4::SetResources& packet) = 0;
    virtual void start_run_list(const pm4::RunList& packet) = 0;
    virtual void map_process(const pm4::MapProcess& packet) = 0;
    virtual void map_queues(const pm4::MapQueues& packet) = 0;
    // The stall that ends when every selected queue has left the hardware.
    virtual Stall unmap_queues(unsigned slot, const pm4::UnmapQueues& packet) = 0;
    // The stall that ends when the fence is written; empty when it is.
    virtual Stall query_status(unsigned slot, const pm4::QueryStatus& packet) = 0;
    // The stall before a RELEASE_MEM writes its data; empty when it does so at once.
    virtual Stall delay_fence() { return {}; }
};

class Pm4Executor {
public:
    // A user's queue has no packets of the scheduler.
    enum class Privilege : std::uint8_t { kernel, user };

    Pm4Executor(Pm4Target& target, unsigned slot, Privilege privilege = Privilege::kernel)
        : target_(target), slot_(slot), privilege_(privilege) {}

    // Appends work; packets must be whole. Nested buffers run before what follows them. `depth`
    // is for the trace: how many buffers the work is in already.
    void push(unsigned vmid, std::vector<std::uint32_t> dwords, unsigned depth = 0);
    // Forgets all work.
    void drop();
    // Runs until nothing is left or a packet stalls. True when at least one packet was done.
    bool run();

    bool idle() const { return frames_.empty() && !stall_; }
    // Stalled on memory or a register that another engine or the CPU changes.
    bool polling() const { return static_cast<bool>(stall_) && polls_; }

private:
    struct Frame {
        unsigned vmid = 0;
        std::vector<std::uint32_t> dwords;
        std::size_t next = 0;
        unsigned depth = 0;
    };

    void execute(std::uint8_t opcode, unsigned vmid, std::span<const std::uint32_t> body);
    void when_dispatches_done(Stall act);
    bool dispatch(const pm4::Dispatch& packet);
    bool execute_data(pm4::Opcode opcode, unsigned vmid, std::span<const std::uint32_t> body);
    bool execute_scheduling(pm4::Opcode opcode, std::span<const std::uint32_t> body);
    bool set_registers(std::uint32_t space, std::span<const std::uint32_t> body);
    bool write_data(unsigned vmid, std::span<const std::uint32_t> body);
    bool wait_reg_mem(unsigned vmid, std::span<const std::uint32_t> body);
    bool release_mem(unsigned vmid, std::span<const std::uint32_t> body);
    void write_fence(unsigned vmid, const pm4::ReleaseMem& packet);
    bool copy_data(unsigned vmid, std::span<const std::uint32_t> body);
    bool pred_exec(std::span<const std::uint32_t> body);

    Pm4Target& target_;
    unsigned slot_;
    Privilege privilege_;
    std::vector<Frame> frames_; // innermost buffer last
    Stall stall_;
    bool polls_ = false;
};

} // namespace vgpu
