// SPDX-License-Identifier: MIT
// When the hook was loaded after what it interposes: the callers' address tables are changed.
#pragma once

#include <cstdint>

namespace xpreempt::hook {

// The dynamic linker binds calls to us by itself: we were preloaded, or linked before HIP.
bool bound_by_linker();

// Else: makes every caller of HIP and ROCr that is loaded now call us, and ROCm call our open() and
// ioctl(). Idempotent; objects that are loaded later need it again. Any thread.
void attach();

// KFD queues that this process had before the hook was loaded: nothing is known of them.
std::uint32_t queues_before();

} // namespace xpreempt::hook
