// SPDX-License-Identifier: MIT
// PCI configuration space of the GPU: identity, BARs, capabilities, and what may be written.
#pragma once

#include "pci/fault_mailbox.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace vgpu::pci {

inline constexpr std::size_t config_bytes = 4096;

class ConfigSpace {
public:
    // Sizes must be powers of two.
    ConfigSpace(std::uint16_t device, std::uint64_t vram_bytes, std::uint32_t doorbell_bytes,
                std::uint32_t register_bytes, std::uint32_t rom_bytes);

    bool read(std::uint64_t offset, std::span<std::byte> data) const;
    // Read-only bits keep their value. False outside the space.
    bool write(std::uint64_t offset, std::span<const std::byte> data);

    // Bus address of a 64-bit BAR, 0 while it has none.
    std::uint64_t bar64(unsigned index) const;

    // True once after a write that initiated a function level reset.
    bool take_reset_request();
    // True once after a write that asked for the command in the fault mailbox to be run.
    bool take_mailbox_request();
    std::span<std::byte> mailbox() {
        return std::span(value_).subspan(mailbox::offset, mailbox::bytes);
    }

private:
    void set(std::size_t offset, std::uint32_t value, std::uint32_t writable, std::size_t bytes);

    std::array<std::byte, config_bytes> value_{};
    std::array<std::byte, config_bytes> writable_{}; // bits that a write changes
    bool reset_requested_ = false;
    bool mailbox_requested_ = false;
};

} // namespace vgpu::pci
