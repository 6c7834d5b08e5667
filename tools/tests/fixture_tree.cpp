// SPDX-License-Identifier: MIT
// A directory that looks like /sys, /proc and / do, as the command sees them.
#include "fixture_tree.hpp"

namespace test {

cli::Context FixtureTree::context() const {
    const xpreempt::kfd::Roots trees = roots();
    return {trees, "6.12.117+deb12-amd64", "6.1 6.12", [device = trees.device] {
                return xpreempt::kfd::Device::open(device, xpreempt::kfd::plain_ioctl);
            }};
}

} // namespace test
