// SPDX-License-Identifier: MIT
// How many compute units the driver counts, and where they are.
#include "test_gpu.hpp"

#include "tables/discovery.hpp"

#include <gtest/gtest.h>

#include <bit>

namespace vgpu {
namespace {

constexpr Dies dies(4);

// As gfx_v9_4_3_get_cu_info() counts them, with engines and units of an engine from gc_info.
unsigned active_units(test::TestGpu& gpu, unsigned xcc, const ShaderEngines& shape) {
    unsigned active = 0;
    for (unsigned engine = 0; engine < shape.engines; ++engine) {
        gpu.device.write_register(reg::gc::GRBM_GFX_INDEX + dies.xcc_offset(xcc), engine << 16);
        const std::uint32_t config =
            gpu.device.read_register(reg::gc::CC_GC_SHADER_ARRAY_CONFIG + dies.xcc_offset(xcc));
        const std::uint32_t all = (1U << shape.units_in_engine) - 1;
        active += static_cast<unsigned>(std::popcount(~(config >> 16) & all));
    }
    return active;
}

class ComputeUnits : public ::testing::TestWithParam<unsigned> {};

TEST_P(ComputeUnits, are_counted_by_the_driver_in_each_XCC) {
    test::TestGpu gpu({.xccs = 4, .compute_units = GetParam()});
    for (unsigned xcc = 0; xcc < 4; ++xcc)
        EXPECT_EQ(active_units(gpu, xcc, shader_engines(GetParam())), GetParam());
}

TEST_P(ComputeUnits, are_described_by_the_discovery_table) {
    const auto table = tables::discovery_table({.xccs = 4, .compute_units = GetParam()});
    const auto word = [&table](std::size_t offset) {
        std::uint32_t value = 0;
        std::memcpy(&value, table.data() + offset, sizeof value);
        return value;
    };
    const std::size_t gc = word(12 + 8) & 0xffff; // table_list[GC].offset
    EXPECT_EQ(word(gc), 0x4347U);
    const ShaderEngines shape = shader_engines(GetParam());
    EXPECT_EQ(word(gc + 12), shape.engines);
    EXPECT_EQ(word(gc + 16), shape.units_in_engine);
}

INSTANTIATE_TEST_SUITE_P(Sizes, ComputeUnits, ::testing::Values(4U, 20U, 38U));

TEST(ShaderEngines, disable_the_last_units_of_an_engine) {
    EXPECT_EQ(shader_engines(20).disabled(0), 0x3e0U);
    EXPECT_EQ(shader_engines(38).disabled(1), 0U);
    EXPECT_EQ(shader_engines(38).disabled(2), 0x200U);
}

} // namespace
} // namespace vgpu
