// SPDX-License-Identifier: MIT
// Processes with AQL queues on a test GPU, mapped by runlist as the driver maps them.
#pragma once

#include "test_gpu.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

namespace vgpu::test {

using pm4::Opcode;

inline constexpr HqdAddress hiq_address{2, 0, 0};
inline constexpr std::uint64_t fence = 0x3000;             // VRAM offset
inline constexpr std::uint64_t runlist = 0x8000;           // VRAM offset of the indirect buffer
inline constexpr std::uint64_t user_va = 0x7f00'0000'0000; // start of the pages every process maps

// One user process: its page table maps 16 pages at user_va to VRAM of its own.
struct Process {
    std::uint64_t tables; // VRAM offset of four tables and 16 pages
    std::uint16_t pasid;

    std::uint64_t page(unsigned index) const { return tables + 0x4000 + index * 0x1000; }
};

// Page 0 is the ring, page 1 holds the pointers, page 2 signals.
inline constexpr std::uint64_t write_index_va = user_va + 0x1000;
inline constexpr std::uint64_t read_index_va = user_va + 0x1080;
inline constexpr std::uint64_t signal_va = user_va + 0x2000;

class UserQueues : public ::testing::Test {
protected:
    explicit UserQueues(const DeviceOptions& options = {}) : gpu(options) {}

    void SetUp() override {
        gpu.load_mec(185);
        hiq = gpu.load_kernel_queue(hiq_address, 0x1000, 0xc00);
        // VMIDs 8 and 9, queues 2 to 4 of pipe 0.
        gpu.submit(hiq, Opcode::set_resources, {1U << 29 | 0x300, 0x1c, 0, 0, 0, 0, 0});
    }
    void TearDown() override { EXPECT_THAT(gpu.observer.unknown, ::testing::IsEmpty()); }

    Process make_process(std::uint64_t tables, std::uint16_t pasid) {
        Process process{tables, pasid};
        const auto entry = [&](std::uint64_t table, unsigned shift, std::uint64_t value) {
            gpu.put(table + ((user_va >> shift) & 511) * 8, value);
        };
        entry(tables, 39, (tables + 0x1000) | 1);
        entry(tables + 0x1000, 30, (tables + 0x2000) | 1);
        entry(tables + 0x2000, 21, (tables + 0x3000) | 1 | 1ULL << 56);
        for (unsigned i = 0; i < 16; ++i)
            gpu.put(tables + 0x3000 + i * 8, process.page(i) | 0x71ULL); // valid, r, w, x
        return process;
    }

    // An AQL queue of 64 packets.
    void make_mqd(std::uint64_t mqd, std::uint32_t doorbell) {
        const auto set = [&](std::uint32_t index, std::uint64_t value) {
            gpu.put(mqd + 4 * (hqd::mqd_dword + index), value);
        };
        for (const unsigned dword : {23, 24, 26, 27}) // compute_static_thread_mgmt_se0 to se3
            gpu.put(mqd + 4 * dword, ~0U);
        set(hqd::pq_base, user_va >> 8);
        set(hqd::rptr_report, read_index_va);
        set(hqd::pq_control, 9);
        gpu.put(mqd + 4 * (hqd::mqd_dword + hqd::doorbell), doorbell << 2);
        gpu.put(mqd + 4 * (hqd::mqd_dword + hqd::cntl_stack_offset), 0x1000U);
        gpu.put(mqd + 4 * (hqd::mqd_dword + hqd::cntl_stack_size), 0x1000U);
        gpu.put(mqd + 4 * (hqd::mqd_dword + hqd::aql_control), 1U);
    }

    // With the driver's trap handler at `tba`, if any.
    void list_process(const Process& process, std::uint64_t tba = 0,
                      std::uint32_t sh_mem_config = 0, unsigned gws = 0,
                      std::uint32_t debug_control = 0, std::array<std::uint32_t, 4> watches = {}) {
        const std::uint64_t root = process.tables | 1;
        const std::uint32_t tba_low = low_half(tba >> 8);
        const std::uint32_t tba_high = high_half(tba >> 8);
        list(Opcode::map_process, {process.pasid,
                                   low_half(root),
                                   high_half(root),
                                   0,
                                   sh_mem_config,
                                   tba_low,
                                   tba_high,
                                   0,
                                   0,
                                   0,
                                   0,
                                   0,
                                   gws,
                                   debug_control,
                                   watches[0],
                                   watches[1],
                                   watches[2],
                                   watches[3],
                                   0,
                                   0});
    }
    void list_queue(std::uint64_t mqd, std::uint32_t doorbell, bool controls_gws = false) {
        list(Opcode::map_queues, {1U << 4 | (controls_gws ? 1U << 12 : 0) | 1U << 29, doorbell << 2,
                                  low_half(TestGpu::mc(mqd)), high_half(TestGpu::mc(mqd)),
                                  low_half(write_index_va), high_half(write_index_va)});
    }
    // Ends a list that doesn't fit: it begins anew.
    void list_chain() {
        list(Opcode::run_list, {low_half(TestGpu::mc(runlist)), high_half(TestGpu::mc(runlist)),
                                (listed_ + 4) | 1U << 20 | 1U << 22 | 1U << 23});
    }
    void start_runlist() {
        gpu.submit(
            hiq, Opcode::run_list,
            {low_half(TestGpu::mc(runlist)), high_half(TestGpu::mc(runlist)), listed_ | 1U << 23});
        listed_ = 0;
        gpu.ring_doorbell(hiq);
    }
    // UNMAP_QUEUES of all dynamic queues, then a fence with this value.
    void unmap(std::uint64_t value) {
        gpu.submit(hiq, Opcode::unmap_queues, {3U << 4, 0, 0, 0, 0});
        gpu.submit(hiq, Opcode::query_status,
                   {2U << 30, 0, low_half(TestGpu::mc(fence)), high_half(TestGpu::mc(fence)),
                    low_half(value), high_half(value)});
        gpu.ring_doorbell(hiq);
    }

    void write_barrier(const Process& process, std::uint64_t index, std::uint64_t dependency,
                       std::uint64_t signal, bool any = false, bool barrier_bit = false) {
        const std::uint64_t packet = process.page(0) + index % 64 * 64;
        std::memset(gpu.vram.data() + packet, 0, 64);
        gpu.put(packet + 8, dependency);
        gpu.put(packet + 56, signal);
        gpu.put(packet, (any ? 5U : 3U) | (barrier_bit ? 1U << 8 : 0U));
        gpu.put(process.page(1), index + 1);
    }

    void list(Opcode opcode, std::initializer_list<std::uint32_t> body) {
        const auto put = [this](std::uint32_t dword) { gpu.put(runlist + 4 * listed_++, dword); };
        put(3U << 30 | (static_cast<std::uint32_t>(body.size()) - 1) << 16 |
            static_cast<std::uint32_t>(opcode) << 8);
        for (const std::uint32_t dword : body)
            put(dword);
    }

    TestGpu gpu;
    TestGpu::KernelQueue hiq;

private:
    std::uint32_t listed_ = 0;
};

} // namespace vgpu::test
