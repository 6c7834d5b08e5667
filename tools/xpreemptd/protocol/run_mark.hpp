// SPDX-License-Identifier: MIT
// The pipe that `kfd-preempt run` leaves open for its command.
#pragma once

namespace xpreemptd {

// Everything that the command starts inherits this descriptor, so the daemon finds the run of a
// process whose ancestors have ended. A run in a run uses the next number. Out of the way of
// shells and of programs with few files.
constexpr int first_run_mark = 512, most_run_marks = 4;

} // namespace xpreemptd
