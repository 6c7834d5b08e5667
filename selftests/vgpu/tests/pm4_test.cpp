// SPDX-License-Identifier: MIT
// PM4 packets as the driver's packet managers write them.
#include "model/base/polling.hpp"
#include "model/cp/hqd.hpp"
#include "model/cp/pm4.hpp"

#include <gtest/gtest.h>

#include <array>

namespace vgpu::pm4 {
namespace {

TEST(Header, type_3_and_fillers) {
    const auto unmap = decode_header(0xc004'a300);
    ASSERT_TRUE(unmap);
    EXPECT_EQ(unmap->opcode, 0xa3);
    EXPECT_EQ(unmap->body_dwords, 5U);
    EXPECT_TRUE(decode_header(0x8000'0000)->filler);
    EXPECT_TRUE(decode_header(0)->filler);
    EXPECT_TRUE(decode_header(0xffff'1000)->filler); // one-dword NOP
    EXPECT_FALSE(decode_header(0x4000'0000));
}

TEST(MapQueues, from_the_kiq_names_its_slot) {
    // KCQ me 1 pipe 2 queue 1, doorbell dword 0x12, as gfx_v9_4_3_kiq_map_queues().
    const std::array<std::uint32_t, 6> body = {
        1U << 13 | 2U << 16 | 1U << 29, 0x12 << 2, 0x1000, 0x80, 0x2000, 0x80};
    const auto map = decode_map_queues(body);
    ASSERT_TRUE(map);
    EXPECT_FALSE(map->scheduler_chooses_slot);
    EXPECT_EQ(slot_of({map->me, map->pipe, map->queue}), slot_of({1, 2, 1}));
    EXPECT_EQ(map->doorbell, 0x12U);
    EXPECT_EQ(map->mqd, 0x80'0000'1000U);
    EXPECT_FALSE(map->sdma_engine);
}

TEST(MapQueues, of_a_runlist_leaves_the_slot_and_may_mean_sdma) {
    std::array<std::uint32_t, 6> body = {1U << 4 | 1U << 29, 0x1000 << 2, 0, 0, 0, 0};
    EXPECT_TRUE(decode_map_queues(body)->scheduler_chooses_slot);
    EXPECT_FALSE(decode_map_queues(body)->sdma_engine);
    body[0] = 1U << 4 | 2U << 26 | 1U << 29;
    EXPECT_EQ(decode_map_queues(body)->sdma_engine, 0U);
    body[0] = 1U << 4 | 1U << 2 | 1U << 26 | 1U << 29;
    EXPECT_EQ(decode_map_queues(body)->sdma_engine, 1U);
    body[0] = 1U << 4 | 2U << 2 | 1U << 26 | 1U << 29;
    EXPECT_EQ(decode_map_queues(body)->sdma_engine, 9U);
    body[0] = 2U << 4;
    EXPECT_FALSE(decode_map_queues(body));
}

TEST(UnmapQueues, by_each_selection) {
    std::array<std::uint32_t, 5> body = {3U << 4, 0, 0, 0, 0};
    EXPECT_EQ(decode_unmap_queues(body)->select, QueueSelect::all_dynamic);
    EXPECT_FALSE(decode_unmap_queues(body)->reset);
    body = {1U | 1U << 4, 0x8002, 0, 0, 0};
    EXPECT_EQ(decode_unmap_queues(body)->select, QueueSelect::by_pasid);
    EXPECT_EQ(decode_unmap_queues(body)->pasid, 0x8002);
    EXPECT_TRUE(decode_unmap_queues(body)->reset);
    body = {2U << 29, 0x10 << 2, 0x11 << 2, 0, 0};
    EXPECT_EQ(decode_unmap_queues(body)->doorbell_count, 2U);
    EXPECT_EQ(decode_unmap_queues(body)->doorbells[1], 0x11U);
    body[0] = 7U << 29; // more doorbells than the packet has room for
    EXPECT_FALSE(decode_unmap_queues(body));
    body[0] = 2U; // "disable process queues"
    EXPECT_FALSE(decode_unmap_queues(body));
}

TEST(MapProcess, in_the_layout_of_gc_9_4_2_and_later) {
    std::array<std::uint32_t, 20> body{};
    body[0] = 0x8001 | 10U << 25;
    body[1] = 0x3f'e001;
    body[2] = 1;
    body[3] = 0x2000'1000;
    body[5] = 0xffbf'0000;
    body[6] = 0xff;
    const auto map = decode_map_process(body);
    ASSERT_TRUE(map);
    EXPECT_EQ(map->pasid, 0x8001);
    EXPECT_EQ(map->page_table_base, 0x1'003f'e001U);
    EXPECT_EQ(map->sh_mem_bases, 0x2000'1000U);
    EXPECT_EQ(map->tba, 0xff'ffbf'0000U);
}

TEST(RunList, chained_and_valid_bits) {
    const std::array<std::uint32_t, 3> body = {0x40'1000, 0x80, 28U | 1U << 23};
    const auto list = decode_run_list(body);
    EXPECT_EQ(list->address, 0x80'0040'1000U);
    EXPECT_EQ(list->size_dwords, 28U);
    EXPECT_TRUE(list->valid);
    EXPECT_FALSE(list->chained);
}

TEST(WaitRegMem, register_memory_and_write_first) {
    std::array<std::uint32_t, 6> body = {3, 0x2895, 0, 1, 1, 0x20};
    EXPECT_FALSE(decode_wait_reg_mem(body)->memory);
    EXPECT_EQ(decode_wait_reg_mem(body)->wait_register, 0x2895U);
    body = {3U | 1U << 6, 0xe26, 0xe27, 4, 4, 0x20};
    EXPECT_TRUE(decode_wait_reg_mem(body)->write_first);
    EXPECT_EQ(decode_wait_reg_mem(body)->wait_register, 0xe27U);
    body = {5U | 1U << 4, 0x1000, 0x80, 4, ~0U, 0x20};
    EXPECT_TRUE(decode_wait_reg_mem(body)->memory);
    EXPECT_EQ(decode_wait_reg_mem(body)->address, 0x80'0000'1000U);
}

TEST(ReleaseMem, interrupts_by_int_sel) {
    std::array<std::uint32_t, 7> body = {0x514, 2U << 29, 0x1000, 0x7f, 1, 0, 9};
    EXPECT_FALSE(decode_release_mem(body)->interrupt);
    for (const std::uint32_t select : {1U, 2U}) {
        body[1] = select << 24;
        EXPECT_TRUE(decode_release_mem(body)->interrupt);
    }
    body[1] = 3U << 24; // the data when it is confirmed
    EXPECT_FALSE(decode_release_mem(body)->interrupt);
    body[1] = 5U << 24; // depends on a comparison
    EXPECT_FALSE(decode_release_mem(body));
}

TEST(EventWrite, waits_for_dispatches_or_flushes) {
    EXPECT_TRUE(decode_event_write(std::array<std::uint32_t, 1>{0x407})->waits_for_dispatches);
    EXPECT_FALSE(decode_event_write(std::array<std::uint32_t, 1>{0x16})->waits_for_dispatches);
    EXPECT_FALSE(decode_event_write(std::array<std::uint32_t, 1>{0x19}));
}

TEST(Compare, by_every_function) {
    EXPECT_TRUE(poll_succeeds(0, 1, 2));
    EXPECT_TRUE(poll_succeeds(1, 1, 2));
    EXPECT_FALSE(poll_succeeds(1, 2, 2));
    EXPECT_TRUE(poll_succeeds(2, 2, 2));
    EXPECT_TRUE(poll_succeeds(3, 2, 2));
    EXPECT_TRUE(poll_succeeds(4, 1, 2));
    EXPECT_TRUE(poll_succeeds(5, 2, 2));
    EXPECT_FALSE(poll_succeeds(6, 2, 2));
}

TEST(Slots, have_the_ring_ids_of_the_interrupt_entries) {
    EXPECT_EQ(ring_id_of(slot_of({2, 1, 0})), 2U << 2 | 1U);
    EXPECT_EQ(ring_id_of(slot_of({1, 3, 7})), 7U << 4 | 1U << 2 | 3U);
    for (unsigned slot = 0; slot < hqd_slots; ++slot)
        EXPECT_EQ(slot_of(address_of(slot)), slot);
}

} // namespace
} // namespace vgpu::pm4
