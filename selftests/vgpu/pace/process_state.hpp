// SPDX-License-Identifier: MIT
// Reads the state of a process from /proc and from its CPU clock.
#pragma once

#include "model/base/result.hpp"
#include "pace/guest_time.hpp"

#include <sys/types.h>

#include <ctime>
#include <string>

namespace vgpu::pace {

class ObservedProcess {
public:
    // Fails when the process is gone, or is in a PID namespace that we don't see.
    static Result<ObservedProcess> open(pid_t pid);

    // The states of its threads take a while to read; without them none is runnable.
    ProcessState state(bool with_threads) const;

private:
    bool any_thread_runs() const;
    ObservedProcess(pid_t pid, clockid_t cpu_clock);

    std::string tasks_; // the directory of its threads
    clockid_t cpu_clock_;
};

} // namespace vgpu::pace
