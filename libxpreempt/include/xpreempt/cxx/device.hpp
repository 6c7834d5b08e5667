// SPDX-License-Identifier: MIT
// xpreempt/device.h in C++
#pragma once

#include <xpreempt/cxx/error.hpp>

namespace xpreempt::inline v0_tl {

inline Expected<xp_probe_info> probe() {
    return detail::value_of<xp_probe_info>(xp_probe);
}

} // namespace xpreempt::inline v0_tl
