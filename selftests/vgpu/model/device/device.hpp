// SPDX-License-Identifier: MIT
// The whole GPU: owns the units, wires them, and is what the PCI function talks to.
#pragma once

#include "model/base/clock.hpp"
#include "model/base/fault_hooks.hpp"
#include "model/base/host.hpp"
#include "model/base/observer.hpp"
#include "model/base/schedule.hpp"
#include "model/cp/command_processor.hpp"
#include "model/cp/contention.hpp"
#include "model/cp/scheduler.hpp"
#include "model/device/options.hpp"
#include "model/gmc/memory_controller.hpp"
#include "model/ih/interrupt_handler.hpp"
#include "model/nbio/bus_interface.hpp"
#include "model/regs/register_file.hpp"
#include "model/sdma/sdma_engine.hpp"
#include "model/sq/shader_array.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace vgpu {

class Device {
public:
    // `vram` stays the caller's; its content survives a reset as it does on hardware.
    Device(std::span<std::byte> vram, Host& host, FaultHooks& faults, Observer& observer,
           const DeviceOptions& options = {});

    std::uint32_t read_register(std::uint32_t dword);
    void write_register(std::uint32_t dword, std::uint32_t value);
    // `dword` is the index into the doorbell BAR.
    void write_doorbell(std::uint32_t dword, std::uint64_t value);
    // GPU time, in ticks of 100 MHz, comes from here rather than from work done.
    void follow_clock(Clock::Source source) { clock_.follow(std::move(source)); }
    // The seed chooses when asynchronous things happen.
    void follow_schedule(std::uint64_t seed) { schedule_.follow(seed); }
    // Guest memory was mapped or unmapped: translations are void.
    void memory_map_changed() { memory_.invalidate(); }

    enum class Activity : std::uint8_t {
        busy,    // more to do right away
        waiting, // only for time to pass, or for memory that a CPU writes without telling
        idle,    // only for a register or doorbell write
    };
    // Does a slice of work.
    Activity run(std::uint64_t wave_instructions);
    // Ticks of its clock at which the first of the waves that sleep goes on.
    std::optional<std::uint64_t> next_wakeup() const;
    // Paced: a slice of so many wave instructions has passed after run() whether waves executed as
    // many or not. Otherwise the clock counts what was executed.
    void set_paced(bool paced) { paced_ = paced; }
    // States of processes on that clock.
    void record_intervals(Contention::Recorder recorder) {
        contention_.record_intervals(std::move(recorder));
    }

    // CommandProcessor::scribble_saved_mqds() of all XCCs.
    unsigned scribble_saved_mqds(std::uint16_t pasid);

    // Function level reset, or the mode 1 reset the driver asked for.
    void reset(std::string_view why);

private:
    // One accelerator die: a command processor and the shaders it drives.
    struct Xcc {
        Xcc(Device& device, unsigned index, const DeviceOptions& options);
        ShaderArray shaders;
        CommandProcessor cp;
    };

    void set_power_on_values();
    void pass(std::uint64_t wave_instructions);
    std::uint64_t run_shaders(std::uint64_t wave_instructions);
    void note_busy_processes();
    void count_by_process(ShaderArray& shaders);
    bool run_queues();
    bool ring_own_doorbells();
    void raise_vm_fault(const VmFault& fault);

    Observer& observer_;
    FaultHooks& faults_;
    Clock clock_;
    Schedule schedule_;
    RegisterFile registers_;
    MemoryController memory_;
    InterruptHandler interrupts_;
    BusInterface bus_;
    std::deque<SdmaEngine> sdma_; // register handlers point into them
    Scheduler scheduler_;
    std::vector<std::unique_ptr<Xcc>> xccs_; // register handlers point into them
    Contention contention_;
    std::vector<Contention::Queue> user_queues_; // for note_busy_processes()
    std::size_t first_xcc_ = 0;                  // whose command processor is first in this step
    std::uint64_t gpu_clock_ = 0;                // wave instructions
    bool paced_ = false;
    bool reset_requested_ = false;
};

} // namespace vgpu
