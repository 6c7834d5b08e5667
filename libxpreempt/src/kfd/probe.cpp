// SPDX-License-Identifier: MIT
// Whether the loaded driver has queue preemption.
#include "kfd/probe.hpp"

#include <cerrno>

namespace xpreempt::kfd {

namespace {

// The parameters exist before /dev/kfd does, so their absence proves that the driver isn't ours.
bool runs_preemption(const LoadedModule& module) {
    return !module.preempt_abi.empty() && !module.switched_off;
}

} // namespace

Result<kfd_ioctl_preempt_query_args> query_driver(const Device& device,
                                                  const LoadedModule& module) {
    auto query = device.query(0);
    if (!query && query.error().errno_value == EINVAL && !runs_preemption(module))
        return fail(ENOTTY, Op::query);
    return query;
}

} // namespace xpreempt::kfd
