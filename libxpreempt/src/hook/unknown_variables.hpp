// SPDX-License-Identifier: MIT
// Variables XSCHED_* of the environment that have no effect, such as misspelled ones.
#pragma once

#include <cstddef>

namespace xpreempt::hook {

// Writes what is wrong with "NAME=VALUE" and returns true if it is a variable XSCHED_* that neither
// XSched 1.2 nor libxpreempt has. Those of XSched that libxpreempt ignores are known.
bool describe_unknown(const char* entry, char* line, std::size_t size);

// One line on standard error for each of this process. Not in a program with more rights than its
// caller.
void report_unknown_variables();

} // namespace xpreempt::hook
