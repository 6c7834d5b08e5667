// SPDX-License-Identifier: MIT
// One allocation of the calling thread fails. The test's own allocator asks allocation_fails().
#pragma once

namespace test {

// Allocations of this thread before the one that fails. Below 0: none fails any more.
inline thread_local constinit int allocations_left = -1;

inline bool allocation_fails() {
    return allocations_left >= 0 && allocations_left-- == 0;
}

// Lets the allocation with that number fail, counted from 0.
class FailingAllocation {
public:
    explicit FailingAllocation(int number) { allocations_left = number; }
    ~FailingAllocation() { allocations_left = -1; }
    FailingAllocation(const FailingAllocation&) = delete;
    FailingAllocation& operator=(const FailingAllocation&) = delete;
    FailingAllocation(FailingAllocation&&) = delete;
    FailingAllocation& operator=(FailingAllocation&&) = delete;

    static bool has_failed() { return allocations_left < 0; }
};

} // namespace test
