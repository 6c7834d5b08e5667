// SPDX-License-Identifier: MIT
// Processes with and without XNACK in one runlist, with firmware that keeps them apart.
#include "two_processes.hpp"

namespace vgpu {
namespace {

using pm4::Opcode;
using ::testing::Contains;
using ::testing::HasSubstr;

constexpr std::uint32_t retry_disable = 1U << 12;  // SH_MEM_CONFIG
constexpr std::uint32_t separate_modes = 1U << 28; // SET_RESOURCES

class XnackModes : public test::TwoProcesses {
protected:
    void set_resources(std::uint32_t flags) {
        unmap(1);
        gpu.submit(hiq, Opcode::set_resources, {1U << 29 | flags | 0x300, 0x1c, 0, 0, 0, 0, 0});
    }
    void list_both(std::uint32_t config_of_second) {
        list_process(first);
        list_queue(0x10000, 0x1000);
        list_process(second, 0, config_of_second);
        list_queue(0x20000, 0x2000);
    }
    unsigned mapped() {
        unsigned queues = 0;
        for (unsigned slot = 0; slot < hqd_slots; ++slot)
            if (address_of(slot).me == 1)
                queues += gpu.read_hqd(address_of(slot), reg::gc::CP_HQD_ACTIVE);
        return queues;
    }
};

TEST_F(XnackModes, take_turns_when_they_are_separated) {
    set_resources(separate_modes);
    list_both(retry_disable);
    list_chain();
    start_runlist();
    for (unsigned packet = 0; packet < 3; ++packet)
        for (const auto& [process, doorbell] :
             {std::pair{&first, 0x1000U}, std::pair{&second, 0x2000U}}) {
            const auto index = gpu.get<std::uint64_t>(process->page(1));
            const auto signal = process->page(2) + amd_signal::value;
            const auto before = gpu.get<std::int64_t>(signal);
            write_barrier(*process, index, 0, test::signal_va);
            gpu.device.write_doorbell(doorbell, index);
            for (unsigned slice = 0; slice < 4 && gpu.get<std::int64_t>(signal) == before;
                 ++slice) {
                EXPECT_LE(mapped(), 1U);
                gpu.device.run(1000);
            }
            EXPECT_EQ(gpu.get<std::int64_t>(signal), before - 1) << std::hex << doorbell;
        }
    EXPECT_GT(gpu.observer.counters["time_slices"], 1U);
}

TEST_F(XnackModes, share_the_hardware_when_they_are_not_separated) {
    set_resources(0);
    list_both(retry_disable);
    start_runlist();
    EXPECT_EQ(mapped(), 2U);
}

TEST_F(XnackModes, of_one_kind_share_the_hardware) {
    set_resources(separate_modes);
    list_both(0);
    start_runlist();
    EXPECT_EQ(mapped(), 2U);
}

TEST_F(XnackModes, that_differ_need_a_chained_list) {
    set_resources(separate_modes);
    list_both(retry_disable);
    start_runlist();
    EXPECT_THAT(gpu.observer.unknown, Contains(HasSubstr("XNACK")));
    gpu.observer.unknown.clear();
}

} // namespace
} // namespace vgpu
