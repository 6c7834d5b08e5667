// SPDX-License-Identifier: MIT
// PCI configuration space of the GPU: identity, BARs, capabilities, and what may be written.
#include "pci/config_space.hpp"

#include <cstring>

namespace vgpu::pci {
namespace {

constexpr std::uint32_t vendor_amd = 0x1002;
constexpr std::size_t express = 0x64; // PCI Express capability
constexpr std::size_t msi = 0xa0;
constexpr std::size_t device_control = express + 8;
constexpr std::uint32_t initiate_flr = 1U << 15;
constexpr std::uint32_t memory_64_prefetchable = 0xc;

} // namespace

void ConfigSpace::set(std::size_t offset, std::uint32_t value, std::uint32_t writable,
                      std::size_t bytes) {
    std::memcpy(value_.data() + offset, &value, bytes);
    std::memcpy(writable_.data() + offset, &writable, bytes);
}

ConfigSpace::ConfigSpace(std::uint16_t device, std::uint64_t vram_bytes,
                         std::uint32_t doorbell_bytes, std::uint32_t register_bytes,
                         std::uint32_t rom_bytes) {
    const std::uint32_t identity = vendor_amd | std::uint32_t{device} << 16;
    const auto high = [](std::uint64_t size) {
        return static_cast<std::uint32_t>(~(size - 1) >> 32);
    };
    const auto low = [](std::uint64_t size) { return static_cast<std::uint32_t>(~(size - 1)); };
    set(0x00, identity, 0, 4);
    set(0x04, 0, 0x0547, 2);      // command: I/O, memory, bus master, parity, SERR, INTx disable
    set(0x06, 0x0010, 0, 2);      // status: has capabilities
    set(0x08, 0x1200'0000, 0, 4); // processing accelerator, the class amdgpu matches
    set(0x0c, 0, 0xff, 1);        // cache line size
    set(0x10, memory_64_prefetchable, low(vram_bytes), 4);
    set(0x14, 0, high(vram_bytes), 4);
    set(0x18, memory_64_prefetchable, low(doorbell_bytes), 4);
    set(0x1c, 0, high(doorbell_bytes), 4);
    set(0x24, 0, low(register_bytes), 4);
    set(0x2c, identity, 0, 4);
    set(0x30, 0, low(rom_bytes) | 1, 4);
    set(0x34, express, 0, 1);
    set(0x3c, 0x0100, 0xff, 2); // interrupt line, pin A

    set(express, 0x10 | msi << 8 | 0x0002 << 16, 0, 4); // version 2, endpoint
    set(express + 0x04, 0x1000'8fa1, 0, 4);             // FLR, extended tags, 256-byte payload
    set(device_control, 0x2810, 0x7fff, 2);
    set(express + 0x0c, 0x0040'0d05, 0, 4); // link: 32 GT/s x16
    set(express + 0x10, 0, 0x0fff, 2);
    set(express + 0x12, 0x1105, 0, 2);
    set(express + 0x24, 0x0000'0180, 0, 4); // device 2: 32 and 64-bit atomic completer
    // Atomics are on: without a root port in sight Linux takes that for the hypervisor's word
    // that they reach memory (pci_enable_atomic_ops_to_root), and HIP needs them for printf.
    set(express + 0x28, 0x0040, 0xffff, 2);
    set(express + 0x2c, 0x0000'003e, 0, 4);

    // Vendor-specific extended capability of 16 bytes: amdgpu takes its absence for a machine
    // that can't reach the extended space.
    set(0x100, 0x0001'000b | static_cast<std::uint32_t>(mailbox::offset) << 20, 0, 4);
    set(0x104, 0x0101'0000, 0, 4);

    set(mailbox::offset, 0x0001'000b, 0, 4); // last of the list
    set(mailbox::offset + 4,
        mailbox::vsec_id | mailbox::vsec_revision << 16 |
            static_cast<std::uint32_t>(mailbox::bytes) << 20,
        0, 4);
    set(mailbox::offset + mailbox::magic, 0x5550'4756, 0, 4);
    for (std::size_t at = 0; at < mailbox::request_bytes; at += 4)
        set(mailbox::offset + mailbox::request + at, 0, ~0U, 4);

    set(msi, 0x05 | 0x0080 << 16, 0x0001'0000, 4); // one vector, 64-bit address
    set(msi + 4, 0, 0xffff'fffc, 4);
    set(msi + 8, 0, 0xffff'ffff, 4);
    set(msi + 12, 0, 0xffff, 2);
}

bool ConfigSpace::read(std::uint64_t offset, std::span<std::byte> data) const {
    if (offset > config_bytes || data.size() > config_bytes - offset)
        return false;
    std::memcpy(data.data(), value_.data() + offset, data.size());
    return true;
}

bool ConfigSpace::write(std::uint64_t offset, std::span<const std::byte> data) {
    if (offset > config_bytes || data.size() > config_bytes - offset)
        return false;
    for (std::size_t i = 0; i < data.size(); ++i) {
        const std::size_t at = static_cast<std::size_t>(offset) + i;
        value_[at] = (value_[at] & ~writable_[at]) | (data[i] & writable_[at]);
        // Initiate FLR reads as zero, so it is no writable bit.
        if (at == device_control + 1 &&
            (data[i] & static_cast<std::byte>(initiate_flr >> 8)) != std::byte{0})
            reset_requested_ = true;
        if (at == mailbox::offset + mailbox::go && data[i] == std::byte{1})
            mailbox_requested_ = true;
    }
    return true;
}

std::uint64_t ConfigSpace::bar64(unsigned index) const {
    constexpr std::size_t first_bar = 0x10;
    constexpr std::uint64_t flags = 0xf;
    std::uint64_t value = 0;
    std::memcpy(&value, value_.data() + first_bar + std::size_t{index} * 4, sizeof value);
    return value & ~flags;
}

bool ConfigSpace::take_mailbox_request() {
    const bool requested = mailbox_requested_;
    mailbox_requested_ = false;
    return requested;
}

bool ConfigSpace::take_reset_request() {
    const bool requested = reset_requested_;
    reset_requested_ = false;
    return requested;
}

} // namespace vgpu::pci
