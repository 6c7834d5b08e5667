// SPDX-License-Identifier: MIT
// Flat memory, kernel descriptors and the driver's trap handler for tests.
#include "tests/sq/support/gpu.hpp"

#include "tests/sq/support/trap_handler.hpp"

#include <algorithm>
#include <cstring>

namespace vgpu::test {

FlatMemory::FlatMemory(std::size_t bytes)
    : host_(static_cast<std::byte*>(std::calloc(bytes, 1))), bytes_(bytes) {}

std::byte* FlatMemory::translate(unsigned, std::uint64_t va, std::size_t bytes, Access) {
    const bool unmapped =
        std::find(unmapped_.begin(), unmapped_.end(), va / 4096) != unmapped_.end();
    if (unmapped || va < base || va - base + bytes > bytes_ || va % 4096 + bytes > 4096) {
        ++faults;
        return nullptr;
    }
    return host_.get() + (va - base);
}

std::uint32_t FlatMemory::word(std::uint64_t va) const {
    std::uint32_t value = 0;
    std::memcpy(&value, host_.get() + (va - base), sizeof(value));
    return value;
}

void FlatMemory::set_word(std::uint64_t va, std::uint32_t value) {
    std::memcpy(host_.get() + (va - base), &value, sizeof(value));
}

void FlatMemory::unmap(std::uint64_t va) {
    unmapped_.push_back(va / 4096);
    ++epoch_;
}

Gpu::Gpu(ShaderArray::Config config) : memory(32U << 20), config_(config) {
    replace_array();
}

void Gpu::replace_array() {
    array_ = std::make_unique<ShaderArray>(config_, memory, schedule, *this, *this);
}

void Gpu::load_trap_handler() {
    const auto code = trap_handler(config_.isa);
    std::memcpy(memory.at(trap_va), code.data(), code.size_bytes());
}

std::uint64_t Gpu::load_kernel(const Kernel& kernel, std::uint64_t va) {
    constexpr std::uint64_t entry_offset = 256;
    memory.set_word(va + 16, entry_offset);
    memory.set_word(va + 44, kernel.arch_vgprs / 4 - 1);
    memory.set_word(va + 48, (kernel.vgprs / 8 - 1) | (kernel.sgprs / 16 - 1) * 2 << 6 |
                                 kernel.float_mode << 12);
    memory.set_word(va + 52, (kernel.scratch ? 1U : 0U) | kernel.user_sgprs << 1 |
                                 kernel.workgroup_id_mask << 7 |
                                 (kernel.traps_on_watch ? 1U << 13 : 0) |
                                 (kernel.workitem_id_dimensions - 1) << 11);
    memory.set_word(va + 56, kernel.properties | kernel.kernarg_preload << 16);
    std::memcpy(memory.at(va + entry_offset), kernel.code.data(), kernel.code.size() * 4);
    return va;
}

QueueBinding Gpu::queue(unsigned slot) const {
    QueueBinding binding;
    binding.slot = slot;
    binding.vmid = 8;
    binding.doorbell_id = 0x123;
    binding.tba = trap_va;
    binding.tma = tma_va;
    binding.ctx_save_base = cwsr_va + std::uint64_t{slot} * area_bytes;
    binding.ctx_save_bytes = area_bytes;
    binding.ctl_stack_bytes = ctl_stack_bytes;
    binding.sh_mem_bases = 0x0002'0001;
    binding.gws = gws;
    binding.controls_gws = controls_gws;
    binding.debug_control = debug_control;
    return binding;
}

AqlDispatch Gpu::packet(const Grid& grid, std::uint64_t kernel_object, std::uint64_t index) const {
    AqlDispatch aql;
    aql.packet_index = index;
    aql.packet_va = FlatMemory::base + 0x4'0000 + index * 64;
    aql.ring_packet = static_cast<std::uint32_t>(index);
    aql.amd_queue_va = FlatMemory::base + 0x5'0000;
    aql.packet[0] = 2;
    aql.packet[1] = grid.group_x | grid.group_y << 16;
    aql.packet[2] = grid.group_z;
    aql.packet[3] = grid.x;
    aql.packet[4] = grid.y;
    aql.packet[5] = grid.z;
    aql.packet[7] = grid.lds_bytes;
    aql.packet[8] = static_cast<std::uint32_t>(kernel_object);
    aql.packet[9] = static_cast<std::uint32_t>(kernel_object >> 32);
    aql.packet[10] = static_cast<std::uint32_t>(kernarg_va);
    aql.packet[11] = static_cast<std::uint32_t>(kernarg_va >> 32);
    return aql;
}

std::uint64_t Gpu::step(std::uint64_t budget) {
    std::uint64_t ran = 0;
    do {
        schedule.step();
        ran = array_->run(budget);
    } while (ran == 0 && schedule.skip());
    return ran;
}

std::uint64_t Gpu::run_all(std::uint64_t limit) {
    std::uint64_t total = 0;
    while (total < limit) {
        const std::uint64_t ran = step(limit - total);
        if (ran == 0) {
            break;
        }
        total += ran;
    }
    return total;
}

SavedQueue Gpu::save(unsigned slot) {
    constexpr std::uint64_t enough = 10'000'000;
    array_->request_stop(slot, StopMode::save);
    for (std::uint64_t ran = 0; !array_->stopped(slot) && ran < enough;) {
        const std::uint64_t now = step(1000);
        if (now == 0) {
            break;
        }
        ran += now;
    }
    return array_->take_saved(slot);
}

bool Gpu::restore(const SavedQueue& saved, unsigned slot) {
    array_->bind(queue(slot));
    return array_->restore(slot, saved.control_stack);
}

bool Gpu::save_and_restore(unsigned slot) {
    const SavedQueue saved = save(slot);
    const bool stopped = array_->stopped(slot);
    replace_array();
    return stopped && restore(saved, slot);
}

void Gpu::wave_failed(unsigned, std::uint64_t, bool memory_fault) {
    ++failed_waves;
    memory_faults += memory_fault ? 1 : 0;
}

} // namespace vgpu::test
