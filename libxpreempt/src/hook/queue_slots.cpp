// SPDX-License-Identifier: MIT
// Reads the topology without the C++ library's allocations: HIP isn't up yet.
#include "hook/queue_slots.hpp"

#include "kfd/queue_slots.hpp"

#include <algorithm>
#include <cstdio>

namespace xpreempt::hook {

namespace {

constexpr unsigned most_nodes = 64;

unsigned slots_of_node(std::FILE* properties) {
    unsigned reported = 0;
    unsigned xccs = 1;
    char line[128];
    while (std::fgets(line, sizeof line, properties) != nullptr) {
        unsigned value = 0;
        if (std::sscanf(line, "num_cp_queues %u", &value) == 1)
            reported = value;
        else if (std::sscanf(line, "num_xcc %u", &value) == 1)
            xccs = value;
    }
    return kfd::usable_queue_slots(reported, xccs);
}

} // namespace

unsigned compute_slots(const char* nodes) {
    unsigned least = 0;
    for (unsigned node = 0; node < most_nodes; ++node) {
        char path[256];
        std::snprintf(path, sizeof path, "%s/%u/properties", nodes, node);
        std::FILE* file = std::fopen(path, "re");
        if (file == nullptr)
            break;
        const unsigned slots = slots_of_node(file);
        std::fclose(file);
        if (slots > 0)
            least = least == 0 ? slots : std::min(least, slots);
    }
    return least;
}

} // namespace xpreempt::hook
