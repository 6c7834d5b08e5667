// SPDX-License-Identifier: MIT
// The generated lists of COVERAGE.md. To bring them up to date:
// cmake --build BUILD --target update_coverage
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

namespace vgpu::test {

// The page has this table between the marks of that list. Writes it there if the environment has
// VGPU_UPDATE_COVERAGE.
inline void expect_in_coverage(const std::string& list, const std::string& table) {
    const std::string begin_mark = "<!-- " + list + ": generated, do not edit -->\n";
    const std::string end_mark = "<!-- end of " + list + " -->\n";
    std::ifstream in(VGPU_COVERAGE, std::ios::binary);
    const std::string page{std::istreambuf_iterator<char>(in), {}};
    const std::size_t mark = page.find(begin_mark);
    const std::size_t end = page.find(end_mark);
    ASSERT_NE(mark, std::string::npos) << VGPU_COVERAGE " has lost: " << begin_mark;
    ASSERT_NE(end, std::string::npos) << VGPU_COVERAGE " has lost: " << end_mark;
    const std::size_t begin = mark + begin_mark.size();
    if (std::getenv("VGPU_UPDATE_COVERAGE") != nullptr) {
        std::ofstream(VGPU_COVERAGE, std::ios::binary)
            << page.substr(0, begin) << table << page.substr(end);
        return;
    }
    EXPECT_EQ(page.substr(begin, end - begin), table)
        << "The list in COVERAGE.md is stale: build the target update_coverage and commit it.";
}

} // namespace vgpu::test
