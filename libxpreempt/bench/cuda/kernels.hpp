// SPDX-License-Identifier: MIT
// The benchmark's kernels, as PTX that the driver assembles at run time.
#pragma once

namespace cuda {

// tiny()                          returns at once
// spin(ns)                        each thread runs for that time of %globaltimer
// stamp(ns, times, progress, number, arrivals)
//                                 each block runs as spin(); the last one writes its start and the
//                                 kernel's end to times[0] and times[1], and number to *progress.
//                                 arrivals is a zero word in device memory, of the stream alone
// answer(mailbox, times)          for each round from 1 on waits until *mailbox is the round, then
//                                 writes %globaltimer to times[0] and the round to times[1]; ends
//                                 when *mailbox is end_of_answers
//
// times, progress and mailbox are mapped host memory.
extern const char* const kernel_text;

constexpr unsigned end_of_answers = 0xffffffff;

} // namespace cuda
