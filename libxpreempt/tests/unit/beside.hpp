// SPDX-License-Identifier: MIT
// Files that tests read. Their programs have only the way to these from their own directory, so
// that every clone makes the same program.
#pragma once

#include <filesystem>

namespace test {

inline std::filesystem::path beside_program(const char* way) {
    const auto program = std::filesystem::read_symlink("/proc/self/exe");
    return (program.parent_path() / way).lexically_normal();
}

} // namespace test
