// SPDX-License-Identifier: MIT
// Words for the numbers of kfd_preempt.h, and how things are written for people.
#pragma once

#include "xpreemptd/protocol/printable.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cli {

std::string state_name(std::uint32_t state);
std::string sched_mode_name(std::uint32_t sched_mode);

// One word for each bit that is set; unknown bits as one hexadecimal number.
std::vector<std::string> hold_names(std::uint32_t holds);
std::vector<std::string> status_names(std::uint32_t status);
std::vector<std::string> cap_names(std::uint64_t caps);
std::vector<std::string> degraded_names(std::uint32_t degraded);
std::vector<std::string> preempt_type_names(std::uint32_t type_mask);

// "a b c", or a dash for none.
std::string words_or_dash(const std::vector<std::string>& words);

std::string errno_name(int errno_value);

// 950 ns, 1.23 us, 45.6 ms, 7.89 s.
std::string duration_text(std::uint64_t ns);

// 512 B, 64 KiB, 1 MiB; a size that is no whole number of a unit stays in the smaller one.
std::string size_text(std::uint64_t bytes);

// The same in three digits: 1.5 GiB, 812 MiB.
std::string rounded_size_text(std::uint64_t bytes);

using xpreemptd::printable;
using xpreemptd::printable_message;

} // namespace cli
