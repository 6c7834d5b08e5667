// SPDX-License-Identifier: MIT
#pragma once

#include <cstdio>

// NOLINTNEXTLINE(cppcoreguidelines-pro-type-vararg): as XSched's
#define XWARN(format, ...) std::fprintf(stderr, "WARN " format "\n" __VA_OPT__(, ) __VA_ARGS__)
