// SPDX-License-Identifier: MIT
// HIP calls that the library makes for itself.
#pragma once

namespace xpreempt::backend {

// While one lives the calling thread is never made to wait: for the library's own HIP calls.
class Ungated {
public:
    Ungated() { ++depth; }
    ~Ungated() { --depth; }
    Ungated(const Ungated&) = delete;
    Ungated& operator=(const Ungated&) = delete;

    [[nodiscard]] static bool here() { return depth > 0; }

private:
    static inline thread_local unsigned depth = 0;
};

} // namespace xpreempt::backend
