// SPDX-License-Identifier: MIT
// Each SDMA engine of a GPU with four XCCs: its registers, its AID's memory hub, its interrupts.
#include "sdma_queues.hpp"

#include "model/regs/dies.hpp"

#include <array>
#include <string>

namespace vgpu {
namespace {

using test::fence;
using test::mib;
using test::Process;
using test::TestGpu;
using test::user_va;

constexpr Dies dies(4);

// An engine in the register dump of a MI308X, and what the driver expects of its AID.
struct Engine {
    std::uint32_t base; // of its registers
    unsigned aid;
    unsigned client; // of interrupts: SOC15_IH_CLIENTID_SDMA0 to 3, by its place on the AID
    unsigned place;
};
constexpr std::array<Engine, 8> engines = {{{0x1260, 0, 0x08, 0},
                                            {0x1860, 0, 0x09, 1},
                                            {0x39400, 1, 0x01, 2},
                                            {0x39800, 1, 0x04, 3},
                                            {0x41260, 2, 0x08, 0},
                                            {0x41860, 2, 0x09, 1},
                                            {0x79400, 3, 0x01, 2},
                                            {0x79800, 3, 0x04, 3}}};
// The dump's first register of RLC0 and of RLC7, from the base.
constexpr std::uint32_t rlc0 = 0x130;
constexpr std::uint32_t rlc_stride = 0x58;

class SdmaEngines : public test::SdmaQueues, public ::testing::WithParamInterface<unsigned> {
protected:
    SdmaEngines() : SdmaQueues({.xccs = 4}) {}

    // A register of this engine by its name on the first.
    std::uint32_t place(std::uint32_t dword) const { return dword - 0x1260 + engine.base; }
    std::uint32_t read(std::uint32_t dword) { return gpu.device.read_register(place(dword)); }
    void write(std::uint32_t dword, std::uint32_t value) {
        gpu.device.write_register(place(dword), value);
    }
    void write_hub(unsigned aid, std::uint32_t dword, std::uint64_t value) {
        const std::uint32_t at = dword + Dies::aid_offset(aid);
        gpu.device.write_register(at, low_half(value));
        gpu.device.write_register(at + 1, high_half(value));
    }
    std::uint32_t fault_status(unsigned aid) {
        return gpu.device.read_register(reg::mmhub::VM_L2_PROTECTION_FAULT_STATUS +
                                        Dies::aid_offset(aid));
    }
    unsigned node_of_interrupt(unsigned index) const { return interrupt(index, 3) >> 16; }

    const Engine engine = engines[GetParam()];
};

TEST_P(SdmaEngines, copy_and_trap_name_their_engine) {
    map(GetParam());
    // The CP loads the first free ring.
    EXPECT_EQ(gpu.device.read_register(engine.base + rlc0) & 1U, 1U);
    gpu.put(process.page(4), std::uint64_t{0x1122'3344'5566'7788});
    push_copy(user_va + 0x4000, data_va, 8);
    push_fence(data_va + 8, 99);
    push({6, 42});
    ring();
    EXPECT_EQ(gpu.get<std::uint64_t>(process.page(3)), 0x1122'3344'5566'7788U);
    EXPECT_EQ(data(2), 99U);
    ASSERT_EQ(gpu.host.interrupts, 1U);
    EXPECT_EQ(interrupt(0, 0) & 0xffff, 224U << 8 | engine.client);
    EXPECT_EQ(node_of_interrupt(0), 4 * engine.aid);
    EXPECT_EQ(interrupt(0, 4), 42U);
}

TEST_P(SdmaEngines, copy_survives_an_unmap_in_the_middle) {
    map(GetParam());
    push_copy(source_va, target_va, large_bytes);
    push_fence(data_va, 1);
    gpu.put(source_offset, 1U);
    gpu.put(source_offset + large_bytes - 4, 1U);
    ring();
    unmap(1);
    EXPECT_EQ(gpu.get<std::uint64_t>(fence), 1U);
    EXPECT_EQ(read(reg::sdma0::SDMA_RLC0_DOORBELL), 0U);
    EXPECT_EQ(gpu.get<std::uint32_t>(target_offset), 1U);
    EXPECT_EQ(gpu.get<std::uint32_t>(target_offset + large_bytes - 4), 0U);
    gpu.put(source_offset, 2U); // what was copied isn't copied again
    map(GetParam());
    gpu.run();
    EXPECT_EQ(gpu.get<std::uint32_t>(target_offset), 1U);
    EXPECT_EQ(gpu.get<std::uint32_t>(target_offset + large_bytes - 4), 1U);
    EXPECT_EQ(data(0), 1U);
}

// kgd_gfx_v9_4_3_hqd_sdma_load(), without the hardware scheduler.
TEST_P(SdmaEngines, last_ring_is_loaded_by_registers) {
    namespace sdma = reg::sdma0;
    ASSERT_EQ(place(sdma::SDMA_RLC7_RB_CNTL), engine.base + rlc0 + 7 * rlc_stride);
    map(); // gives the process its page table
    unmap(1);
    push_fence(data_va, 7);
    const std::uint32_t ring_control = control | 8U << 24;
    write(sdma::SDMA_RLC7_RB_CNTL, ring_control);
    write(sdma::SDMA_RLC7_DOORBELL_OFFSET, doorbell << 2);
    write(sdma::SDMA_RLC7_DOORBELL, 1U << 28);
    write(sdma::SDMA_RLC7_RB_BASE, low_half(user_va >> 8));
    write(sdma::SDMA_RLC7_RB_BASE_HI, high_half(user_va >> 8));
    write(sdma::SDMA_RLC7_RB_CNTL, ring_control | 1U);
    EXPECT_EQ(data(0), 0U);
    ring();
    EXPECT_EQ(data(0), 7U);
    EXPECT_EQ(read(sdma::SDMA_RLC7_RB_RPTR), 16U);
}

// The driver gives a client of DRM a VMID on the memory hub of the ring's AID alone.
TEST_P(SdmaEngines, buffer_of_a_vmid_walks_the_page_table_of_its_own_hub) {
    namespace sdma = reg::sdma0;
    constexpr std::uint64_t kernel_ring = 0x30000;
    const Process other = make_process(2 * mib, 0x8002);
    for (unsigned aid = 0; aid < dies.aids(); ++aid)
        write_hub(aid, reg::mmhub::VM_CONTEXT1_PAGE_TABLE_BASE_ADDR_LO32,
                  (aid == engine.aid ? process.tables : other.tables) | 1);
    push_fence(data_va, 7); // 4 dwords in page 0
    const std::array<std::uint32_t, 4> packet = {4 | 1U << 16, low_half(user_va),
                                                 high_half(user_va), 4}; // INDIRECT, VMID 1
    for (std::size_t i = 0; i < packet.size(); ++i)
        gpu.put(kernel_ring + 4 * i, packet[i]);
    const std::uint64_t base = TestGpu::mc(kernel_ring) >> 8;
    write(sdma::SDMA_GFX_RB_BASE, low_half(base));
    write(sdma::SDMA_GFX_RB_BASE_HI, high_half(base));
    write(sdma::SDMA_GFX_RB_WPTR, 6 * 4);
    write(sdma::SDMA_GFX_RB_CNTL, 10U << 1 | 1U);
    EXPECT_EQ(data(0), 7U);
    EXPECT_EQ(gpu.get<std::uint32_t>(other.page(3)), 0U);
    EXPECT_EQ(gpu.host.interrupts, 0U); // no fault
}

TEST_P(SdmaEngines, bad_access_is_a_fault_of_its_own_hub) {
    map(GetParam());
    push_copy(nowhere_va, data_va, 64);
    ring();
    gpu.run();
    ASSERT_EQ(gpu.host.interrupts, 1U);
    EXPECT_EQ(interrupt(0, 0) & 0xffff, 0x12U); // VMC, source 0
    EXPECT_EQ(node_of_interrupt(0), 4 * engine.aid);
    for (unsigned aid = 0; aid < dies.aids(); ++aid) {
        const std::uint32_t status = fault_status(aid);
        EXPECT_EQ(bits(status, 17, 9), aid == engine.aid ? 256 + engine.place : 0U);
        EXPECT_EQ(bits(status, 23, 20), aid == engine.aid ? 8U : 0U);
    }
}

// sdma_v4_4_2_ring_emit_vm_flush(): the ring writes the page table base and the request for an
// invalidation of its hub, and polls the acknowledgement.
TEST_P(SdmaEngines, kernel_ring_writes_the_registers_of_its_hub) {
    namespace sdma = reg::sdma0;
    namespace mmhub = reg::mmhub;
    constexpr std::uint64_t kernel_ring = 0x30000;
    const std::uint32_t offset = Dies::aid_offset(engine.aid);
    const std::uint32_t request = mmhub::VM_INVALIDATE_ENG0_REQ + offset;
    const std::uint32_t acknowledge = mmhub::VM_INVALIDATE_ENG0_ACK + offset;
    constexpr std::uint32_t srbm_write = 14U | 0xfU << 28;
    constexpr std::uint32_t poll_until_equal = 8U | 3U << 28;
    const std::array<std::uint32_t, 15> packets = {
        srbm_write,
        mmhub::VM_CONTEXT1_PAGE_TABLE_BASE_ADDR_LO32 + offset,
        0xabcd,
        srbm_write,
        request,
        2, // VMID 1
        poll_until_equal,
        acknowledge << 2,
        0,
        2,
        2,
        0x0fff'0004,
        srbm_write,
        mmhub::VM_CONTEXT2_PAGE_TABLE_BASE_ADDR_LO32 + offset,
        1};
    for (std::size_t i = 0; i < packets.size(); ++i)
        gpu.put(kernel_ring + 4 * i, packets[i]);
    const std::uint64_t base = TestGpu::mc(kernel_ring) >> 8;
    write(sdma::SDMA_GFX_RB_BASE, low_half(base));
    write(sdma::SDMA_GFX_RB_BASE_HI, high_half(base));
    write(sdma::SDMA_GFX_RB_WPTR, 4 * packets.size());
    write(sdma::SDMA_GFX_RB_CNTL, 10U << 1 | 1U);
    for (unsigned aid = 0; aid < dies.aids(); ++aid) {
        const auto hub = [&](std::uint32_t dword) {
            return gpu.device.read_register(dword + Dies::aid_offset(aid));
        };
        const bool own = aid == engine.aid;
        EXPECT_EQ(hub(mmhub::VM_CONTEXT1_PAGE_TABLE_BASE_ADDR_LO32), own ? 0xabcdU : 0U);
        EXPECT_EQ(hub(mmhub::VM_CONTEXT2_PAGE_TABLE_BASE_ADDR_LO32), own ? 1U : 0U);
    }
}

INSTANTIATE_TEST_SUITE_P(OfFourXccs, SdmaEngines, ::testing::Range(0U, 8U),
                         [](const auto& engine) { return "sdma" + std::to_string(engine.param); });

} // namespace
} // namespace vgpu
