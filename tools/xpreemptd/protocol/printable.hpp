// SPDX-License-Identifier: MIT
// Foreign text for people: names of processes and cgroups, paths, words of a command line.
#pragma once

#include <string>
#include <string_view>

namespace xpreemptd {

// In each of them control bytes and bytes that are no UTF-8 become \xNN, so that the text can't
// drive a terminal, forge a line or make invalid JSON.

// A name is chosen by somebody else: \ becomes \\, so that it can't forge a \xNN.
std::string printable(std::string_view text);

// A line of a log, or a part of one: a path stays as it was given.
std::string printable_line(std::string_view text);

// A message may have several lines.
std::string printable_message(std::string_view text);

} // namespace xpreemptd
