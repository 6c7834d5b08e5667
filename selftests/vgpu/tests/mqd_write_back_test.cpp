// SPDX-License-Identifier: MIT
// Fields that the CP writes into the MQD of a queue that is unmapped. The values are those of a
// MI308X: debugfs `mqds` of queues that were never unmapped, unmapped unused, and unmapped after a
// packet.
#include "user_queues.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <map>

namespace vgpu {
namespace {

using test::mib;
using test::Process;
using test::signal_va;
using ::testing::ElementsAre;

constexpr unsigned xccs = 4;
constexpr std::uint64_t first_mqd = 0x10000;
constexpr std::uint64_t mqd_stride = 0x3000;
constexpr std::uint32_t doorbell = 0x1000;
constexpr unsigned mqd_dwords = 512;

class MqdWriteBack : public test::UserQueues {
protected:
    MqdWriteBack() : UserQueues({.xccs = xccs}) {}

    using Mqd = std::array<std::uint32_t, mqd_dwords>;
    using Changes = std::map<unsigned, std::uint32_t>;

    void SetUp() override {
        UserQueues::SetUp();
        // As init_mqd_v9_4_3() leaves them.
        for (unsigned xcc = 0; xcc < xccs; ++xcc) {
            make_mqd(mqd(xcc), doorbell);
            put(xcc, 0, 0xc0310800);
            put(xcc, 39, xcc);
            put(xcc, 40, 0xffffffff);
            put(xcc, 41, 1);
            put(xcc, 42, 0xffffffff);
            put(xcc, 143, doorbell << 2 | 2);
            put(xcc, 145, xcc == 0 ? 0x14014509 : 0x1c014509);
            put(xcc, 160, 0x4000);
            put(xcc, 176, 0x1000);
            put(xcc, 226, mqd_stride);
            created[xcc] = read(xcc);
        }
        gpu.put(process.page(2) + 8, std::int64_t{1});
        list_process(process);
        list_queue(first_mqd, doorbell);
        start_runlist();
    }

    static std::uint64_t mqd(unsigned xcc) { return first_mqd + xcc * mqd_stride; }
    void put(unsigned xcc, unsigned dword, std::uint32_t value) {
        gpu.put(mqd(xcc) + 4ULL * dword, value);
    }
    Mqd read(unsigned xcc) const { return gpu.get<Mqd>(mqd(xcc)); }
    Changes changes(unsigned xcc) const {
        Changes changed;
        const Mqd now = read(xcc);
        for (unsigned i = 0; i < mqd_dwords; ++i)
            if (now.at(i) != created.at(xcc).at(i))
                changed[i] = now.at(i);
        return changed;
    }
    std::uint64_t time(unsigned xcc, unsigned dword) const {
        return gpu.get<std::uint64_t>(mqd(xcc) + 4ULL * dword);
    }

    const Process process = make_process(1 * mib, 0x8001);
    std::array<Mqd, xccs> created{};
};

TEST_F(MqdWriteBack, waits_for_the_unmap_but_for_ACTIVE) {
    for (unsigned xcc = 0; xcc < xccs; ++xcc)
        EXPECT_EQ(changes(xcc), (Changes{{130, 1}}));
}

TEST_F(MqdWriteBack, of_an_unused_queue) {
    unmap(1);
    for (unsigned xcc = 0; xcc < xccs; ++xcc)
        EXPECT_EQ(changes(xcc), (Changes{{130, 1},
                                         {131, 0x808}, // VMID and IB_VMID
                                         {143, 0x60000000 | doorbell << 2 | 2},
                                         {145, created.at(xcc).at(145) | 0x8000}, // PQ_EMPTY
                                         {160, 0x40004000},                       // QUEUE_IDLE
                                         {168, 0x40000000},
                                         {169, 0x7f8000}}))
            << "XCC " << xcc;
}

TEST_F(MqdWriteBack, after_a_packet) {
    write_barrier(process, 0, 0, signal_va);
    gpu.device.write_doorbell(doorbell, 0);
    unmap(1);
    for (unsigned xcc = 0; xcc < xccs; ++xcc) {
        Changes changed = changes(xcc);
        const std::uint64_t start = time(xcc, 88);
        const std::uint64_t end = time(xcc, 90);
        EXPECT_TRUE(bit(high_half(start), 31));
        EXPECT_LE(start & ~(1ULL << 63), end);
        for (const unsigned dword : {88U, 89U, 90U, 91U})
            changed.erase(dword);
        Changes expected{{1, 0x4000},
                         {42, 1}, // the chunk's size
                         {96, 1}, // packets read
                         {114, 3},
                         {130, 1},
                         {131, 0x808},
                         {138, 16},
                         {143, 0x60000000 | doorbell << 2 | 2},
                         {145, created.at(xcc).at(145) | 0x8000},
                         {160, 0x40104000},
                         {168, 0x40000000},
                         {169, 0x7f8000},
                         {182, 16},
                         {185, 1}, // dispatch id
                         {227, 1}};
        if (xcc == 0)
            for (unsigned other = 0; other < xccs; ++other)
                expected[320 + other] = 16; // the read pointer of each XCC
        EXPECT_EQ(changed, expected) << "XCC " << xcc;
    }
}

TEST_F(MqdWriteBack, of_a_busy_queue_says_neither_idle_nor_empty) {
    gpu.put(process.page(2) + 0x40 + 8, std::int64_t{1});
    write_barrier(process, 0, 0, signal_va);
    write_barrier(process, 1, signal_va + 0x40, signal_va); // waits
    gpu.device.write_doorbell(doorbell, 1);
    unmap(1);
    EXPECT_EQ(read(0).at(145), created[0].at(145));
    EXPECT_EQ(read(0).at(160), 0x104000U);
    EXPECT_EQ(read(0).at(138), 16U);
    EXPECT_EQ(read(0).at(182), 32U);
}

TEST_F(MqdWriteBack, counts_on_over_unmaps) {
    for (std::uint64_t packet = 0; packet < 3; ++packet) {
        write_barrier(process, packet, 0, signal_va);
        gpu.device.write_doorbell(doorbell, packet);
        unmap(packet + 1);
        EXPECT_EQ(read(0).at(96), packet + 1);
        EXPECT_EQ(read(3).at(185), packet + 1);
        EXPECT_EQ(read(0).at(323), (packet + 1) * 16);
        list_process(process);
        list_queue(first_mqd, doorbell);
        start_runlist();
    }
}

} // namespace
} // namespace vgpu
