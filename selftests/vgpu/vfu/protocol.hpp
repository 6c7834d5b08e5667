// SPDX-License-Identifier: MIT
// The vfio-user wire format: messages as they arrive, parsed and refused when they are wrong.
//
// Written from the specification that QEMU ships (docs/interop/vfio-user.rst). Everything that
// comes from the peer is untrusted: lengths, counts and offsets are checked before use.
#pragma once

#include "model/base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace vgpu::vfu {

enum class Command : std::uint16_t {
    version = 1,
    dma_map = 2,
    dma_unmap = 3,
    device_get_info = 4,
    device_get_region_info = 5,
    device_get_region_io_fds = 6,
    device_get_irq_info = 7,
    device_set_irqs = 8,
    region_read = 9,
    region_write = 10,
    device_reset = 13,
    region_write_multi = 15,
};

struct Header {
    std::uint16_t id = 0;
    std::uint16_t command = 0;
    std::uint32_t size = 0; // of the whole message, header included
    std::uint32_t flags = 0;
    std::uint32_t error = 0;

    bool is_command() const { return (flags & 0xf) == 0; }
    bool no_reply() const { return (flags & 0x10) != 0; }
};
static_assert(sizeof(Header) == 16);

inline constexpr std::uint32_t flag_reply = 1;
inline constexpr std::uint32_t flag_error = 1U << 5;

// Limits that the server announces in its version message, and enforces.
inline constexpr std::uint32_t max_transfer_bytes = 1U << 20;
inline constexpr std::size_t max_message_bytes = max_transfer_bytes + 4096;
inline constexpr std::size_t max_message_fds = 8;

// Refuses a message that is shorter than its header or longer than any valid one.
Result<Header> parse_header(std::span<const std::byte> bytes);

struct Version {
    std::uint16_t major = 0;
    std::uint16_t minor = 0;
    std::string capabilities; // JSON, possibly empty
};
Result<Version> parse_version(std::span<const std::byte> body);
// Body of the reply.
std::vector<std::byte> version_reply(std::uint16_t minor);

struct DmaMap {
    bool readable = false;
    bool writable = false;
    std::uint64_t file_offset = 0;
    std::uint64_t address = 0;
    std::uint64_t size = 0;
};
Result<DmaMap> parse_dma_map(std::span<const std::byte> body);

struct DmaUnmap {
    bool all = false;
    std::uint64_t address = 0;
    std::uint64_t size = 0;
};
Result<DmaUnmap> parse_dma_unmap(std::span<const std::byte> body);

// GET_REGION_INFO and GET_IRQ_INFO: the index asked for.
Result<std::uint32_t> parse_region_info(std::span<const std::byte> body);
Result<std::uint32_t> parse_irq_info(std::span<const std::byte> body);

struct SetIrqs {
    bool data_none = false;
    bool data_eventfd = false;
    bool action_trigger = false;
    std::uint32_t index = 0;
    std::uint32_t start = 0;
    std::uint32_t count = 0;
};
Result<SetIrqs> parse_set_irqs(std::span<const std::byte> body);

struct RegionAccess {
    std::uint64_t offset = 0;
    std::uint32_t region = 0;
    std::uint32_t count = 0;
    std::span<const std::byte> data; // of a write
};
Result<RegionAccess> parse_region_read(std::span<const std::byte> body);
Result<RegionAccess> parse_region_write(std::span<const std::byte> body);
Result<std::vector<RegionAccess>> parse_region_write_multi(std::span<const std::byte> body);

// Replies.
struct RegionInfo {
    std::uint32_t argsz = 32;
    std::uint32_t flags = 0; // 1 readable, 2 writable, 4 may be mapped
    std::uint32_t index = 0;
    std::uint32_t cap_offset = 0;
    std::uint64_t size = 0;
    std::uint64_t offset = 0;
};
static_assert(sizeof(RegionInfo) == 32);

struct DeviceInfo {
    std::uint32_t argsz = 16;
    std::uint32_t flags = 3; // reset supported, a PCI device
    std::uint32_t regions = 9;
    std::uint32_t irqs = 5;
};

struct IrqInfo {
    std::uint32_t argsz = 16;
    std::uint32_t flags = 0; // 1 eventfd, 8 no resize
    std::uint32_t index = 0;
    std::uint32_t count = 0;
};

} // namespace vgpu::vfu
