// SPDX-License-Identifier: MIT
// One SDMA engine: its rings, their registers, and mapping of user queues.
#include "model/sdma/sdma_engine.hpp"

#include "model/base/bits.hpp"
#include "registers.hpp"

#include <fmt/format.h>

namespace vgpu {
namespace {

namespace layout = reg::sdma0;

// Registers of a ring are named by those of the GFX ring of engine 0.
constexpr std::uint32_t first = layout::SDMA_GFX_RB_CNTL;
constexpr std::uint32_t idle = 1U << 2; // CONTEXT_STATUS.IDLE

// struct v9_sdma_mqd: dwords 0..18 are RB_CNTL .. DOORBELL, dword 22 is DOORBELL_OFFSET.
constexpr std::uint32_t mqd_linear_dwords = 19;
constexpr std::uint32_t mqd_rptr = 3;

} // namespace

SdmaEngine::SdmaEngine(const Surroundings& surroundings, unsigned engine)
    : unit_(surroundings), engine_(engine), name_(fmt::format("sdma{}", engine)) {
    const std::uint32_t engine_offset =
        engine == 0 ? 0 : reg::sdma1::SDMA_GFX_RB_CNTL - reg::sdma0::SDMA_GFX_RB_CNTL;
    constexpr std::uint32_t user_stride = layout::SDMA_RLC1_RB_CNTL - layout::SDMA_RLC0_RB_CNTL;
    rings_[0].base = layout::SDMA_GFX_RB_CNTL + engine_offset;
    for (unsigned i = 0; i < user_rings; ++i) {
        rings_[1 + i].base = layout::SDMA_RLC0_RB_CNTL + i * user_stride + engine_offset;
        rings_[1 + i].user = true;
    }
    for (Ring& ring : rings_) {
        // Work ends within a doorbell, unless a poll has to wait.
        unit_.registers.on_read(ring.base + layout::SDMA_GFX_CONTEXT_STATUS - first,
                                [&ring] { return ring.waiting ? 0 : idle; });
        unit_.registers.on_write(ring.base, [this, &ring](std::uint32_t value) {
            unit_.registers.set(ring.base, value);
            run();
        });
    }
    // Halted or not, the engine is idle between two doorbells.
    const std::uint32_t status = layout::SDMA_STATUS_REG + engine_offset;
    unit_.registers.on_read(status, [] { return 1U; });
}

std::uint32_t SdmaEngine::reg(const Ring& ring, std::uint32_t gfx_register) const {
    return unit_.registers.value(ring.base + gfx_register - first);
}

void SdmaEngine::set_reg(const Ring& ring, std::uint32_t gfx_register, std::uint32_t value) {
    unit_.registers.set(ring.base + gfx_register - first, value);
}

// RB_CNTL.RB_VMID of a user ring; the kernel's ring is in VMID 0.
unsigned SdmaEngine::vmid_of(const Ring& ring) const {
    return ring.user ? bits(reg(ring, layout::SDMA_GFX_RB_CNTL), 27, 24) : 0;
}

bool SdmaEngine::enabled(const Ring& ring) const {
    return bit(reg(ring, layout::SDMA_GFX_RB_CNTL), 0);
}

bool SdmaEngine::doorbell(std::uint32_t dword, std::uint64_t value) {
    for (Ring& ring : rings_) {
        // DOORBELL.ENABLE 28, DOORBELL_OFFSET.OFFSET [27:2].
        if (!bit(reg(ring, layout::SDMA_GFX_DOORBELL), 28) ||
            bits(reg(ring, layout::SDMA_GFX_DOORBELL_OFFSET), 27, 2) != dword)
            continue;
        set_reg(ring, layout::SDMA_GFX_RB_WPTR, low_half(value));
        set_reg(ring, layout::SDMA_GFX_RB_WPTR_HI, high_half(value));
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
        if (ring.waiting)
            return true;
    return false;
}

void SdmaEngine::reset() {
    for (Ring& ring : rings_) {
        ring.buffers.clear();
        ring.waiting = false;
        ring.mqd = 0;
    }
}

// Pointers count bytes and never wrap; the ring's size does.
void SdmaEngine::fetch(Ring& ring) {
    const std::uint64_t base =
        join(reg(ring, layout::SDMA_GFX_RB_BASE), reg(ring, layout::SDMA_GFX_RB_BASE_HI)) << 8;
    const std::uint64_t bytes = 4ULL << bits(reg(ring, layout::SDMA_GFX_RB_CNTL), 5, 1);
    std::uint64_t read =
        join(reg(ring, layout::SDMA_GFX_RB_RPTR), reg(ring, layout::SDMA_GFX_RB_RPTR_HI));
    const std::uint64_t write =
        join(reg(ring, layout::SDMA_GFX_RB_WPTR), reg(ring, layout::SDMA_GFX_RB_WPTR_HI));
    if (read == write)
        return;
    if (read > write || write - read > bytes) {
        unit_.observer.unmodelled(name_, "write pointer outside the ring");
        return;
    }
    Buffer buffer{vmid_of(ring), {}, 0};
    for (; read < write; read += 4)
        buffer.dwords.push_back(unit_.memory.read32(buffer.vmid, base + read % bytes));
    unit_.clock.advance(buffer.dwords.size());
    ring.buffers.push_back(std::move(buffer));
}

bool SdmaEngine::run_ring(Ring& ring) {
    if (!enabled(ring))
        return false;
    if (ring.buffers.empty())
        fetch(ring);
    bool progress = false;
    ring.waiting = false;
    while (!ring.buffers.empty() && !ring.waiting) {
        Buffer& buffer = ring.buffers.back();
        if (buffer.next == buffer.dwords.size()) {
            ring.buffers.pop_back();
            continue;
        }
        // execute() may push a buffer and move this one: let it see a copy of the packet.
        const std::vector<std::uint32_t> packet(
            buffer.dwords.begin() + static_cast<std::ptrdiff_t>(buffer.next), buffer.dwords.end());
        const std::size_t depth = ring.buffers.size() - 1;
        const std::size_t used = execute(ring, buffer.vmid, packet);
        ring.waiting = used == 0;
        Buffer& same = ring.buffers[depth];
        same.next += std::min(used, packet.size());
        progress |= used != 0;
        if (depth == 0 && !ring.waiting && same.next == same.dwords.size() &&
            ring.buffers.size() == 1)
            report_read_pointer(ring, join(reg(ring, layout::SDMA_GFX_RB_RPTR),
                                           reg(ring, layout::SDMA_GFX_RB_RPTR_HI)) +
                                          4 * same.dwords.size());
    }
    return progress;
}

void SdmaEngine::report_read_pointer(const Ring& ring, std::uint64_t read) {
    set_reg(ring, layout::SDMA_GFX_RB_RPTR, low_half(read));
    set_reg(ring, layout::SDMA_GFX_RB_RPTR_HI, high_half(read));
    const std::uint64_t address = join(reg(ring, layout::SDMA_GFX_RB_RPTR_ADDR_LO) & ~3U,
                                       reg(ring, layout::SDMA_GFX_RB_RPTR_ADDR_HI));
    if (address != 0)
        unit_.memory.store64(vmid_of(ring), address, read);
}

void SdmaEngine::map_user_queue(std::uint64_t mqd, std::uint32_t doorbell, unsigned vmid) {
    for (Ring& ring : rings_) {
        if (!ring.user || enabled(ring))
            continue;
        for (std::uint32_t i = 0; i < mqd_linear_dwords; ++i)
            unit_.registers.set(ring.base + i, unit_.memory.read32(0, mqd + 4ULL * i));
        const std::uint32_t control = reg(ring, layout::SDMA_GFX_RB_CNTL);
        set_reg(ring, layout::SDMA_GFX_RB_CNTL, (control & ~(15U << 24)) | vmid << 24 | 1U);
        set_reg(ring, layout::SDMA_GFX_DOORBELL, 1U << 28);
        set_reg(ring, layout::SDMA_GFX_DOORBELL_OFFSET, doorbell << 2);
        ring.mqd = mqd;
        trace(fmt::format("map user queue {:#x} vmid {}", doorbell, vmid));
        run_ring(ring);
        return;
    }
    unit_.observer.unmodelled(name_, "more user queues than rings");
}

void SdmaEngine::unmap_user_queues(std::optional<std::uint16_t> pasid) {
    for (Ring& ring : rings_) {
        if (ring.mqd == 0 || (pasid && unit_.memory.pasid(vmid_of(ring)) != *pasid))
            continue;
        // Packets are atomic here, so a queue is always between two of them. What an indirect
        // buffer had left is run again from its start: the driver's buffers allow that.
        ring.buffers.clear();
        ring.waiting = false;
        for (std::uint32_t i = mqd_rptr; i < mqd_rptr + 4; ++i)
            unit_.memory.store32(0, ring.mqd + 4ULL * i, unit_.registers.value(ring.base + i));
        set_reg(ring, layout::SDMA_GFX_RB_CNTL, reg(ring, layout::SDMA_GFX_RB_CNTL) & ~1U);
        set_reg(ring, layout::SDMA_GFX_DOORBELL, 0);
        ring.mqd = 0;
        trace("unmap user queue");
    }
}

void SdmaEngine::trace(std::string_view text) {
    if (unit_.observer.tracing())
        unit_.observer.event(name_, text);
}

} // namespace vgpu
