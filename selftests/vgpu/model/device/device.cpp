// SPDX-License-Identifier: MIT
// The whole GPU: owns the units, wires them, and is what the PCI function talks to.
#include "model/device/device.hpp"

#include "model/base/bits.hpp"
#include "model/device/rlc.hpp"
#include "registers.hpp"

#include <fmt/format.h>

namespace vgpu {
namespace {

// Four compute units: CWSR areas, which user space must allocate whole, stay small. The
// discovery table says the same (blob/discovery.cpp).
constexpr ShaderArray::Config shader_config{.compute_units = 4, .poison_on_restore = true};
constexpr std::uint32_t gb_addr_config = 0x2201'1003;

} // namespace

// cp_ is the shaders' client and is constructed after them; they only keep the reference.
Device::Device(std::span<std::byte> vram, Host& host, CpFaults& faults, Observer& observer)
    : observer_(observer), faults_(faults), registers_(observer),
      memory_(registers_, vram, host, faults, observer),
      interrupts_(registers_, memory_, host, clock_, faults, observer),
      bus_(registers_, vram, observer),
      sdma_{SdmaEngine({registers_, memory_, interrupts_, clock_, faults, observer}, 0),
            SdmaEngine({registers_, memory_, interrupts_, clock_, faults, observer}, 1)},
      shaders_(shader_config, memory_, observer, cp_),
      cp_({registers_, memory_, interrupts_, sdma_, shaders_, clock_, faults, observer}) {
    connect_rlc(registers_, clock_);
    registers_.set(reg::gc::GB_ADDR_CONFIG, gb_addr_config);
    memory_.on_fault([this](const VmFault& fault) { raise_vm_fault(fault); });
    bus_.on_reset_request([this] { reset_requested_ = true; });
}

std::uint32_t Device::read_register(std::uint32_t dword) {
    clock_.advance(1);
    observer_.count("mmio_reads", 1);
    return registers_.read(dword % RegisterFile::dword_count, "mmio");
}

void Device::write_register(std::uint32_t dword, std::uint32_t value) {
    clock_.advance(1);
    observer_.count("mmio_writes", 1);
    registers_.write(dword % RegisterFile::dword_count, value, "mmio");
    // Not from inside a register handler: a reset drops what the handler stands on.
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
    if (cp_.doorbell(dword, value))
        return;
    for (SdmaEngine& engine : sdma_)
        if (engine.doorbell(dword, value))
            return;
    // A queue that is not connected: its write index is read when it is mapped.
    observer_.count("doorbells_of_unmapped_queues", 1);
}

Device::Activity Device::run(std::uint64_t wave_instructions) {
    if (faults_.hung())
        return Activity::idle;
    const std::uint64_t executed = shaders_.run(wave_instructions);
    if (executed != 0) {
        observer_.count("wave_instructions", executed);
        clock_.advance(executed);
    }
    bool progress = cp_.run();
    bool polling = cp_.polling();
    for (SdmaEngine& engine : sdma_) {
        progress |= engine.run();
        polling |= engine.polling();
    }
    if (executed != 0 || progress)
        return Activity::busy;
    return polling ? Activity::waiting : Activity::idle;
}

void Device::reset(std::string_view why) {
    observer_.event("reset", why);
    observer_.count("resets", 1);
    shaders_.reset();
    const std::array<std::uint32_t, 8> scratch = bus_.scratch();
    registers_.clear();
    bus_.set_scratch(scratch);
    bus_.reset();
    memory_.reset();
    for (SdmaEngine& engine : sdma_)
        engine.reset();
    cp_.reset();
    registers_.set(reg::gc::GB_ADDR_CONFIG, gb_addr_config);
    faults_.device_reset();
}

// UTCL2 entry: page address in context 0 and 1 [3:0], write in context 1 bit 5; the ring id
// carries the protection bits: valid 8, read 16, write 32 (kfd_int_process_v9.c).
void Device::raise_vm_fault(const VmFault& fault) {
    const std::uint64_t page = fault.va >> 12;
    const bool write = fault.access == Access::write;
    const unsigned denied = !fault.permission ? 8U : write ? 32U : 16U;
    interrupts_.raise(
        {.client = fault.client.mmhub ? ih::client_vmc : ih::client_utcl2,
         .source = ih::source_vm_fault,
         .ring = static_cast<std::uint8_t>(denied),
         .vmid = static_cast<std::uint8_t>(fault.vmid),
         .pasid = memory_.pasid(fault.vmid),
         .context = {low_half(page), (high_half(page) & 15) | (write ? 1U << 5 : 0U)}});
}

} // namespace vgpu
