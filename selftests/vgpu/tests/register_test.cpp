// SPDX-License-Identifier: MIT
// Registers: declared ones keep values or have handlers, others are reported by name.
#include "fakes.hpp"

#include "model/regs/register_file.hpp"
#include "registers.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace vgpu {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(RegisterFile, declared_register_is_memory_without_a_handler) {
    test::KeepingObserver observer;
    RegisterFile registers(observer);
    registers.write(reg::gc::SCRATCH_REG0, 0xdead'beef, "mmio");
    EXPECT_EQ(registers.read(reg::gc::SCRATCH_REG0, "mmio"), 0xdead'beefU);
    EXPECT_THAT(observer.unknown, IsEmpty());
    EXPECT_THAT(observer.events[0], HasSubstr("write gc.SCRATCH_REG0 <- 0xdeadbeef"));
}

TEST(RegisterFile, unknown_register_is_reported_and_harmless_only_if_the_driver_accesses_it) {
    test::KeepingObserver observer;
    RegisterFile registers(observer);
    registers.read(reg::gc::SCRATCH_REG0 + 1, "mmio"); // in the headers, not in gc.regs
    registers.write(0x1ffff, 1, "cp");                 // nowhere
    EXPECT_THAT(observer.harmless,
                ElementsAre(HasSubstr("read of register gc.SCRATCH_REG1 by mmio")));
    EXPECT_THAT(observer.unknown,
                ElementsAre(HasSubstr("write of register unnamed 0x1ffff by cp")));
}

TEST(RegisterFile, handlers_replace_memory_and_survive_a_clear) {
    test::KeepingObserver observer;
    RegisterFile registers(observer);
    std::uint32_t written = 0;
    registers.on_write(reg::gc::RLC_SAFE_MODE, [&](std::uint32_t value) { written = value; });
    registers.on_read(reg::gc::RLC_SAFE_MODE, [] { return 7U; });
    registers.clear();
    registers.write(reg::gc::RLC_SAFE_MODE, 3, "mmio");
    EXPECT_EQ(written, 3U);
    EXPECT_EQ(registers.read(reg::gc::RLC_SAFE_MODE, "mmio"), 7U);
}

// XCCs and SDMA engines as in the register dump of a MI308X; hubs as Dies has them.
TEST(RegisterFile, each_die_has_registers_of_its_own) {
    test::KeepingObserver observer;
    RegisterFile registers(observer, 4);
    constexpr std::uint32_t queue_base = 0x33245;   // CP_MQD_BASE_ADDR of XCC 1
    constexpr std::uint32_t ring_control = 0x79930; // SDMA_RLC0_RB_CNTL of engine 7
    constexpr std::uint32_t hub = reg::mmhub::VM_L2_CNTL + 0x60000;
    EXPECT_EQ(registers.name(queue_base), "xcc1.gc.CP_MQD_BASE_ADDR");
    EXPECT_EQ(registers.name(ring_control), "sdma7.SDMA_RLC0_RB_CNTL");
    EXPECT_EQ(registers.name(hub), "mmhub3.VM_L2_CNTL");
    for (const std::uint32_t dword : {queue_base, ring_control, hub})
        registers.write(dword, 1, "mmio");
    EXPECT_EQ(registers.value(reg::gc::CP_MQD_BASE_ADDR), 0U);
    EXPECT_EQ(registers.value(reg::sdma0::SDMA_RLC0_RB_CNTL), 0U);
    EXPECT_EQ(registers.value(reg::mmhub::VM_L2_CNTL), 0U);
    EXPECT_THAT(observer.harmless, IsEmpty());
}

TEST(RegisterFile, die_that_is_absent_has_no_registers) {
    test::KeepingObserver observer;
    RegisterFile registers(observer, 1);
    registers.write(0x33245, 1, "mmio");
    registers.write(0x79930, 1, "mmio");
    EXPECT_EQ(observer.harmless.size(), 2U);
}

// Literal offsets in the driver's packets must mean the same register here.
TEST(RegisterNumbers, are_those_of_a_gfx942) {
    EXPECT_EQ(reg::gc::CP_MQD_BASE_ADDR, 0x3245U);
    EXPECT_EQ(reg::gc::GRBM_GFX_CNTL, 0x2022U);
    EXPECT_EQ(reg::gc::SCRATCH_REG0, 0xc040U);
    EXPECT_EQ(reg::mmhub::VM_INVALIDATE_ENG0_ACK, 0x1abd5U);
}

// The offsets are those of gc_9_0_offset.h, sdma0_4_2_2_offset.h and nbio_7_4_offset.h, with the
// bases of aldebaran_ip_offset.h.
TEST(RegisterFile, another_gpu_has_them_at_other_places) {
    test::KeepingObserver observer;
    RegisterFile registers(observer, 1, Gpu::mi250);
    std::uint32_t invalidated = 0;
    registers.on_write(reg::gc::VM_INVALIDATE_ENG17_REQ,
                       [&](std::uint32_t value) { invalidated = value; });
    registers.write(0x2000 + 0x8b4, 3, "cp");
    EXPECT_EQ(invalidated, 3U);
    registers.write(0x1e800 + 0x80, 0x1017, "mmio"); // SDMA0_GFX_RB_CNTL, with the base of engine 4
    EXPECT_EQ(registers.value(reg::sdma0::SDMA_GFX_RB_CNTL + registers.dies().sdma_offset(4)),
              0x1017U);
    registers.write(0x2000 + 0x1245, 5, "mmio"); // one that hasn't moved
    EXPECT_EQ(registers.value(reg::gc::CP_MQD_BASE_ADDR), 5U);
    EXPECT_THAT(observer.unknown, IsEmpty());
    EXPECT_THAT(observer.harmless, IsEmpty());
}

TEST(RegisterFile, another_gpu_has_some_of_its_own) {
    test::KeepingObserver observer;
    RegisterFile registers(observer, 1, Gpu::mi250);
    registers.write(0xef2, 7, "mmio");
    EXPECT_EQ(registers.read(0xef2, "mmio"), 7U);
    EXPECT_THAT(observer.events[0], HasSubstr("write nbio.BIF_IH_DOORBELL_RANGE <- 0x7"));
    // HDP_MEM_POWER_LS: a MI300X has another register there.
    registers.write(0xf20 + 0xd4, 9, "mmio");
    EXPECT_EQ(registers.value(0xf20 + 0xd4), 0U);
    EXPECT_EQ(registers.read(0xf20 + 0xd4, "mmio"), 9U);
    EXPECT_THAT(observer.harmless, IsEmpty());
}

} // namespace
} // namespace vgpu
