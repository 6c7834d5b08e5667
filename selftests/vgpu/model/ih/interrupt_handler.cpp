// SPDX-License-Identifier: MIT
// Interrupt handler: the ring of 32-byte entries in memory, its pointers, and the MSI.
#include "model/ih/interrupt_handler.hpp"

#include "model/base/bits.hpp"
#include "registers.hpp"

#include <fmt/format.h>

#include <atomic>
#include <cstring>

namespace vgpu {
namespace {

namespace osssys = reg::osssys;

constexpr std::uint32_t entry_bytes = 32;
constexpr std::uint32_t overflow = 1; // IH_RB_WPTR.RB_OVERFLOW

} // namespace

InterruptHandler::InterruptHandler(RegisterFile& registers, MemoryController& memory, Host& host,
                                   const Clock& clock, FaultHooks& faults, Schedule& schedule,
                                   Observer& observer)
    : registers_(registers), memory_(memory), host_(host), clock_(clock), faults_(faults),
      schedule_(schedule), observer_(observer) {
    registers_.on_write(osssys::IH_RB_CNTL, [this](std::uint32_t value) {
        // WPTR_OVERFLOW_CLEAR: the driver pulses it after it has seen the overflow.
        if (bit(value, 31))
            registers_.set(osssys::IH_RB_WPTR, registers_.value(osssys::IH_RB_WPTR) & ~overflow);
        registers_.set(osssys::IH_RB_CNTL, value);
    });
}

// IH_RB_CNTL.MC_SPACE: 4 is an MC address through VMID 0, anything else a bus address.
std::byte* InterruptHandler::ring_memory(std::uint64_t address, std::size_t bytes) {
    if (bits(registers_.value(osssys::IH_RB_CNTL), 30, 28) == 4)
        return memory_.translate(0, address, bytes, Access::write);
    return host_.system_memory(address, bytes);
}

void InterruptHandler::raise(const Interrupt& interrupt) {
    const Schedule::Step at = schedule_.later(Schedule::Kind::interrupt);
    if (late_.empty() && schedule_.reached(at))
        write_entry(interrupt);
    else
        late_.push_back({interrupt, at});
}

bool InterruptHandler::run() {
    bool progress = false;
    for (; !late_.empty() && schedule_.reached(late_.front().at); progress = true) {
        write_entry(late_.front().interrupt);
        late_.pop_front();
    }
    if (msi_pending_ && schedule_.reached(msi_at_)) {
        msi_pending_ = false;
        host_.raise_msi();
        progress = true;
    }
    return progress;
}

void InterruptHandler::reset() {
    late_.clear();
    msi_pending_ = false;
}

void InterruptHandler::write_entry(const Interrupt& interrupt) {
    const std::uint32_t control = registers_.value(osssys::IH_RB_CNTL);
    const bool enabled = bit(control, 0);
    if (observer_.tracing())
        observer_.event("ih", fmt::format("client {:#x} source {} ring {:#x} vmid {} pasid {:#x} "
                                          "context {:#x}{}",
                                          interrupt.client, interrupt.source, interrupt.ring,
                                          interrupt.vmid, interrupt.pasid, interrupt.context[0],
                                          enabled ? "" : " (ring off, lost)"));
    if (!enabled || faults_.lose_interrupt(interrupt.source))
        return;
    const std::uint32_t ring_bytes = 4U << bits(control, 5, 1);
    const std::uint64_t base =
        static_cast<std::uint64_t>(registers_.value(osssys::IH_RB_BASE)) << 8 |
        static_cast<std::uint64_t>(registers_.value(osssys::IH_RB_BASE_HI) & 0xff) << 40;
    const std::uint32_t mask = (ring_bytes - 1) & ~(entry_bytes - 1);
    const std::uint32_t write_pointer = registers_.value(osssys::IH_RB_WPTR) & mask;
    std::byte* entry = ring_memory(base + write_pointer, entry_bytes);
    if (entry == nullptr) {
        observer_.unmodelled("ih", fmt::format("ring at {:#x} is not in memory", base));
        return;
    }
    const std::uint64_t time = clock_.ticks();
    const std::array<std::uint32_t, 8> words = {
        static_cast<std::uint32_t>(interrupt.client | interrupt.source << 8 | interrupt.ring << 16 |
                                   interrupt.vmid << 24),
        low_half(time),
        high_half(time) & 0xffff,
        interrupt.pasid | static_cast<std::uint32_t>(interrupt.node) << 16,
        interrupt.context[0],
        interrupt.context[1],
        interrupt.context[2],
        interrupt.context[3]};
    std::memcpy(entry, words.data(), entry_bytes);

    std::uint32_t next = (write_pointer + entry_bytes) & mask;
    if (next == (registers_.value(osssys::IH_RB_RPTR) & mask))
        next |= overflow;
    registers_.set(osssys::IH_RB_WPTR, next);
    const std::uint64_t report = join(registers_.value(osssys::IH_RB_WPTR_ADDR_LO),
                                      registers_.value(osssys::IH_RB_WPTR_ADDR_HI) & 0xffff);
    if (std::byte* word = report != 0 ? ring_memory(report, 4) : nullptr)
        std::atomic_ref(*reinterpret_cast<std::uint32_t*>(word)).store(next);
    observer_.count("interrupts", 1);
    if (faults_.lose_msi() || msi_pending_)
        return;
    msi_at_ = schedule_.later(Schedule::Kind::msi);
    msi_pending_ = !schedule_.reached(msi_at_);
    if (!msi_pending_)
        host_.raise_msi();
}

bool InterruptHandler::doorbell(std::uint32_t dword, std::uint64_t value) {
    // IH_DOORBELL_RPTR: OFFSET [25:0], ENABLE 28.
    const std::uint32_t control = registers_.value(osssys::IH_DOORBELL_RPTR);
    if (!bit(control, 28) || bits(control, 25, 0) != dword)
        return false;
    registers_.set(osssys::IH_RB_RPTR, low_half(value));
    return true;
}

} // namespace vgpu
