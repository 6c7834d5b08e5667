// SPDX-License-Identifier: MIT
// TCP_WATCHn: addresses from the driver, controls from MAP_PROCESS.
#include "user_queues.hpp"

#include <gmock/gmock.h>

namespace vgpu {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

constexpr std::uint32_t control = 1U << 31 | 1U << 29 | 0xff'ffff;

class WatchRegisters : public test::UserQueues {
protected:
    WatchRegisters() : test::UserQueues({.xccs = 4}) {}
    std::uint32_t control_of(unsigned watch, unsigned xcc = 0) {
        return gpu.device.read_register(reg::gc::TCP_WATCH0_CNTL + 3 * watch +
                                        Dies(4).xcc_offset(xcc));
    }
    void remap(std::array<std::uint32_t, 4> of_first, std::array<std::uint32_t, 4> of_second,
               std::uint32_t debug_control = 1U << 3) {
        unmap(++fences);
        list_process(first, 0, 0, 0, debug_control, of_first);
        list_process(second, 0, 0, 0, 1U << 3, of_second);
        start_runlist();
    }
    std::uint64_t fences = 0;
    test::Process first = make_process(1 * test::mib, 0x8001);
    test::Process second = make_process(2 * test::mib, 0x8002);
};

TEST_F(WatchRegisters, the_firmware_adds_the_vmid_on_each_xcc) {
    remap({control}, {0, 0, control});
    for (unsigned xcc = 0; xcc < 4; ++xcc) {
        EXPECT_EQ(control_of(0, xcc), control | 8U << 24);
        EXPECT_EQ(control_of(1, xcc), 0U);
        EXPECT_EQ(control_of(2, xcc), control | 9U << 24);
    }
}

TEST_F(WatchRegisters, a_watch_ends_with_the_mapping_that_asked_for_it) {
    remap({control}, {0, 0, control});
    remap({}, {0, 0, control});
    EXPECT_EQ(control_of(0), 0U);
    EXPECT_EQ(control_of(2), control | 9U << 24);
    remap({}, {});
    EXPECT_EQ(control_of(2), 0U);
}

TEST_F(WatchRegisters, addresses_are_those_that_the_driver_wrote) {
    gpu.device.write_register(reg::gc::TCP_WATCH1_ADDR_H, 0x7f00);
    gpu.device.write_register(reg::gc::TCP_WATCH1_ADDR_L, 0x1234'5680);
    remap({0, control}, {});
    EXPECT_EQ(gpu.device.read_register(reg::gc::TCP_WATCH1_ADDR_H), 0x7f00U);
    EXPECT_EQ(gpu.device.read_register(reg::gc::TCP_WATCH1_ADDR_L), 0x1234'5680U);
}

// Stalls, launch modes, floating point exceptions, traps at the start of a wave.
TEST_F(WatchRegisters, what_else_a_debugger_asks_for_is_reported) {
    remap({}, {}, 3U << 11 | 1U << 13);
    EXPECT_THAT(gpu.observer.unknown, ::testing::IsEmpty());
    for (const std::uint32_t bit : {1U << 0, 1U << 1, 1U << 4, 1U << 14}) {
        remap({}, {}, bit);
        EXPECT_THAT(gpu.observer.unknown, Contains(HasSubstr("SPI_GDBG_PER_VMID_CNTL")));
        gpu.observer.unknown.clear();
    }
}

} // namespace
} // namespace vgpu
