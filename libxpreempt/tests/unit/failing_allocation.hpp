// SPDX-License-Identifier: MIT
// One allocation of the calling thread fails, or all from that one on; or another call is made in
// one. The test's own allocator asks allocation_fails().
#pragma once

#include <functional>
#include <utility>

namespace test {

// Allocations of this thread before the one that fails. Below 0: none fails any more.
inline thread_local constinit int allocations_left = -1;
inline thread_local constinit bool all_fail = false; // and all after it
inline thread_local constinit bool has_failed = false;

// Makes a call in the allocation with that number, counted from 0.
class CallInAllocation {
public:
    CallInAllocation(int number, std::function<void()> call)
        : left_(number), call_(std::move(call)) {
        here = this;
    }
    ~CallInAllocation() { here = nullptr; }
    CallInAllocation(const CallInAllocation&) = delete;
    CallInAllocation& operator=(const CallInAllocation&) = delete;
    CallInAllocation(CallInAllocation&&) = delete;
    CallInAllocation& operator=(CallInAllocation&&) = delete;

    static void count() {
        if (here != nullptr && here->left_-- == 0)
            std::exchange(here, nullptr)->call_();
    }

private:
    static inline thread_local constinit CallInAllocation* here = nullptr;
    int left_;
    const std::function<void()> call_;
};

inline bool allocation_fails() {
    CallInAllocation::count();
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
