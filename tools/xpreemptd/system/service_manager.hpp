// SPDX-License-Identifier: MIT
// Messages to systemd, as sd_notify(3) and sd_watchdog_enabled(3) specify them, without libsystemd:
// each distribution has another version of it.
#pragma once

#include <chrono>
#include <string_view>

namespace xpreemptd {

// Sends a state such as "READY=1". Returns an errno; 0 also if no service manager asked for states.
// Never waits for one that does not read: EAGAIN.
int notify_service_manager(std::string_view state);

// The time after which the service manager ends the daemon if no "WATCHDOG=1" comes; 0: never.
[[nodiscard]] std::chrono::microseconds watchdog_timeout();

} // namespace xpreemptd
