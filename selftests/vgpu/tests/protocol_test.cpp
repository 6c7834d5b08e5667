// SPDX-License-Identifier: MIT
// vfio-user messages: good ones are understood, hostile ones refused.
#include "tables/byte_writer.hpp"
#include "vfu/dma_table.hpp"
#include "vfu/protocol.hpp"

#include <gtest/gtest.h>

#include <sys/mman.h>

#include <cerrno>
#include <random>

namespace vgpu::vfu {
namespace {

using tables::ByteWriter;

ByteWriter header(std::uint32_t size) {
    ByteWriter out;
    out.u16(1).u16(9).u32(size).u32(0).u32(0);
    return out;
}

TEST(Header, with_a_whole_message_length_is_taken) {
    const auto parsed = parse_header(header(32).bytes());
    ASSERT_TRUE(parsed);
    EXPECT_EQ(parsed->command, 9);
    EXPECT_TRUE(parsed->is_command());
    EXPECT_FALSE(parsed->no_reply());
}

TEST(Header, shorter_than_itself_or_longer_than_any_message_is_refused) {
    EXPECT_FALSE(parse_header(header(15).bytes()));
    EXPECT_FALSE(parse_header(header(0).bytes()));
    EXPECT_FALSE(parse_header(header(0xffff'ffff).bytes()));
    EXPECT_FALSE(parse_header(ByteWriter().u32(0).bytes()));
}

TEST(Version, is_0_x_with_a_terminated_text) {
    const auto good = parse_version(ByteWriter().u16(0).u16(1).text("{}").u8(0).bytes());
    ASSERT_TRUE(good);
    EXPECT_EQ(good->minor, 1);
    EXPECT_EQ(good->capabilities, "{}");
    EXPECT_TRUE(parse_version(ByteWriter().u16(0).u16(1).bytes()));
    EXPECT_FALSE(parse_version(ByteWriter().u16(0).u16(1).text("{}").bytes()));
    EXPECT_FALSE(parse_version(ByteWriter().u16(1).u16(0).bytes()));
    EXPECT_FALSE(parse_version(ByteWriter().u16(0).bytes()));
}

ByteWriter dma_map(std::uint32_t flags, std::uint64_t offset, std::uint64_t address,
                   std::uint64_t size) {
    ByteWriter out;
    out.u32(32).u32(flags).put(offset).put(address).put(size);
    return out;
}

TEST(DmaMap, wants_known_flags_and_a_range_that_does_not_wrap) {
    const auto good = parse_dma_map(dma_map(3, 0, 0x1000, 0x1000).bytes());
    ASSERT_TRUE(good);
    EXPECT_TRUE(good->readable);
    EXPECT_TRUE(good->writable);
    EXPECT_FALSE(parse_dma_map(dma_map(4, 0, 0x1000, 0x1000).bytes()));
    EXPECT_FALSE(parse_dma_map(dma_map(3, 0, 0x1000, 0).bytes()));
    EXPECT_FALSE(parse_dma_map(dma_map(3, 0, ~0ULL, 2).bytes()));
    EXPECT_FALSE(parse_dma_map(ByteWriter().u32(32).bytes()));
}

TEST(SetIrqs, refuses_indices_and_vectors_out_of_range) {
    const auto set = [](std::uint32_t flags, std::uint32_t index, std::uint32_t start,
                        std::uint32_t count) {
        return parse_set_irqs(
            ByteWriter().u32(20).u32(flags).u32(index).u32(start).u32(count).bytes());
    };
    ASSERT_TRUE(set(0x24, 1, 0, 1));
    EXPECT_TRUE(set(0x24, 1, 0, 1)->data_eventfd);
    EXPECT_FALSE(set(0x24, 5, 0, 1));
    EXPECT_FALSE(set(0x24, 1, 0xffff'ffff, 1));
    EXPECT_FALSE(set(0x24, 1, 0, 0x1000'0000));
    EXPECT_FALSE(set(0x25, 1, 0, 1));
}

ByteWriter access(std::uint64_t offset, std::uint32_t region, std::uint32_t count) {
    ByteWriter out;
    out.put(offset).u32(region).u32(count);
    return out;
}

TEST(RegionAccess, refuses_lengths_that_the_message_does_not_carry) {
    EXPECT_TRUE(parse_region_read(access(0, 5, 4).bytes()));
    EXPECT_FALSE(parse_region_read(access(0, 5, 0).bytes()));
    EXPECT_FALSE(parse_region_read(access(0, 5, 0xffff'ffff).bytes()));
    EXPECT_FALSE(parse_region_read(access(0, 9, 4).bytes()));
    EXPECT_FALSE(parse_region_read(access(~0ULL, 5, 4).bytes()));
    EXPECT_TRUE(parse_region_write(access(0, 5, 4).u32(7).bytes()));
    EXPECT_FALSE(parse_region_write(access(0, 5, 8).u32(7).bytes()));
}

TEST(RegionWriteMulti, refuses_counts_beyond_the_message_and_long_records) {
    const auto record = [](ByteWriter& out, std::uint32_t count) {
        out.put(std::uint64_t{16}).u32(5).u32(count).put(std::uint64_t{0x1122});
    };
    ByteWriter good;
    good.put(std::uint64_t{2});
    record(good, 4);
    record(good, 8);
    const auto parsed = parse_region_write_multi(good.bytes());
    ASSERT_TRUE(parsed);
    ASSERT_EQ(parsed->size(), 2U);
    EXPECT_EQ((*parsed)[0].data.size(), 4U);
    EXPECT_EQ((*parsed)[1].data[0], std::byte{0x22});

    ByteWriter too_many;
    too_many.put(std::uint64_t{3});
    record(too_many, 4);
    EXPECT_FALSE(parse_region_write_multi(too_many.bytes()));
    ByteWriter wrapping;
    wrapping.put(std::uint64_t{0xaaa'aaaa'aaaa'aaab}); // times 24 wraps to 8
    record(wrapping, 4);
    EXPECT_FALSE(parse_region_write_multi(wrapping.bytes()));
    ByteWriter long_record;
    long_record.put(std::uint64_t{1});
    record(long_record, 9);
    EXPECT_FALSE(parse_region_write_multi(long_record.bytes()));
}

// Parsers return for any bytes; under a sanitizer this finds reads out of bounds.
TEST(Parsers, survive_random_bodies) {
    std::mt19937 random(1);
    for (int round = 0; round < 20'000; ++round) {
        std::vector<std::byte> body(random() % 80);
        for (std::byte& value : body)
            value = static_cast<std::byte>(random() % 3 == 0 ? random() : random() % 9);
        static_cast<void>(parse_header(body));
        static_cast<void>(parse_version(body));
        static_cast<void>(parse_dma_map(body));
        static_cast<void>(parse_dma_unmap(body));
        static_cast<void>(parse_region_info(body));
        static_cast<void>(parse_irq_info(body));
        static_cast<void>(parse_set_irqs(body));
        const auto write = parse_region_write(body);
        if (write) {
            EXPECT_EQ(write->data.size(), write->count);
        }
        const auto multi = parse_region_write_multi(body);
        if (multi) {
            EXPECT_LE(multi->size() * 24 + 8, body.size());
        }
    }
}

UniqueFd memory_file(std::uint64_t bytes) {
    UniqueFd fd(::memfd_create("test", MFD_CLOEXEC));
    EXPECT_EQ(::ftruncate(fd.get(), static_cast<off_t>(bytes)), 0);
    return fd;
}

DmaMap request(std::uint64_t address, std::uint64_t size, std::uint64_t offset = 0) {
    return {true, true, offset, address, size};
}

TEST(DmaTable, finds_ranges_and_only_whole_ones) {
    DmaTable table;
    ASSERT_TRUE(table.map(request(0x10000, 0x2000), memory_file(0x2000)));
    EXPECT_NE(table.find(0x10000, 0x2000), nullptr);
    EXPECT_NE(table.find(0x11fff, 1), nullptr);
    EXPECT_EQ(table.find(0x11fff, 2), nullptr);
    EXPECT_EQ(table.find(0xffff, 1), nullptr);
    ASSERT_TRUE(table.unmap({false, 0x10000, 0x2000}));
    EXPECT_EQ(table.find(0x10000, 1), nullptr);
}

TEST(DmaTable, refuses_overlap_short_files_and_unknown_unmaps) {
    DmaTable table;
    ASSERT_TRUE(table.map(request(0x10000, 0x2000), memory_file(0x2000)));
    EXPECT_FALSE(table.map(request(0x11000, 0x1000), memory_file(0x1000)));
    EXPECT_FALSE(table.map(request(0xf000, 0x2000), memory_file(0x2000)));
    EXPECT_FALSE(table.map(request(0x20000, 0x3000), memory_file(0x2000)));
    EXPECT_FALSE(table.map(request(0x20000, 0x1000, ~0ULL - 0xfff), memory_file(0x2000)));
    EXPECT_FALSE(table.unmap({false, 0x10000, 0x1000}));
    EXPECT_EQ(table.ranges(), 1U);
}

TEST(DmaTable, range_without_a_file_holds_no_memory) {
    DmaTable table;
    ASSERT_TRUE(table.map(request(0x10000, 0x2000), UniqueFd()));
    EXPECT_EQ(table.find(0x10000, 1), nullptr);
    ASSERT_TRUE(table.unmap({true, 0, 0}));
    EXPECT_EQ(table.ranges(), 0U);
}

} // namespace
} // namespace vgpu::vfu
