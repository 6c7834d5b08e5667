// SPDX-License-Identifier: MIT
// Generated tables: checksums, sizes and the places where the driver looks.
#include "tables/discovery.hpp"
#include "tables/firmware.hpp"
#include "tables/vbios.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <ostream>
#include <span>
#include <vector>

namespace vgpu::tables {
namespace {

using ::testing::ElementsAre;

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
    for (const std::size_t info : {12U, 20U, 28U}) {
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

// One instance of an IP block.
struct Instance {
    unsigned number;
    std::uint32_t base; // the first one
    bool operator==(const Instance&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Instance& instance) {
    return out << instance.number << " at 0x" << std::hex << instance.base << std::dec;
}

// Blocks of the first die: hardware id, instance, number of bases, version, bases.
std::vector<Instance> places(unsigned xccs, std::uint16_t hardware_id) {
    const auto binary = discovery_table({.xccs = xccs});
    const std::size_t die = at<std::uint16_t>(binary, at<std::uint16_t>(binary, 12) + 16U);
    std::vector<Instance> found;
    std::size_t block = die + 4;
    for (unsigned i = 0; i < at<std::uint16_t>(binary, die + 2); ++i) {
        if (at<std::uint16_t>(binary, block) == hardware_id)
            found.push_back(
                {at<std::uint8_t>(binary, block + 2), at<std::uint32_t>(binary, block + 8)});
        block += 8 + 4U * at<std::uint8_t>(binary, block + 3);
    }
    return found;
}

// The driver's way to them: table 2 of the binary, at most 32 entries, up to one of hardware id 0.
bool is_harvested(unsigned xccs, std::uint16_t hardware_id, unsigned instance) {
    const auto binary = discovery_table({.xccs = xccs});
    const std::size_t table = at<std::uint16_t>(binary, 28);
    EXPECT_EQ(at<std::uint32_t>(binary, table), 0x5652'4148U);
    for (unsigned i = 0; i < 32; ++i) {
        const std::size_t entry = table + 8 + 4U * i;
        if (at<std::uint16_t>(binary, entry) == 0)
            return false;
        if (at<std::uint16_t>(binary, entry) == hardware_id &&
            at<std::uint8_t>(binary, entry + 2) == instance)
            return true;
    }
    return false;
}

std::vector<Instance> instances(unsigned xccs, std::uint16_t hardware_id) {
    auto found = places(xccs, hardware_id);
    std::erase_if(found, [&](const Instance& place) {
        return is_harvested(xccs, hardware_id, place.number);
    });
    return found;
}

constexpr std::uint16_t gc = 11;
constexpr std::uint16_t mmhub = 34;
constexpr std::uint16_t sdma = 42;
constexpr std::uint16_t nbif = 108;

// SDMA engines and XCCs as the register dump of a MI308X has them.
TEST(Discovery, four_xccs_are_those_of_a_mi308x) {
    EXPECT_THAT(instances(4, sdma),
                ElementsAre(Instance{0, 0x1260}, Instance{1, 0x1860}, Instance{6, 0x39400},
                            Instance{7, 0x39800}, Instance{8, 0x41260}, Instance{9, 0x41860},
                            Instance{14, 0x79400}, Instance{15, 0x79800}));
    EXPECT_THAT(instances(4, gc), ElementsAre(Instance{0, 0x2000}, Instance{3, 0x32000},
                                              Instance{4, 0x42000}, Instance{7, 0x72000}));
    EXPECT_THAT(instances(4, mmhub), ElementsAre(Instance{0, 0x1a000}, Instance{1, 0x3a000},
                                                 Instance{2, 0x5a000}, Instance{3, 0x7a000}));
    EXPECT_EQ(instances(4, nbif).size(), 4U);
}

TEST(Discovery, one_xcc_has_one_aid) {
    EXPECT_THAT(instances(1, sdma), ElementsAre(Instance{0, 0x1260}, Instance{1, 0x1860}));
    EXPECT_THAT(instances(1, gc), ElementsAre(Instance{0, 0x2000}));
    EXPECT_EQ(instances(1, mmhub).size(), 1U);
    EXPECT_EQ(instances(1, nbif).size(), 1U);
}

// ROCm's 6.12.12 writes SQ_CONFIG1 of XCC 1 to place 1, on a MI308X, too.
TEST(Discovery, places_without_a_die_are_listed_and_harvested) {
    EXPECT_EQ(places(4, gc).size(), 8U);
    EXPECT_EQ(places(4, sdma).size(), 16U);
    EXPECT_TRUE(is_harvested(4, gc, 1));
    EXPECT_TRUE(is_harvested(4, sdma, 2));
    EXPECT_FALSE(is_harvested(8, gc, 1));
    EXPECT_EQ(places(1, gc).size(), 2U);
}

TEST(Discovery, eight_xccs_have_sixteen_engines_on_four_aids) {
    EXPECT_EQ(instances(8, gc).size(), 8U);
    const auto engines = instances(8, sdma);
    ASSERT_EQ(engines.size(), 16U);
    for (unsigned i = 0; i < engines.size(); ++i)
        EXPECT_EQ(engines[i].number, i);
    EXPECT_EQ(instances(8, mmhub).size(), 4U);
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
} // namespace vgpu::tables
