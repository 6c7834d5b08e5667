// SPDX-License-Identifier: MIT
// The device's access to the guest through PCIe: memory and the interrupt.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace vgpu {

class Host {
public:
    virtual ~Host() = default;

    // Host address of guest memory [bus_address, +bytes), nullptr when it isn't (wholly) RAM.
    virtual std::byte* system_memory(std::uint64_t bus_address, std::size_t bytes) = 0;
    // Where in the doorbell BAR a bus address is, nothing when it isn't in it.
    virtual std::optional<std::uint64_t> doorbell_offset(std::uint64_t bus_address) {
        return static_cast<void>(bus_address), std::nullopt;
    }
    virtual void raise_msi() = 0;
};

} // namespace vgpu
