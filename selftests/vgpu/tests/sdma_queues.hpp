// SPDX-License-Identifier: MIT
// SDMA queues of a process on a test GPU, mapped by runlist as the driver maps them.
#pragma once

#include "user_queues.hpp"

namespace vgpu::test {

class SdmaQueues : public UserQueues {
protected:
    static constexpr std::uint64_t mqd = 0x20000;
    static constexpr std::uint32_t doorbell = 0x1400;
    // RB_SIZE 2^10 dwords, RPTR_WRITEBACK_ENABLE.
    static constexpr std::uint32_t control = 10U << 1 | 1U << 12;
    static constexpr std::uint64_t ring_bytes = 4096; // page 0 of the process
    static constexpr std::uint64_t wptr_va = user_va + 0x1000;
    static constexpr std::uint64_t rptr_va = user_va + 0x1008;
    static constexpr std::uint64_t data_va = user_va + 0x3000;
    // Large pages of 2 MiB each.
    static constexpr std::uint64_t source_va = user_va + 16 * mib;
    static constexpr std::uint64_t target_va = user_va + 32 * mib;
    static constexpr std::uint64_t source_offset = 16 * mib; // in VRAM
    static constexpr std::uint64_t target_offset = 32 * mib;
    static constexpr std::uint64_t large_bytes = 6 * mib;
    static constexpr std::uint64_t nowhere_va = user_va + 0x10'0000;

    explicit SdmaQueues(const DeviceOptions& options = {}) : UserQueues(options) {}

    void SetUp() override {
        UserQueues::SetUp();
        gpu.device.write_register(reg::osssys::IH_RB_BASE, 0);
        gpu.device.write_register(reg::osssys::IH_RB_CNTL, 1 | 9 << 1);
        for (std::uint64_t at = 0; at < large_bytes; at += 2 * mib) {
            map_large(source_va + at, source_offset + at);
            map_large(target_va + at, target_offset + at);
        }
        gpu.put(mqd, control);
        gpu.put(mqd + 4, user_va >> 8);
        gpu.put(mqd + 8 * 4, high_half(rptr_va));
        gpu.put(mqd + 9 * 4, low_half(rptr_va));
    }

    void map_large(std::uint64_t va, std::uint64_t offset) {
        gpu.put(process.tables + 0x2000 + ((va >> 21) & 511) * 8, offset | 0x71ULL);
    }
    // As pm_map_queues_v9() for GC 9.4.3.
    void map(std::uint32_t engine = 0) {
        list_process(process);
        list(Opcode::map_queues, {1U << 4 | 1U << 2 | engine << 26 | 1U << 29, doorbell << 2,
                                  low_half(TestGpu::mc(mqd)), high_half(TestGpu::mc(mqd)),
                                  low_half(wptr_va), high_half(wptr_va)});
        start_runlist();
    }
    void push(std::initializer_list<std::uint32_t> dwords) {
        for (const std::uint32_t dword : dwords) {
            gpu.put(process.page(0) + written % ring_bytes, dword);
            written += 4;
        }
        gpu.put(process.page(1), written);
    }
    void push_copy(std::uint64_t from, std::uint64_t to, std::uint64_t bytes) {
        push({1, static_cast<std::uint32_t>(bytes - 1), 0, low_half(from), high_half(from),
              low_half(to), high_half(to)});
    }
    void push_fence(std::uint64_t va, std::uint32_t value) {
        push({5, low_half(va), high_half(va), value});
    }
    void ring() { gpu.device.write_doorbell(doorbell, written); }
    std::uint64_t reported() const { return gpu.get<std::uint64_t>(process.page(1) + 8); }
    std::uint32_t data(unsigned dword) const {
        return gpu.get<std::uint32_t>(process.page(3) + 4ULL * dword);
    }
    std::uint32_t interrupt(unsigned index, unsigned dword) const {
        return gpu.host.get<std::uint32_t>(32ULL * index + 4ULL * dword);
    }

    Process process = make_process(1 * mib, 0x8001);
    std::uint64_t written = 0;
};

} // namespace vgpu::test
