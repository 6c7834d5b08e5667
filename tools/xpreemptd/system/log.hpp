// SPDX-License-Identifier: MIT
// Lines for the journal; the first bytes of each give its level, as sd-daemon(3) has it.
#pragma once

#include <functional>
#include <string>

namespace xpreemptd {

enum class LogLevel : char { error = '3', warning = '4', notice = '5', info = '6', debug = '7' };

using Log = std::function<void(LogLevel level, const std::string& line)>;

} // namespace xpreemptd
