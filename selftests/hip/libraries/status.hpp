// SPDX-License-Identifier: MIT
// Calls of libraries whose status is an enumeration with 0 for success, and has no text.
#pragma once

#include "../check.hpp"

namespace test {

template <typename Status>
void must_succeed(Status status, const char* call, const char* file, int line) {
    if (static_cast<int>(status) != 0)
        die(2, "%s:%d: %s: status %d", file, line, call, static_cast<int>(status));
}
#define MUST(call) test::must_succeed((call), #call, __FILE__, __LINE__)

} // namespace test
