// SPDX-License-Identifier: MIT
// The driver, open and asked what it can do.
#pragma once

#include "output/context.hpp"
#include "output/outcome.hpp"

namespace cli {

struct Driver {
    kfd::Device device;
    kfd_ioctl_preempt_query_args query;
};

// Fails if the driver lets no operator preempt queues in batches.
Outcome<Driver> connect(const Context& context);

} // namespace cli
