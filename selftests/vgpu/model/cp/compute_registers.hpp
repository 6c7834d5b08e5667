// SPDX-License-Identifier: MIT
// The COMPUTE_* registers of one PM4 queue, and the dispatch that they describe.
#pragma once

#include "model/cp/pm4.hpp"
#include "model/gmc/memory_controller.hpp"
#include "model/sq/shader_array.hpp"
#include "registers.hpp"

#include <array>
#include <cstdint>
#include <optional>

namespace vgpu {

// COMPUTE_DISPATCH_INITIATOR + i is dword 1 + i of the MQD (struct v9_mqd of v9_structs.h): a
// queue brings its registers when it is connected, and takes them along when it leaves.
class ComputeRegisters {
public:
    static constexpr std::uint32_t first = reg::gc::COMPUTE_DISPATCH_INITIATOR;
    static constexpr std::uint32_t count = reg::gc::COMPUTE_USER_DATA_15 - first + 1;

    static constexpr bool has(std::uint32_t dword) {
        return dword >= first && dword - first < count;
    }

    void load(MemoryController& memory, std::uint64_t mqd);
    void store(MemoryController& memory, std::uint64_t mqd) const;

    // Reads the MQD of a queue that is not connected yet.
    static sq::CuMask cu_mask(MemoryController& memory, std::uint64_t mqd);
    sq::CuMask cu_mask() const;

    // For has() registers.
    std::uint32_t& operator[](std::uint32_t dword) { return values_[dword - first]; }
    std::uint32_t operator[](std::uint32_t dword) const { return values_[dword - first]; }

    // Sets the registers that the packet sets. Null, or what the model can't do.
    const char* set(const pm4::Dispatch& packet);
    // The dispatch that they describe now; nothing when it has no workgroup.
    std::optional<AqlDispatch> dispatch() const;

private:
    std::array<std::uint32_t, count> values_{};
};

} // namespace vgpu
