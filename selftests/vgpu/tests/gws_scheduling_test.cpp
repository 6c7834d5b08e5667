// SPDX-License-Identifier: MIT
// Resources of global wave sync that the scheduler gives to processes.
#include "two_processes.hpp"

#include <gmock/gmock.h>

namespace vgpu {
namespace {

using pm4::Opcode;
using ::testing::Contains;
using ::testing::HasSubstr;

class GwsScheduling : public test::TwoProcesses {
protected:
    void SetUp() override {
        // NOLINTNEXTLINE(bugprone-parent-virtual-call): without TwoProcesses::map()
        UserQueues::SetUp();
        give(~0ULL);
        make_mqd(0x10000, 0x1000);
        make_mqd(0x20000, 0x2000);
        for (const test::Process& process : {first, second})
            gpu.put(process.page(2) + amd_signal::value, std::int64_t{100});
    }
    // SET_RESOURCES: VMIDs 8 and 9, queues 2 to 4 of pipe 0.
    void give(std::uint64_t gws_mask) {
        gpu.submit(hiq, Opcode::set_resources,
                   {1U << 29 | 0x300, 0x1c, 0, low_half(gws_mask), high_half(gws_mask), 0, 0});
    }
    void list_both(unsigned first_gws, unsigned second_gws) {
        list_process(first, 0, 0, first_gws);
        list_queue(0x10000, 0x1000, first_gws != 0);
        list_process(second, 0, 0, second_gws);
        list_queue(0x20000, 0x2000, second_gws != 0);
    }
    std::uint32_t range(unsigned vmid) {
        return gpu.device.read_register(reg::gc::GDS_GWS_VMID0 + vmid);
    }
};

TEST_F(GwsScheduling, a_process_gets_what_its_map_process_says) {
    list_both(0, 64);
    start_runlist();
    EXPECT_EQ(range(8), 0U);
    EXPECT_EQ(range(9), 64U << 16);
    unmap(1);
    list_both(16, 32);
    start_runlist();
    EXPECT_EQ(range(8), 16U << 16);
    EXPECT_EQ(range(9), 32U << 16 | 16U);
    unmap(2);
    list_both(0, 0);
    start_runlist();
    EXPECT_EQ(range(8), 0U);
    EXPECT_EQ(range(9), 0U);
}

TEST_F(GwsScheduling, only_resources_of_the_mask_are_given) {
    give(0xff00'f000);
    list_both(8, 4);
    start_runlist();
    EXPECT_EQ(range(8), 8U << 16 | 24U);
    EXPECT_EQ(range(9), 4U << 16 | 12U);
}

TEST_F(GwsScheduling, processes_take_turns_where_there_is_not_enough) {
    list_both(64, 64);
    list_chain();
    start_runlist();
    for (unsigned round = 0; round < 4; ++round) {
        EXPECT_TRUE(works(first, 0x1000)) << round;
        EXPECT_TRUE(works(second, 0x2000)) << round;
    }
    EXPECT_GT(gpu.observer.counters["time_slices"], 2U);
}

TEST_F(GwsScheduling, a_list_that_does_not_fit_must_be_chained) {
    list_both(64, 1);
    start_runlist();
    EXPECT_THAT(gpu.observer.unknown, Contains(HasSubstr("more GWS in a runlist")));
    gpu.observer.unknown.clear();
}

} // namespace
} // namespace vgpu
