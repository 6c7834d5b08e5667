// SPDX-License-Identifier: MIT
// A directory that looks like /sys, /proc and / do, as the command sees them.
#pragma once

#include "output/context.hpp"
#include "unit/kfd_tree.hpp"

namespace test {

class FixtureTree : public KfdTree {
public:
    // No device: open_device answers ENOENT.
    [[nodiscard]] cli::Context context() const;
};

} // namespace test
