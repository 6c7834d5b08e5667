// SPDX-License-Identifier: MIT
// What the fake driver was told, for tests to look at.
#pragma once

#include <cstdint>

namespace fake {

struct Queue {
    std::uint32_t percentage;
    std::uint32_t priority;
    std::uint64_t ring_base;
    bool held; // by PREEMPT_QUEUE
    std::uint32_t preempts;
    std::uint32_t updates;
};

struct Driver {
    bool patched; // set before the library's first call
    Queue queues[64];
};

} // namespace fake

extern "C" fake::Driver* fake_driver();
