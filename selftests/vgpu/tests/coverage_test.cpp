// SPDX-License-Identifier: MIT
// COVERAGE.md's list of packets is what the code says.
#include "model/cp/pm4.hpp"
#include "model/sdma/sdma_engine.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

namespace vgpu {
namespace {

const std::string begin_mark = "<!-- packets modelled: generated, do not edit -->\n";
const std::string end_mark = "<!-- end of packets modelled -->\n";

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

// To bring COVERAGE.md up to date: cmake --build BUILD --target update_coverage
TEST(Coverage, lists_the_packets_that_are_modelled) {
    std::ifstream in(VGPU_COVERAGE, std::ios::binary);
    const std::string page{std::istreambuf_iterator<char>(in), {}};
    const std::size_t begin = page.find(begin_mark);
    const std::size_t end = page.find(end_mark);
    ASSERT_NE(begin, std::string::npos) << VGPU_COVERAGE " has lost: " << begin_mark;
    ASSERT_NE(end, std::string::npos) << VGPU_COVERAGE " has lost: " << end_mark;
    const std::size_t list = begin + begin_mark.size();
    const std::string table = packet_table();
    if (std::getenv("VGPU_UPDATE_COVERAGE") != nullptr) {
        std::ofstream(VGPU_COVERAGE, std::ios::binary)
            << page.substr(0, list) << table << page.substr(end);
        return;
    }
    EXPECT_EQ(page.substr(list, end - list), table)
        << "The list in COVERAGE.md is stale: build the target update_coverage and commit it.";
}

} // namespace
} // namespace vgpu
