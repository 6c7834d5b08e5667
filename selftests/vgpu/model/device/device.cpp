// SPDX-License-Identifier: MIT
// The whole GPU: owns the units, wires them, and is what the PCI function talks to.
#include "model/device/device.hpp"

#include "model/base/bits.hpp"
#include "model/device/rlc.hpp"
#include "model/device/shader_engines.hpp"
#include "registers.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace vgpu {
namespace {

isa::Isa isa_of(Gpu gpu) {
    switch (gpu) {
    case Gpu::mi250: return isa::Isa::gfx90a;
    case Gpu::mi100: return isa::Isa::gfx908;
    default: return isa::Isa::gfx942;
    }
}

ShaderArray::Config shader_config(const Clock& clock, unsigned compute_units, Gpu gpu) {
    return {.compute_units = compute_units,
            .shader_engines = shader_engines(compute_units).engines,
            .isa = isa_of(gpu),
            .poison_on_restore = true,
            .reference_clock = &clock};
}
constexpr std::uint32_t gb_addr_config = 0x2201'1003;
constexpr std::uint32_t iq_wait_times = 0x4040'4040; // gc_9_0_default.h

} // namespace

// The CP is the shaders' client and is constructed after them; they only keep the reference.
Device::Xcc::Xcc(Device& device, unsigned index, const DeviceOptions& options)
    : shaders(shader_config(device.clock_, options.compute_units, options.gpu), device.memory_,
              device.schedule_, device.observer_, cp),
      cp({index,
          {device.registers_, index},
          device.memory_,
          {device.interrupts_, device.registers_.dies().xcc_node(index)},
          device.scheduler_,
          shaders,
          device.clock_,
          device.faults_,
          device.schedule_,
          device.observer_}) {
    connect_rlc({device.registers_, index}, device.clock_);
    connect_shader_engines({device.registers_, index}, shader_engines(options.compute_units));
}

Device::Device(std::span<std::byte> vram, Host& host, FaultHooks& faults, Observer& observer,
               const DeviceOptions& options)
    : observer_(observer), faults_(faults), schedule_(observer),
      registers_(observer, options.xccs, options.gpu),
      memory_(registers_, vram, host, faults, observer),
      interrupts_(registers_, memory_, host, clock_, faults, schedule_, observer),
      bus_(registers_, vram, observer),
      scheduler_({memory_, sdma_, clock_, faults, schedule_, observer, options.slot_seed}),
      contention_(observer) {
    for (unsigned engine = 0; engine < registers_.dies().sdma_engines(); ++engine)
        sdma_.emplace_back(SdmaEngine::Surroundings{registers_, memory_, interrupts_, clock_,
                                                    faults, schedule_, observer},
                           engine);
    for (unsigned xcc = 0; xcc < options.xccs; ++xcc)
        xccs_.push_back(std::make_unique<Xcc>(*this, xcc, options));
    set_power_on_values();
    memory_.on_fault([this](const VmFault& fault) { raise_vm_fault(fault); });
    bus_.on_reset_request([this] { reset_requested_ = true; });
}

void Device::set_power_on_values() {
    for (unsigned xcc = 0; xcc < xccs_.size(); ++xcc) {
        XccRegisters registers(registers_, xcc);
        registers.set(reg::gc::GB_ADDR_CONFIG, gb_addr_config);
        registers.set(reg::gc::CP_IQ_WAIT_TIME1, iq_wait_times);
        registers.set(reg::gc::CP_IQ_WAIT_TIME2, iq_wait_times);
    }
}

std::uint32_t Device::read_register(std::uint32_t dword) {
    clock_.advance(1);
    observer_.count("mmio_reads", 1);
    return registers_.read(dword % registers_.dwords(), "mmio");
}

void Device::write_register(std::uint32_t dword, std::uint32_t value) {
    clock_.advance(1);
    observer_.count("mmio_writes", 1);
    registers_.write(dword % registers_.dwords(), value, "mmio");
    // Not from inside a register handler: a reset frees what the handler uses.
    if (reset_requested_) {
        reset_requested_ = false;
        reset("mode 1");
    }
}

void Device::write_doorbell(std::uint32_t dword, std::uint64_t value) {
    clock_.advance(1);
    if (faults_.hung())
        return;
    if (interrupts_.doorbell(dword, value))
        return; // the interrupt ring's read pointer, after every interrupt: not worth a line
    observer_.count("doorbells", 1);
    if (observer_.tracing())
        observer_.event("doorbell", fmt::format("{:#x} <- {:#x}", dword, value));
    // A user queue, and the HIQ, has one doorbell on all XCCs.
    bool claimed = false;
    for (const auto& xcc : xccs_)
        claimed |= xcc->cp.doorbell(dword, value);
    if (claimed) {
        run_queues();
        return;
    }
    for (SdmaEngine& engine : sdma_)
        if (engine.doorbell(dword, value))
            return;
    // A queue that isn't connected: its write index is read when it is mapped.
    observer_.count("doorbells_of_unmapped_queues", 1);
}

// Runs queues until none makes progress, because a step on one XCC may unblock another.
bool Device::run_queues() {
    bool any = false;
    for (bool progress = true; progress;) {
        progress = false;
        for (std::size_t i = 0; i < xccs_.size(); ++i)
            progress |= xccs_[(first_xcc_ + i) % xccs_.size()]->cp.run();
        progress |= scheduler_.run();
        any |= progress;
    }
    return any;
}

// A wave or a packet may have written to the doorbell of a queue.
bool Device::ring_own_doorbells() {
    const auto writes = memory_.take_doorbells();
    for (const DoorbellWindow::Write& write : writes) {
        observer_.count("doorbells_by_the_gpu", 1);
        write_doorbell(write.dword, write.value);
    }
    return !writes.empty();
}

void Device::note_busy_processes() {
    user_queues_.clear();
    bool switching = false;
    for (const auto& xcc : xccs_)
        switching |= xcc->cp.add_user_queues(user_queues_);
    contention_.begin_slice(user_queues_, switching, gpu_clock_);
}

void Device::count_by_process(ShaderArray& shaders) {
    const auto executed = shaders.take_executed_by_vmid();
    for (unsigned vmid = 0; vmid < executed.size(); ++vmid)
        if (executed[vmid] != 0)
            contention_.executed(memory_.pasid(vmid), executed[vmid]);
}

void Device::pass(std::uint64_t wave_instructions) {
    gpu_clock_ += wave_instructions;
    if (wave_instructions != 0)
        observer_.count("gpu_clock", wave_instructions);
}

// XCCs share nothing that would keep them in step.
std::uint64_t Device::run_shaders(std::uint64_t wave_instructions) {
    constexpr std::array<std::uint64_t, 4> speeds = {1, 2, 8, 64}; // divisors
    std::uint64_t executed = 0;
    for (unsigned i = 0; i < xccs_.size(); ++i) {
        const MemoryController::ClientScope scope(memory_, shader_client(i));
        ShaderArray& shaders = xccs_[i]->shaders;
        std::uint64_t budget = wave_instructions / xccs_.size();
        if (shaders.has_waves())
            budget /= speeds[schedule_.pick(Schedule::Kind::xcc_speed, speeds.size())];
        executed += shaders.run(std::max<std::uint64_t>(budget, 1));
        count_by_process(shaders);
    }
    return executed;
}

Device::Activity Device::run(std::uint64_t wave_instructions) {
    if (faults_.hung())
        return Activity::idle;
    schedule_.step();
    note_busy_processes();
    // Paced: between two slices the units without waves work on.
    const std::uint64_t executed = wave_instructions == 0 ? 0 : run_shaders(wave_instructions);
    pass(paced_ ? wave_instructions : executed);
    if (executed != 0) {
        observer_.count("wave_instructions", executed);
        clock_.advance(executed);
        if (xccs_.size() > 1)
            first_xcc_ = schedule_.pick(Schedule::Kind::xcc_order, xccs_.size());
    }
    bool progress = ring_own_doorbells();
    progress |= run_queues();
    bool polling = false;
    for (const auto& xcc : xccs_)
        polling |= xcc->cp.polling();
    for (SdmaEngine& engine : sdma_) {
        progress |= engine.run();
        polling |= engine.polling();
    }
    progress |= interrupts_.run();
    if (executed != 0 || progress || schedule_.skip())
        return Activity::busy;
    // Queues that have nothing to do keep others waiting until their slice ends.
    if (const auto left = scheduler_.slice_left()) {
        clock_.advance(*left);
        return Activity::waiting;
    }
    return polling || next_wakeup() ? Activity::waiting : Activity::idle;
}

std::optional<std::uint64_t> Device::next_wakeup() const {
    std::optional<std::uint64_t> first;
    for (const auto& xcc : xccs_)
        if (const auto wakeup = xcc->shaders.next_wakeup())
            first = std::min(first.value_or(*wakeup), *wakeup);
    return first;
}

unsigned Device::scribble_saved_mqds(std::uint16_t pasid) {
    unsigned scribbled = 0;
    for (const auto& xcc : xccs_)
        scribbled += xcc->cp.scribble_saved_mqds(pasid);
    return scribbled;
}

void Device::reset(std::string_view why) {
    observer_.event("reset", why);
    observer_.count("resets", 1);
    for (const auto& xcc : xccs_)
        xcc->shaders.reset();
    const std::array<std::uint32_t, 8> scratch = bus_.scratch();
    registers_.clear();
    bus_.set_scratch(scratch);
    bus_.reset();
    memory_.reset();
    interrupts_.reset();
    for (SdmaEngine& engine : sdma_)
        engine.reset();
    scheduler_.reset();
    contention_.reset();
    for (const auto& xcc : xccs_)
        xcc->cp.reset();
    set_power_on_values();
    faults_.device_reset();
}

// UTCL2 entry: page address in context 0 and 1 [3:0], write in context 1 bit 5; the ring id
// carries the protection bits: valid 8, read 16, write 32 (kfd_int_process_v9.c).
void Device::raise_vm_fault(const VmFault& fault) {
    const std::uint64_t page = fault.va >> 12;
    const bool write = fault.access == Access::write;
    const unsigned denied = !fault.permission ? 8U : write ? 32U : 16U;
    const Dies& dies = registers_.dies();
    interrupts_.raise({.client = fault.client.mmhub ? ih::client_vmc : ih::client_utcl2,
                       .source = ih::source_vm_fault,
                       .ring = static_cast<std::uint8_t>(denied),
                       .vmid = static_cast<std::uint8_t>(fault.vmid),
                       .pasid = memory_.pasid(fault.vmid),
                       .context = {low_half(page), (high_half(page) & 15) | (write ? 1U << 5 : 0U)},
                       .node = fault.client.mmhub ? Dies::aid_node(fault.client.die)
                                                  : dies.xcc_node(fault.client.die)});
}

} // namespace vgpu
