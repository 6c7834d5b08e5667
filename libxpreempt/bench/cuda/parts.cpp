// SPDX-License-Identifier: MIT
// The list of parts, in the order of the report.
#include "parts.hpp"

#include <array>

namespace cuda {

namespace {

bool any(const System& system) {
    return !system.deferred;
}
bool paced(const System& system) {
    return any(system) && system.paced;
}
bool without_priority(const System& system) {
    return any(system) && !system.by_priority;
}
// A tiny kernel takes no time that a budget could be a multiple of.
bool without_kernel_time(const System& system) {
    return without_priority(system) && system.budget_commands == 0;
}
bool paced_without_kernel_time(const System& system) {
    return paced(system) && without_kernel_time(system);
}
bool only_direct(const System& system) {
    return !system.paced && !system.by_priority;
}
bool with_deferred(const System& system) {
    return system.deferred || without_kernel_time(system);
}

constexpr std::array<Part, 8> parts{{
    {"submit", with_deferred, measure_submits},
    {"drain", paced_without_kernel_time, measure_drain},
    {"wall", without_priority, measure_wall_time},
    {"suspend", paced, measure_suspends},
    {"idle", with_deferred, measure_idle_starts},
    {"foreground", any, measure_foreground},
    {"markers", only_direct, measure_markers},
    {"calls", without_kernel_time, count_driver_calls},
}};

} // namespace

std::span<const Part> all_parts() {
    return parts;
}

const Part* find_part(const std::string& name) {
    for (const Part& part : parts)
        if (name == part.name)
            return &part;
    return nullptr;
}

} // namespace cuda
