// SPDX-License-Identifier: MIT
// COVERAGE.md's lists of packets and of ignored registers are what the code says.
#include "ignored.hpp"
#include "model/cp/pm4.hpp"
#include "model/sdma/sdma_engine.hpp"
#include "tests/coverage_page.hpp"

#include <gtest/gtest.h>

#include <string>

namespace vgpu {
namespace {

std::string packet_table() {
    std::string pm4;
    std::string sdma;
    for (unsigned opcode = 0; opcode < 256; ++opcode) {
        const auto byte = static_cast<std::uint8_t>(opcode);
        // opcode_name() returns "opcode 0x12" for a packet that has no name.
        if (const std::string name = pm4::opcode_name(byte); !name.starts_with("opcode "))
            pm4 += (pm4.empty() ? "" : ", ") + name;
        if (const auto name = sdma_packet_name(byte))
            sdma += (sdma.empty() ? "" : ", ") + std::string(*name);
    }
    return "| queue | packets |\n|---|---|\n| PM4 | " + pm4 + " |\n| SDMA | " + sdma + " |\n";
}

TEST(Coverage, lists_the_packets_that_are_modelled) {
    test::expect_in_coverage("packets modelled", packet_table());
}

TEST(Coverage, lists_registers_and_fields_without_an_effect) {
    test::expect_in_coverage("registers and fields ignored", ignored_table);
}

} // namespace
} // namespace vgpu
