// SPDX-License-Identifier: MIT
// Finds the memory that a CWSR area of this process is in, from its pages: no interface reports it.
#pragma once

#include "kfd/roots.hpp"
#include "kfd/save_cost.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace xpreempt::kfd {

struct SaveArea {
    Memory memory = Memory::unknown;
    std::string reason; // how it is known, or why it isn't
};

// The mapping of /proc/PID/maps that has the address.
struct Mapped {
    std::uint64_t begin = 0;
    std::uint64_t end = 0; // 0: there is none
    std::string path;      // empty: anonymous
};
Mapped mapping_of(std::string_view maps, std::uint64_t address);

// Returns which memory a CWSR area of this process is in. address, bytes: as given to
// AMDKFD_IOC_CREATE_QUEUE.
SaveArea save_area_of(const Roots& roots, std::uint64_t address, std::uint64_t bytes);

} // namespace xpreempt::kfd
