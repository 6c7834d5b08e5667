// SPDX-License-Identifier: MIT
#pragma once

#include <thread>

namespace test {

// Not a time limit: a condition that never comes ends in the test runner's own.
template <typename Condition> void until(Condition condition) {
    while (!condition())
        std::this_thread::yield();
}

} // namespace test
