// SPDX-License-Identifier: MIT
// An interrupt, a termination or the end of the session: it ends this program after what it does
// just then.
#pragma once

namespace verify {

void catch_interrupts(); // a second one ends this program at once
bool interrupted();

} // namespace verify
