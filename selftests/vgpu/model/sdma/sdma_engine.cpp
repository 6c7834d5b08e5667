// SPDX-License-Identifier: MIT
// One SDMA engine: its rings, their registers, and mapping of user queues.
#include "model/sdma/sdma_engine.hpp"

#include "model/base/bits.hpp"
#include "registers.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace vgpu {
namespace {

namespace layout = reg::sdma0;

// Registers of a ring are named by those of the GFX ring of engine 0.
constexpr std::uint32_t first = layout::SDMA_GFX_RB_CNTL;
constexpr std::uint32_t context_idle = 1U << 2; // CONTEXT_STATUS.IDLE
constexpr std::uint32_t doorbell_enable = 1U << 28;

// struct v9_sdma_mqd: dwords 0..18 are RB_CNTL .. DOORBELL, 3..6 the pointers, 32..40
// MIDCMD_DATA, 41 MIDCMD_CNTL.
constexpr std::uint32_t mqd_linear_dwords = 19;
constexpr std::uint32_t mqd_rptr = 3;
constexpr std::uint32_t mqd_midcmd_data = 32;
constexpr std::uint32_t mqd_midcmd_control = 41;
constexpr std::uint32_t midcmd_valid = 1;

constexpr unsigned packets_in_a_turn = 64;

} // namespace

SdmaEngine::SdmaEngine(const Surroundings& surroundings, unsigned engine)
    : unit_(surroundings), engine_(engine), aid_(surroundings.registers.dies().sdma_aid(engine)),
      place_(surroundings.registers.dies().sdma_instance(engine) - 4 * aid_),
      name_(fmt::format("sdma{}", engine)) {
    const std::uint32_t engine_offset = unit_.registers.dies().sdma_offset(engine);
    constexpr std::uint32_t user_stride = layout::SDMA_RLC1_RB_CNTL - layout::SDMA_RLC0_RB_CNTL;
    rings_[0].base = layout::SDMA_GFX_RB_CNTL + engine_offset;
    for (unsigned i = 0; i < user_rings; ++i) {
        rings_[1 + i].base = layout::SDMA_RLC0_RB_CNTL + i * user_stride + engine_offset;
        rings_[1 + i].user = true;
    }
    for (Ring& ring : rings_) {
        unit_.registers.on_read(ring.base + layout::SDMA_GFX_CONTEXT_STATUS - first,
                                [this, &ring] { return idle(ring) ? context_idle : 0U; });
        unit_.registers.on_write(
            ring.base, [this, &ring](std::uint32_t value) { write_control(ring, value); });
    }
    const std::uint32_t status = layout::SDMA_STATUS_REG + engine_offset;
    unit_.registers.on_read(status, [this] {
        for (const Ring& ring : rings_)
            if (!idle(ring))
                return 0U;
        return 1U;
    });
    set_power_on_values();
}

// Sets the values that user rings have in the register dump of a MI308X.
void SdmaEngine::set_power_on_values() {
    for (const Ring& ring : rings_) {
        if (!ring.user)
            continue;
        set_reg(ring, layout::SDMA_GFX_RB_CNTL, 0x4'0000);
        set_reg(ring, layout::SDMA_GFX_RB_WPTR_POLL_CNTL, 0x40'3000);
        set_reg(ring, layout::SDMA_GFX_RB_RPTR_ADDR_LO, 1);
        set_reg(ring, layout::SDMA_GFX_IB_CNTL, 0x100);
    }
}

std::uint32_t SdmaEngine::reg(const Ring& ring, std::uint32_t gfx_register) const {
    return unit_.registers.value(ring.base + gfx_register - first);
}

void SdmaEngine::set_reg(const Ring& ring, std::uint32_t gfx_register, std::uint32_t value) {
    unit_.registers.set(ring.base + gfx_register - first, value);
}

// Pointers count bytes and never wrap; the ring's size does.
std::uint64_t SdmaEngine::read_pointer(const Ring& ring) const {
    return join(reg(ring, layout::SDMA_GFX_RB_RPTR), reg(ring, layout::SDMA_GFX_RB_RPTR_HI));
}

std::uint64_t SdmaEngine::write_pointer(const Ring& ring) const {
    return join(reg(ring, layout::SDMA_GFX_RB_WPTR), reg(ring, layout::SDMA_GFX_RB_WPTR_HI));
}

// RB_CNTL.RB_VMID of a user ring; the kernel's ring is in VMID 0.
unsigned SdmaEngine::vmid_of(const Ring& ring) const {
    return ring.user ? bits(reg(ring, layout::SDMA_GFX_RB_CNTL), 27, 24) : 0;
}

std::uint32_t SdmaEngine::doorbell_of(const Ring& ring) const {
    return bits(reg(ring, layout::SDMA_GFX_DOORBELL_OFFSET), 27, 2);
}

// A user ring has no write pointer without its doorbell: the driver sets RB_ENABLE of a ring it
// has destroyed once more, to read where it stopped (kgd_gfx_v9_4_3_hqd_sdma_destroy).
bool SdmaEngine::enabled(const Ring& ring) const {
    return bit(reg(ring, layout::SDMA_GFX_RB_CNTL), 0) &&
           (!ring.user || (reg(ring, layout::SDMA_GFX_DOORBELL) & doorbell_enable) != 0);
}

bool SdmaEngine::idle(const Ring& ring) const {
    if (!enabled(ring))
        return !ring.draining;
    return ring.buffers.empty() && read_pointer(ring) == write_pointer(ring);
}

// A ring that is disabled ends the packet at hand, which the driver waits for. A packet that
// can't end by itself is begun anew when the ring is loaded again.
void SdmaEngine::write_control(Ring& ring, std::uint32_t value) {
    const bool was_enabled = enabled(ring);
    unit_.registers.set(ring.base, value);
    if (!was_enabled && enabled(ring)) {
        ring.draining = false;
        ring.faulted = false;
        run_ring(ring);
    } else if (was_enabled && !enabled(ring)) {
        ring.draining = (ring.done != 0 && !ring.faulted) || stuck(ring);
        if (!ring.draining)
            give_up(ring);
    }
}

bool SdmaEngine::doorbell(std::uint32_t dword, std::uint64_t value) {
    for (Ring& ring : rings_) {
        // DOORBELL.ENABLE 28, DOORBELL_OFFSET.OFFSET [27:2].
        if ((reg(ring, layout::SDMA_GFX_DOORBELL) & doorbell_enable) == 0 ||
            doorbell_of(ring) != dword)
            continue;
        set_reg(ring, layout::SDMA_GFX_RB_WPTR, low_half(value));
        set_reg(ring, layout::SDMA_GFX_RB_WPTR_HI, high_half(value));
        if (unit_.schedule.reached(ring.looks_at))
            ring.looks_at = unit_.schedule.later(Schedule::Kind::doorbell);
        run_ring(ring);
        return true;
    }
    return false;
}

bool SdmaEngine::run() {
    bool progress = false;
    for (Ring& ring : rings_)
        progress |= run_ring(ring);
    return progress;
}

bool SdmaEngine::polling() const {
    for (const Ring& ring : rings_)
        if (ring.waiting && enabled(ring))
            return true;
    return false;
}

void SdmaEngine::reset() {
    for (Ring& ring : rings_)
        ring = Ring{.base = ring.base, .user = ring.user, .mqd = 0, .buffers = {}};
    next_user_ring_ = 0;
    set_power_on_values();
}

void SdmaEngine::fetch(Ring& ring) {
    const std::uint64_t base =
        join(reg(ring, layout::SDMA_GFX_RB_BASE), reg(ring, layout::SDMA_GFX_RB_BASE_HI)) << 8;
    const std::uint64_t bytes = 4ULL << bits(reg(ring, layout::SDMA_GFX_RB_CNTL), 5, 1);
    const std::uint64_t read = read_pointer(ring);
    const std::uint64_t write = write_pointer(ring);
    if (read == write)
        return;
    if (read > write || write - read > bytes) {
        unit_.observer.unmodelled(name_, "write pointer outside the ring");
        return;
    }
    Buffer buffer{vmid_of(ring), std::vector<std::uint32_t>((write - read) / 4), 0};
    const auto raw = std::as_writable_bytes(std::span(buffer.dwords));
    const std::uint64_t to_end = std::min(raw.size(), bytes - read % bytes);
    if (!unit_.memory.read(buffer.vmid, base + read % bytes, raw.first(to_end)) ||
        !unit_.memory.read(buffer.vmid, base, raw.subspan(to_end))) {
        ring.faulted = true;
        return;
    }
    unit_.clock.advance(buffer.dwords.size());
    ring.buffers.push_back(std::move(buffer));
}

// A fault knob may stall a ring that has packets.
bool SdmaEngine::stuck(const Ring& ring) {
    return !ring.buffers.empty() &&
           unit_.faults.sdma_stuck({.user = ring.user,
                                    .engine = engine_,
                                    .doorbell = doorbell_of(ring),
                                    .vmid = vmid_of(ring),
                                    .pasid = unit_.memory.pasid(vmid_of(ring))});
}

bool SdmaEngine::run_ring(Ring& ring) {
    const MemoryController::ClientScope scope(unit_.memory, sdma_client(aid_, place_));
    if (ring.faulted || (!enabled(ring) && !ring.draining))
        return false;
    if (ring.buffers.empty() && unit_.schedule.reached(ring.looks_at))
        fetch(ring);
    if (ring.buffers.empty() || stuck(ring))
        return false;
    ring.waiting = false;
    bool progress = false;
    for (unsigned i = 0; i < packets_in_a_turn && !ring.buffers.empty(); ++i) {
        if (!run_buffer(ring))
            break;
        progress = true;
        if (ring.done != 0)
            break; // the rest of a large packet has its turn later
        if (ring.draining) {
            ring.draining = false;
            give_up(ring);
        }
    }
    return progress;
}

// One step in the innermost buffer. False when the packet there has to wait.
bool SdmaEngine::run_buffer(Ring& ring) {
    const std::size_t depth = ring.buffers.size() - 1;
    const Buffer& buffer = ring.buffers[depth];
    const std::span<const std::uint32_t> dwords(buffer.dwords); // stays where it is
    const Step step = execute(ring, buffer.vmid, dwords.subspan(buffer.next));
    if (step.result == Step::Result::more)
        return true;
    if (step.result != Step::Result::done) {
        ring.waiting = step.result == Step::Result::wait;
        ring.faulted = step.result == Step::Result::fault;
        return false;
    }
    ring.done = 0;
    Buffer& same = ring.buffers[depth];
    same.next = std::min(same.next + step.dwords, dwords.size());
    while (ring.buffers.size() > 1 && ring.buffers.back().next == ring.buffers.back().dwords.size())
        ring.buffers.pop_back();
    Buffer& outer = ring.buffers.front();
    if (ring.buffers.size() == 1 && outer.next == outer.dwords.size()) {
        set_read_pointer(ring, read_pointer(ring) + 4 * outer.dwords.size());
        report_read_pointer(ring);
        ring.buffers.clear();
    }
    return true;
}

void SdmaEngine::give_up(Ring& ring) {
    if (!ring.buffers.empty())
        // An unfinished indirect buffer is run again from its start: it has no read pointer of
        // its own here. The packet that names it is one back.
        set_read_pointer(ring, read_pointer(ring) +
                                   4 * (ring.buffers.front().next -
                                        (ring.buffers.size() > 1 ? indirect_dwords : 0)));
    ring.buffers.clear();
    ring.done = 0;
    ring.waiting = false;
    ring.faulted = false;
}

void SdmaEngine::set_read_pointer(const Ring& ring, std::uint64_t read) {
    set_reg(ring, layout::SDMA_GFX_RB_RPTR, low_half(read));
    set_reg(ring, layout::SDMA_GFX_RB_RPTR_HI, high_half(read));
}

void SdmaEngine::report_read_pointer(const Ring& ring) {
    const std::uint64_t address = join(reg(ring, layout::SDMA_GFX_RB_RPTR_ADDR_LO) & ~3U,
                                       reg(ring, layout::SDMA_GFX_RB_RPTR_ADDR_HI));
    if (address != 0)
        unit_.memory.store64(vmid_of(ring), address, read_pointer(ring));
}

// The CP takes the rings in turn: on a MI308X a queue that comes back is on the next one.
SdmaEngine::Ring* SdmaEngine::free_user_ring() {
    for (unsigned i = 0; i < user_rings; ++i) {
        const unsigned user_ring = (next_user_ring_ + i) % user_rings;
        Ring& ring = rings_[1 + user_ring];
        if (ring.mqd != 0 || enabled(ring))
            continue;
        next_user_ring_ = (user_ring + 1) % user_rings;
        return &ring;
    }
    return nullptr;
}

void SdmaEngine::map_user_queue(const SdmaUserQueue& queue) {
    Ring* const free = free_user_ring();
    if (free == nullptr) {
        unit_.observer.unmodelled(name_, "more user queues than rings");
        return;
    }
    Ring& ring = *free;
    const auto mqd = [&](std::uint32_t dword) {
        return unit_.memory.read32(0, queue.mqd + 4ULL * dword);
    };
    for (std::uint32_t i = 0; i < mqd_linear_dwords; ++i)
        unit_.registers.set(ring.base + i, mqd(i));
    const std::uint32_t control = reg(ring, layout::SDMA_GFX_RB_CNTL);
    set_reg(ring, layout::SDMA_GFX_RB_CNTL, (control & ~(15U << 24)) | queue.vmid << 24 | 1U);
    set_reg(ring, layout::SDMA_GFX_DOORBELL, doorbell_enable);
    set_reg(ring, layout::SDMA_GFX_DOORBELL_OFFSET, queue.doorbell << 2);
    ring.mqd = queue.mqd;
    ring.faulted = false;
    // Doorbells of a queue that was off the hardware went nowhere: memory has its pointer.
    if (queue.wptr_address != 0) {
        const std::uint64_t write = unit_.memory.read64(queue.vmid, queue.wptr_address);
        set_reg(ring, layout::SDMA_GFX_RB_WPTR, low_half(write));
        set_reg(ring, layout::SDMA_GFX_RB_WPTR_HI, high_half(write));
    }
    if ((mqd(mqd_midcmd_control) & midcmd_valid) != 0)
        ring.done = join(mqd(mqd_midcmd_data), mqd(mqd_midcmd_data + 1));
    trace(fmt::format("map user queue {:#x} vmid {} at {:#x} + {:#x}", queue.doorbell, queue.vmid,
                      read_pointer(ring), ring.done));
    run_ring(ring);
}

bool SdmaEngine::unmap_user_queues(
    const std::function<bool(unsigned vmid, std::uint32_t doorbell)>& selected) {
    bool all = true;
    for (Ring& ring : rings_) {
        if (ring.mqd == 0 || !selected(vmid_of(ring), doorbell_of(ring)))
            continue;
        if (stuck(ring)) {
            all = false;
            continue;
        }
        // Progress within an indirect buffer isn't saved: it is run again from its start.
        const std::uint64_t done = ring.buffers.size() == 1 ? ring.done : 0;
        give_up(ring);
        report_read_pointer(ring);
        const auto store = [&](std::uint32_t dword, std::uint32_t value) {
            unit_.memory.store32(0, ring.mqd + 4ULL * dword, value);
        };
        for (std::uint32_t i = mqd_rptr; i < mqd_rptr + 4; ++i)
            store(i, unit_.registers.value(ring.base + i));
        store(mqd_midcmd_data, low_half(done));
        store(mqd_midcmd_data + 1, high_half(done));
        store(mqd_midcmd_control, done != 0 ? midcmd_valid : 0);
        trace(fmt::format("unmap user queue {:#x} at {:#x} + {:#x}", doorbell_of(ring),
                          read_pointer(ring), done));
        // RB_ENABLE stays: without its doorbell the ring is off.
        set_reg(ring, layout::SDMA_GFX_DOORBELL, 0);
        ring.mqd = 0;
        unit_.observer.count("sdma_queue_unmaps", 1);
    }
    return all;
}

void SdmaEngine::trace(std::string_view text) {
    if (unit_.observer.tracing())
        unit_.observer.event(name_, text);
}

} // namespace vgpu
