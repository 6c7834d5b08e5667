// SPDX-License-Identifier: MIT
// One allocation of the calling thread fails, or all from that one on. The test's own allocator
// asks allocation_fails().
#pragma once

namespace test {

// Allocations of this thread before the one that fails. Below 0: none fails any more.
inline thread_local constinit int allocations_left = -1;
inline thread_local constinit bool all_fail = false; // and all after it
inline thread_local constinit bool has_failed = false;

inline bool allocation_fails() {
    if (allocations_left < 0)
        return false;
    const bool fails = allocations_left == 0;
    has_failed |= fails;
    if (!fails || !all_fail)
        --allocations_left;
    return fails;
}

// Lets the allocation with that number fail, counted from 0.
class FailingAllocation {
public:
    explicit FailingAllocation(int number, bool all_after = false) {
        test::has_failed = false;
        all_fail = all_after;
        allocations_left = number;
    }
    ~FailingAllocation() {
        allocations_left = -1;
        all_fail = false;
    }
    FailingAllocation(const FailingAllocation&) = delete;
    FailingAllocation& operator=(const FailingAllocation&) = delete;
    FailingAllocation(FailingAllocation&&) = delete;
    FailingAllocation& operator=(FailingAllocation&&) = delete;

    static bool has_failed() { return test::has_failed; }
};

} // namespace test
