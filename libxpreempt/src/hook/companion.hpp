// SPDX-License-Identifier: MIT
// libxpreempt in a program that isn't linked with it, when the environment asks for it.
#pragma once

namespace xpreempt::hook {

// Loads libxpreempt and lets it read its environment, once, if a variable asks for something that
// the library does by itself: XPREEMPT_CONTROL, XSCHED_AUTO_XQUEUE, XSCHED_SCHEDULER or
// XSCHED_POLICY. To be called by a thread of the program, outside of HIP: at the first call of a
// HIP function.
void load_companion();

} // namespace xpreempt::hook
