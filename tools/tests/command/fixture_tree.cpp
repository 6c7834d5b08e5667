// SPDX-License-Identifier: MIT
// A directory that looks like /sys, /proc and / do, as the command sees them.
#include "fixture_tree.hpp"

namespace test {

cli::Context FixtureTree::context() const {
    const xpreempt::kfd::Roots trees = roots();
    cli::Context context;
    context.roots = trees;
    context.kernel_release = "6.12.117+deb12-amd64";
    context.kernel_series = "6.12 7.2";
    context.daemon_socket = root() / "run/xpreemptd.sock";
    context.open_device = [device = trees.device] {
        return xpreempt::kfd::Device::open(device, xpreempt::kfd::plain_ioctl);
    };
    return context;
}

} // namespace test
