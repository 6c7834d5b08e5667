// SPDX-License-Identifier: MIT
// Generated tables: checksums, sizes and the places where the driver looks.
#include "blob/discovery.hpp"
#include "blob/firmware.hpp"
#include "blob/vbios.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace vgpu::blob {
namespace {

template <class T> T at(const std::vector<std::byte>& bytes, std::size_t offset) {
    T value{};
    std::memcpy(&value, bytes.data() + offset, sizeof value);
    return value;
}

TEST(Discovery, checksums_of_binary_and_tables_hold) {
    const auto binary = discovery_table();
    ASSERT_EQ(binary.size(), discovery_table_bytes);
    EXPECT_EQ(at<std::uint32_t>(binary, 0), 0x2821'1407U);
    const auto size = at<std::uint16_t>(binary, 10);
    EXPECT_EQ(at<std::uint16_t>(binary, 8),
              discovery_checksum(std::span(binary).subspan(10, size - 10U)));
    for (const std::size_t info : {12U, 20U}) {
        const auto offset = at<std::uint16_t>(binary, info);
        const auto bytes = at<std::uint16_t>(binary, info + 4);
        EXPECT_EQ(at<std::uint16_t>(binary, info + 2),
                  discovery_checksum(std::span(binary).subspan(offset, bytes)));
    }
    EXPECT_EQ(at<std::uint32_t>(binary, at<std::uint16_t>(binary, 12)), 0x5344'5049U);
    EXPECT_EQ(at<std::uint32_t>(binary, at<std::uint16_t>(binary, 20)), 0x4347U);
}

TEST(Discovery, first_block_is_gc_9_4_3) {
    const auto binary = discovery_table();
    const auto ip = at<std::uint16_t>(binary, 12);
    const auto die = at<std::uint16_t>(binary, ip + 16U);
    EXPECT_EQ(at<std::uint16_t>(binary, die + 4U), 11);
    EXPECT_EQ(at<std::uint8_t>(binary, die + 8U), 9);
    EXPECT_EQ(at<std::uint8_t>(binary, die + 9U), 4);
    EXPECT_EQ(at<std::uint8_t>(binary, die + 10U), 3);
    EXPECT_EQ(at<std::uint32_t>(binary, die + 12U), 0x2000U);
}

TEST(Vbios, is_an_option_rom_whose_bytes_sum_to_zero) {
    const auto rom = vbios();
    ASSERT_EQ(rom.size(), vbios_bytes);
    EXPECT_EQ(at<std::uint16_t>(rom, 0), 0xaa55);
    EXPECT_EQ(at<std::uint8_t>(rom, 3), 0xcb); // returns to the machine's firmware at once
    EXPECT_EQ(discovery_checksum(rom) & 0xff, 0);
    const auto header = at<std::uint16_t>(rom, 0x48);
    EXPECT_EQ(std::memcmp(rom.data() + header + 4, "ATOM", 4), 0);
    EXPECT_EQ(std::memcmp(rom.data() + 0x30, " 761295520", 10), 0);
}

TEST(Vbios, asic_init_ends_at_once) {
    const auto rom = vbios();
    const auto commands = at<std::uint16_t>(rom, at<std::uint16_t>(rom, 0x48) + 0x1eU);
    const auto asic_init = at<std::uint16_t>(rom, commands + 4U);
    EXPECT_EQ(at<std::uint8_t>(rom, asic_init + 6U), 0x5b);
}

// atom_smu_info_v3_1.core_refclk_10khz: 100 MHz, in which the driver tells of GPU time.
TEST(Vbios, reference_clock_is_where_the_driver_reads_it) {
    const auto rom = vbios();
    const auto tables = at<std::uint16_t>(rom, at<std::uint16_t>(rom, 0x48) + 0x20U);
    const auto smu_info = at<std::uint16_t>(rom, tables + 4U + 2U * 8U);
    EXPECT_EQ(at<std::uint32_t>(rom, smu_info + 16U), 10'000U);
}

TEST(Firmware, header_sizes_cover_the_payload) {
    for (const FirmwareFile& file : firmware_files()) {
        EXPECT_EQ(at<std::uint32_t>(file.bytes, 0), file.bytes.size()) << file.name;
        EXPECT_EQ(at<std::uint32_t>(file.bytes, 20) + at<std::uint32_t>(file.bytes, 24),
                  file.bytes.size())
            << file.name;
    }
}

} // namespace
} // namespace vgpu::blob
