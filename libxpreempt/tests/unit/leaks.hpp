// SPDX-License-Identifier: MIT
// For LeakSanitizer, where a test leaves memory behind on purpose.
#pragma once

namespace test {

// Until the process ends: each test has one of its own.
inline bool leaks_are_meant = false;

} // namespace test
