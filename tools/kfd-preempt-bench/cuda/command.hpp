// SPDX-License-Identifier: MIT
// kfd-preempt-bench cuda: libxpreempt on an NVIDIA GPU, over a stand-in for HIP.
#pragma once

namespace cuda_report {

// argv[0] is "cuda". Returns the exit status.
int run_command(int argc, char** argv);

} // namespace cuda_report
