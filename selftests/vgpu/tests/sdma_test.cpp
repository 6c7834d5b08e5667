// SPDX-License-Identifier: MIT
// SDMA queues: packets as ROCr writes them, large copies, unmapping in the middle, faults, hubs.
#include "sdma_queues.hpp"

namespace vgpu {
namespace {

using pm4::Opcode;
using test::fence;
using test::mib;
using test::Process;
using test::TestGpu;
using test::user_va;

class Sdma : public test::SdmaQueues {};

TEST_F(Sdma, copy_fence_atomic_and_trap) {
    map();
    gpu.put(process.page(4), std::uint64_t{0x1122'3344'5566'7788});
    gpu.put(process.page(3) + 16, std::uint64_t{5});
    push({8, 0, 0x8000'0000, 0, 0, 0}); // ROCr's HDP flush
    push_copy(user_va + 0x4000, data_va, 8);
    push({10 | 47U << 25, low_half(data_va + 16), high_half(data_va), ~0U, ~0U, 0, 0, 0}); // -1
    push_fence(data_va + 8, 99);
    push({6, 42});
    ring();
    EXPECT_EQ(gpu.get<std::uint64_t>(process.page(3)), 0x1122'3344'5566'7788U);
    EXPECT_EQ(data(2), 99U);
    EXPECT_EQ(gpu.get<std::uint64_t>(process.page(3) + 16), 4U);
    EXPECT_EQ(reported(), written);
    ASSERT_EQ(gpu.host.interrupts, 1U);
    EXPECT_EQ(interrupt(0, 0) & 0xffff, 224U << 8 | 8U);
    EXPECT_NE(interrupt(0, 0) >> 16 & 0xff, 0U); // not the kernel's ring
    EXPECT_EQ(interrupt(0, 3), 0x8001U);
    EXPECT_EQ(interrupt(0, 4), 42U);
}

TEST_F(Sdma, doorbell_while_unmapped_is_not_lost) {
    push_fence(data_va, 7);
    ring();
    EXPECT_EQ(data(0), 0U);
    map();
    EXPECT_EQ(data(0), 7U);
}

TEST_F(Sdma, pointers_go_on_when_the_ring_wraps) {
    map();
    for (unsigned i = 1; i <= 600; ++i) { // of 16 bytes: more than twice around
        push_fence(data_va, i);
        ring();
    }
    EXPECT_EQ(data(0), 600U);
    EXPECT_EQ(reported(), 9600U);
}

TEST_F(Sdma, dword_fill_counts_from_the_last_dword) {
    map();
    push({11 | 2U << 30, low_half(data_va + 4), high_half(data_va), 0xabcd'1234, (3 - 1) * 4});
    ring();
    EXPECT_EQ(data(0), 0U);
    EXPECT_EQ(data(1), 0xabcd'1234U);
    EXPECT_EQ(data(3), 0xabcd'1234U);
    EXPECT_EQ(data(4), 0U);
}

// 3 x 2 x 2 elements of 4 bytes from (1, 1, 0) in rows of 8 to (0, 0, 1) in rows of 4.
TEST_F(Sdma, window_copy_moves_a_box) {
    map();
    for (std::uint32_t i = 0; i < 64; ++i)
        gpu.put(process.page(4) + 4ULL * i, 1000 + i);
    const std::uint64_t from = user_va + 0x4000;
    push({1U | 4U << 8 | 2U << 29, low_half(from), high_half(from), 1U | 1U << 16, (8U - 1) << 13,
          32 - 1, low_half(data_va), high_half(data_va), 0, 1U | (4U - 1) << 13, 16 - 1,
          (3U - 1) | (2U - 1) << 16, 2 - 1});
    ring();
    for (unsigned z = 0; z < 2; ++z)
        for (unsigned y = 0; y < 2; ++y)
            for (unsigned x = 0; x < 4; ++x)
                EXPECT_EQ(data((z + 1) * 16 + y * 4 + x),
                          x < 3 ? 1000 + z * 32 + (y + 1) * 8 + x + 1 : 0U);
}

TEST_F(Sdma, broadcast_copy_has_two_targets) {
    map();
    gpu.put(process.page(4), 0x77U);
    const std::uint64_t from = user_va + 0x4000;
    push({1U | 1U << 27, 3, 0, low_half(from), high_half(from), low_half(data_va),
          high_half(data_va), low_half(data_va + 8), high_half(data_va)});
    ring();
    EXPECT_EQ(data(0), 0x77U);
    EXPECT_EQ(data(1), 0U);
    EXPECT_EQ(data(2), 0x77U);
}

TEST_F(Sdma, large_copy_leaves_the_device_free_to_answer) {
    map();
    gpu.put(source_offset + large_bytes - 8, std::uint64_t{0x5a5a});
    push_copy(source_va, target_va, large_bytes);
    push_fence(data_va, 1);
    ring();
    EXPECT_EQ(data(0), 0U); // the doorbell write came back before the copy was over
    EXPECT_EQ(gpu.device.run(0), Device::Activity::busy);
    gpu.run();
    EXPECT_EQ(gpu.get<std::uint64_t>(target_offset + large_bytes - 8), 0x5a5aU);
    EXPECT_EQ(data(0), 1U);
}

TEST_F(Sdma, unmapped_in_the_middle_of_a_copy_it_goes_on_where_it_was) {
    map();
    push_fence(data_va + 4, 1);
    push_copy(source_va, target_va, large_bytes);
    push_fence(data_va, 1);
    gpu.put(source_offset, 1U);
    gpu.put(source_offset + large_bytes - 4, 1U);
    ring();
    unmap(1);
    EXPECT_EQ(gpu.get<std::uint64_t>(fence), 1U);
    EXPECT_EQ(gpu.get<std::uint32_t>(target_offset), 1U);
    EXPECT_EQ(gpu.get<std::uint32_t>(target_offset + large_bytes - 4), 0U);
    EXPECT_EQ(gpu.get<std::uint64_t>(mqd + 3 * 4), 16U);     // read pointer: at the copy
    EXPECT_EQ(gpu.get<std::uint64_t>(mqd + 5 * 4), written); // write pointer
    EXPECT_EQ(reported(), 16U);
    EXPECT_EQ(gpu.get<std::uint32_t>(mqd + 41 * 4), 1U); // MIDCMD_CNTL.DATA_VALID
    gpu.run();
    EXPECT_EQ(gpu.get<std::uint32_t>(target_offset + large_bytes - 4), 0U);
    gpu.put(source_offset, 2U); // what was copied isn't copied again
    map();
    gpu.run();
    EXPECT_EQ(gpu.get<std::uint32_t>(target_offset), 1U);
    EXPECT_EQ(gpu.get<std::uint32_t>(target_offset + large_bytes - 4), 1U);
    EXPECT_EQ(data(0), 1U);
    EXPECT_EQ(reported(), written);
}

TEST_F(Sdma, waiting_poll_survives_an_unmap) {
    map();
    push({8 | 3U << 28 | 1U << 31, low_half(data_va), high_half(data_va), 5, ~0U, 0x0fff'0004});
    push_fence(data_va + 4, 1);
    ring();
    EXPECT_EQ(gpu.device.run(0), Device::Activity::waiting);
    unmap(1);
    EXPECT_EQ(gpu.get<std::uint64_t>(mqd + 3 * 4), 0U);
    gpu.put(process.page(3), 5U);
    EXPECT_EQ(gpu.device.run(0), Device::Activity::idle);
    EXPECT_EQ(data(1), 0U);
    map();
    EXPECT_EQ(data(1), 1U);
}

// As a MI308X: a queue comes back on the next ring, and leaves its registers but for the doorbell.
TEST_F(Sdma, rings_are_taken_in_turn_and_stay_as_they_were_left) {
    namespace sdma = reg::sdma0;
    constexpr std::uint32_t next = sdma::SDMA_RLC1_RB_CNTL - sdma::SDMA_RLC0_RB_CNTL;
    const auto read = [&](std::uint32_t dword, unsigned ring) {
        return gpu.device.read_register(dword + ring * next);
    };
    for (unsigned turn = 0; turn < 9; ++turn) {
        map();
        EXPECT_EQ(read(sdma::SDMA_RLC0_DOORBELL, turn % 8), 1U << 28) << "turn " << turn;
        unmap(turn + 1);
        EXPECT_EQ(read(sdma::SDMA_RLC0_DOORBELL, turn % 8), 0U) << "turn " << turn;
    }
    for (unsigned ring = 0; ring < 8; ++ring) {
        EXPECT_EQ(read(sdma::SDMA_RLC0_RB_CNTL, ring), control | 8U << 24 | 1U);
        EXPECT_EQ(read(sdma::SDMA_RLC0_RB_BASE, ring), low_half(user_va >> 8));
        EXPECT_EQ(read(sdma::SDMA_RLC0_CONTEXT_STATUS, ring), 4U);
    }
}

// Rings of a MI308X that had no queue yet.
TEST_F(Sdma, unused_rings_have_their_power_on_values) {
    namespace sdma = reg::sdma0;
    const auto expect_power_on_values = [&] {
        EXPECT_EQ(gpu.device.read_register(sdma::SDMA_RLC3_RB_CNTL), 0x40000U);
        EXPECT_EQ(gpu.device.read_register(sdma::SDMA_RLC3_RB_WPTR_POLL_CNTL), 0x403000U);
        EXPECT_EQ(gpu.device.read_register(sdma::SDMA_RLC3_RB_RPTR_ADDR_LO), 1U);
        EXPECT_EQ(gpu.device.read_register(sdma::SDMA_RLC3_IB_CNTL), 0x100U);
        EXPECT_EQ(gpu.device.read_register(sdma::SDMA_RLC3_CONTEXT_STATUS), 4U);
        EXPECT_EQ(gpu.device.read_register(sdma::SDMA_RLC3_DOORBELL), 0U);
    };
    expect_power_on_values();
    gpu.device.write_register(sdma::SDMA_RLC3_RB_CNTL, 1);
    gpu.device.reset("test");
    expect_power_on_values();
}

// kgd_gfx_v9_4_3_hqd_sdma_load() and _destroy() on RLC1 of engine 1.
TEST_F(Sdma, ring_loaded_by_registers_ends_its_packet_when_it_is_stopped) {
    namespace sdma = reg::sdma0;
    map(); // gives the process its page table
    unmap(1);
    constexpr std::uint32_t engine = Dies(1).sdma_offset(1);
    const auto write = [&](std::uint32_t dword, std::uint32_t value) {
        gpu.device.write_register(dword + engine, value);
    };
    const auto read = [&](std::uint32_t dword) { return gpu.device.read_register(dword + engine); };
    push_copy(source_va, target_va, large_bytes);
    push_fence(data_va, 1);
    const std::uint32_t ring_control = control | 8U << 24;
    write(sdma::SDMA_RLC1_RB_CNTL, ring_control);
    EXPECT_EQ(read(sdma::SDMA_RLC1_CONTEXT_STATUS) & 4U, 4U);
    write(sdma::SDMA_RLC1_DOORBELL_OFFSET, doorbell << 2);
    write(sdma::SDMA_RLC1_DOORBELL, 1U << 28);
    write(sdma::SDMA_RLC1_RB_WPTR, low_half(written));
    write(sdma::SDMA_RLC1_RB_BASE, low_half(user_va >> 8));
    write(sdma::SDMA_RLC1_RB_BASE_HI, high_half(user_va >> 8));
    write(sdma::SDMA_RLC1_RB_CNTL, ring_control | 1U);
    EXPECT_EQ(read(sdma::SDMA_RLC1_CONTEXT_STATUS) & 4U, 0U);
    write(sdma::SDMA_RLC1_RB_CNTL, ring_control);
    EXPECT_EQ(read(sdma::SDMA_RLC1_CONTEXT_STATUS) & 4U, 0U);
    gpu.run();
    EXPECT_EQ(read(sdma::SDMA_RLC1_CONTEXT_STATUS) & 4U, 4U);
    write(sdma::SDMA_RLC1_DOORBELL, 0);
    write(sdma::SDMA_RLC1_RB_CNTL, ring_control | 1U);
    EXPECT_EQ(read(sdma::SDMA_RLC1_RB_RPTR), 28U); // behind the copy
    gpu.run();
    EXPECT_EQ(data(0), 0U);
    EXPECT_EQ(read(sdma::SDMA_RLC1_RB_RPTR), 28U);
}

// The driver gives a client of DRM a VMID of the memory hub alone, as gmc_v9_0_emit_flush_gpu_tlb()
// does on a ring whose vm_hub is AMDGPU_MMHUB0: the graphics hub may give it to another process.
TEST_F(Sdma, buffer_of_a_vmid_walks_the_page_table_of_the_memory_hub) {
    constexpr std::uint64_t kernel_ring = 0x30000;
    const Process other = make_process(2 * mib, 0x8002);
    const auto write = [&](std::uint32_t at, std::uint64_t value) {
        gpu.device.write_register(at, low_half(value));
        gpu.device.write_register(at + 1, high_half(value));
    };
    write(reg::mmhub::VM_CONTEXT1_PAGE_TABLE_BASE_ADDR_LO32, process.tables | 1);
    write(reg::gc::VM_CONTEXT1_PAGE_TABLE_BASE_ADDR_LO32, other.tables | 1);
    push_fence(data_va, 7); // 4 dwords in page 0
    const auto put = [&](std::uint64_t dword, std::uint32_t value) {
        gpu.put(kernel_ring + 4 * dword, value);
    };
    put(0, 4 | 1U << 16); // INDIRECT, VMID 1
    put(1, low_half(user_va));
    put(2, high_half(user_va));
    put(3, 4);
    const std::uint64_t base = TestGpu::mc(kernel_ring) >> 8;
    gpu.device.write_register(reg::sdma0::SDMA_GFX_RB_BASE, low_half(base));
    gpu.device.write_register(reg::sdma0::SDMA_GFX_RB_BASE_HI, high_half(base));
    gpu.device.write_register(reg::sdma0::SDMA_GFX_RB_WPTR, 6 * 4);
    gpu.device.write_register(reg::sdma0::SDMA_GFX_RB_CNTL, 10U << 1 | 1U);
    EXPECT_EQ(data(0), 7U);
    EXPECT_EQ(gpu.get<std::uint32_t>(other.page(3)), 0U);
    EXPECT_EQ(gpu.host.interrupts, 0U); // no fault
}

TEST_F(Sdma, bad_access_raises_the_fault_of_its_hub_and_stops_the_queue) {
    map();
    push_copy(nowhere_va, data_va, 64);
    push_fence(data_va, 1);
    ring();
    gpu.run();
    EXPECT_EQ(data(0), 0U);
    ASSERT_EQ(gpu.host.interrupts, 1U);
    EXPECT_EQ(interrupt(0, 0) & 0xffff, 0x12U); // VMC, source 0
    EXPECT_EQ(interrupt(0, 0) >> 24, 8U);
    EXPECT_EQ(interrupt(0, 3), 0x8001U);
    EXPECT_EQ(interrupt(0, 4), low_half(nowhere_va >> 12));
    EXPECT_EQ(interrupt(0, 5) & 0x2f, high_half(nowhere_va >> 12) & 15U); // a read
    const std::uint32_t status =
        gpu.device.read_register(reg::mmhub::VM_L2_PROTECTION_FAULT_STATUS);
    EXPECT_EQ(bits(status, 17, 9), 256U); // SDMA0
    EXPECT_EQ(bits(status, 23, 20), 8U);
    EXPECT_EQ(bits(status, 7, 4), 1U);
    EXPECT_EQ(gpu.device.read_register(reg::gc::VM_L2_PROTECTION_FAULT_STATUS), 0U);
    gpu.device.write_register(reg::mmhub::VM_L2_PROTECTION_FAULT_CNTL, 1);
    EXPECT_EQ(gpu.device.read_register(reg::mmhub::VM_L2_PROTECTION_FAULT_STATUS), 0U);
    unmap(1); // the faulted queue lets itself be evicted
    EXPECT_EQ(gpu.get<std::uint64_t>(fence), 1U);
    EXPECT_EQ(gpu.get<std::uint64_t>(mqd + 3 * 4), 0U);
}

TEST_F(Sdma, vm_fault_knob_strikes_at_the_nth_translation_of_the_process) {
    map();
    gpu.arm("vm-fault:vmid=9");
    gpu.arm("vm-fault:vmid=8,nth=3"); // the ring and the first fence come before
    for (unsigned i = 0; i < 4; ++i)
        push_fence(data_va + 4ULL * i, 1);
    ring();
    gpu.run();
    EXPECT_EQ(data(0), 1U);
    EXPECT_EQ(data(1), 0U);
    EXPECT_EQ(gpu.host.interrupts, 1U);
    unmap(1);
    map(); // the page was there all along
    EXPECT_EQ(data(3), 1U);
}

} // namespace
} // namespace vgpu
