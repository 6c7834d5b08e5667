// SPDX-License-Identifier: MIT
// The generated lists of COVERAGE.md. To bring them up to date:
// cmake --build BUILD --target update_coverage
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace vgpu::test {

// The page has this table between the marks of that list. Writes it there if the environment has
// VGPU_UPDATE_COVERAGE.
inline void expect_in_coverage(const std::string& list, const std::string& table) {
    const std::string begin_mark = "<!-- " + list + ": generated, do not edit -->\n";
    const std::string end_mark = "<!-- end of " + list + " -->\n";
    const auto path = std::filesystem::read_symlink("/proc/self/exe").parent_path() / VGPU_COVERAGE;
    std::ifstream in(path, std::ios::binary);
    const std::string page{std::istreambuf_iterator<char>(in), {}};
    const std::size_t mark = page.find(begin_mark);
    const std::size_t end = page.find(end_mark);
    ASSERT_NE(mark, std::string::npos) << path << " has lost: " << begin_mark;
    ASSERT_NE(end, std::string::npos) << path << " has lost: " << end_mark;
    const std::size_t begin = mark + begin_mark.size();
    if (std::getenv("VGPU_UPDATE_COVERAGE") != nullptr) {
        std::ofstream(path, std::ios::binary) << page.substr(0, begin) << table << page.substr(end);
        return;
    }
    EXPECT_EQ(page.substr(begin, end - begin), table)
        << "The list in COVERAGE.md is stale: build the target update_coverage and commit it.";
}

} // namespace vgpu::test
