// SPDX-License-Identifier: MIT
// The vfio-user wire format: messages as they arrive, parsed and refused when they are wrong.
#include "vfu/protocol.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace vgpu::vfu {
namespace {

constexpr std::uint32_t region_count = 9;
constexpr std::uint32_t irq_count = 5;
constexpr std::size_t multi_data_bytes = 8; // data field of one WRITE_MULTI record
constexpr std::size_t multi_record_bytes = 24;

Error malformed(std::string text) {
    return {EINVAL, std::move(text)};
}

Error too_short(const char* what, std::size_t have, std::size_t want) {
    return malformed(fmt::format("{} of {} bytes, want at least {}", what, have, want));
}

// Reads little-endian fields one after the other; the caller has checked the length.
class Reader {
public:
    explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}

    template <class T> T take() {
        T value{};
        std::memcpy(&value, bytes_.data(), sizeof value);
        bytes_ = bytes_.subspan(sizeof value);
        return value;
    }
    std::span<const std::byte> rest() const { return bytes_; }

private:
    std::span<const std::byte> bytes_;
};

Result<std::uint32_t> parse_index(std::span<const std::byte> body, const char* what,
                                  std::uint32_t limit) {
    if (body.size() < 16)
        return too_short(what, body.size(), 16);
    Reader reader(body);
    reader.take<std::uint32_t>(); // argsz: every reply here has one size
    reader.take<std::uint32_t>(); // flags, an output
    const auto index = reader.take<std::uint32_t>();
    if (index >= limit)
        return malformed(fmt::format("{} index {}, want less than {}", what, index, limit));
    return index;
}

Error check_access(const RegionAccess& access, const char* what) {
    if (access.region >= region_count)
        return malformed(fmt::format("{} of region {}", what, access.region));
    if (access.count == 0 || access.count > max_transfer_bytes)
        return malformed(fmt::format("{} of {} bytes", what, access.count));
    if (access.offset + access.count < access.offset)
        return malformed(fmt::format("{} at offset {:#x}", what, access.offset));
    return {};
}

RegionAccess read_access(Reader& reader) {
    RegionAccess access;
    access.offset = reader.take<std::uint64_t>();
    access.region = reader.take<std::uint32_t>();
    access.count = reader.take<std::uint32_t>();
    return access;
}

} // namespace

Result<Header> parse_header(std::span<const std::byte> bytes) {
    if (bytes.size() < sizeof(Header))
        return too_short("header", bytes.size(), sizeof(Header));
    Header header;
    std::memcpy(&header, bytes.data(), sizeof header);
    if (header.size < sizeof(Header) || header.size > max_message_bytes)
        return malformed(fmt::format("message of {} bytes, want {} to {}", header.size,
                                     sizeof(Header), max_message_bytes));
    return header;
}

Result<Version> parse_version(std::span<const std::byte> body) {
    if (body.size() < 4)
        return too_short("VERSION", body.size(), 4);
    Reader reader(body);
    Version version;
    version.major = reader.take<std::uint16_t>();
    version.minor = reader.take<std::uint16_t>();
    const auto text = reader.rest();
    const auto end = std::find(text.begin(), text.end(), std::byte{0});
    if (!text.empty() && end == text.end())
        return malformed("VERSION capabilities without a terminating NUL");
    version.capabilities.assign(reinterpret_cast<const char*>(text.data()),
                                static_cast<std::size_t>(end - text.begin()));
    if (version.major != 0)
        return Error{ENOTSUP, fmt::format("vfio-user version {}.{}, this server speaks 0.x",
                                          version.major, version.minor)};
    return version;
}

std::vector<std::byte> version_reply(std::uint16_t minor) {
    const std::string capabilities =
        fmt::format("{{\"capabilities\":{{\"max_msg_fds\":{},\"max_data_xfer_size\":{},"
                    "\"write_multiple\":true}}}}",
                    max_message_fds, max_transfer_bytes);
    std::vector<std::byte> reply(4 + capabilities.size() + 1);
    std::memcpy(reply.data() + 2, &minor, sizeof minor);
    std::memcpy(reply.data() + 4, capabilities.c_str(), capabilities.size() + 1);
    return reply;
}

Result<DmaMap> parse_dma_map(std::span<const std::byte> body) {
    if (body.size() < 32)
        return too_short("DMA_MAP", body.size(), 32);
    Reader reader(body);
    reader.take<std::uint32_t>(); // argsz
    const auto flags = reader.take<std::uint32_t>();
    DmaMap map;
    map.readable = (flags & 1) != 0;
    map.writable = (flags & 2) != 0;
    map.file_offset = reader.take<std::uint64_t>();
    map.address = reader.take<std::uint64_t>();
    map.size = reader.take<std::uint64_t>();
    if ((flags & ~3U) != 0)
        return malformed(fmt::format("DMA_MAP flags {:#x}", flags));
    if (map.size == 0 || map.address + map.size < map.address)
        return malformed(fmt::format("DMA_MAP of {:#x} bytes at {:#x}", map.size, map.address));
    return map;
}

Result<DmaUnmap> parse_dma_unmap(std::span<const std::byte> body) {
    if (body.size() < 24)
        return too_short("DMA_UNMAP", body.size(), 24);
    Reader reader(body);
    reader.take<std::uint32_t>(); // argsz
    const auto flags = reader.take<std::uint32_t>();
    DmaUnmap unmap;
    unmap.all = (flags & 2) != 0;
    unmap.address = reader.take<std::uint64_t>();
    unmap.size = reader.take<std::uint64_t>();
    if ((flags & ~2U) != 0) // bit 0 asks for a dirty bitmap: no migration here
        return Error{ENOTSUP, fmt::format("DMA_UNMAP flags {:#x}", flags)};
    return unmap;
}

Result<std::uint32_t> parse_region_info(std::span<const std::byte> body) {
    return parse_index(body, "GET_REGION_INFO", region_count);
}

Result<std::uint32_t> parse_irq_info(std::span<const std::byte> body) {
    return parse_index(body, "GET_IRQ_INFO", irq_count);
}

Result<SetIrqs> parse_set_irqs(std::span<const std::byte> body) {
    if (body.size() < 20)
        return too_short("SET_IRQS", body.size(), 20);
    Reader reader(body);
    reader.take<std::uint32_t>(); // argsz
    const auto flags = reader.take<std::uint32_t>();
    SetIrqs set;
    set.data_none = (flags & 1) != 0;
    set.data_eventfd = (flags & 4) != 0;
    set.action_trigger = (flags & 0x20) != 0;
    set.index = reader.take<std::uint32_t>();
    set.start = reader.take<std::uint32_t>();
    set.count = reader.take<std::uint32_t>();
    if (set.index >= irq_count)
        return malformed(fmt::format("SET_IRQS index {}", set.index));
    if (set.data_none && set.data_eventfd)
        return malformed(fmt::format("SET_IRQS flags {:#x}", flags));
    if (set.start > max_message_fds || set.count > max_message_fds)
        return malformed(fmt::format("SET_IRQS of {} vectors at {}", set.count, set.start));
    return set;
}

Result<RegionAccess> parse_region_read(std::span<const std::byte> body) {
    if (body.size() < 16)
        return too_short("REGION_READ", body.size(), 16);
    Reader reader(body);
    const RegionAccess access = read_access(reader);
    if (const Error error = check_access(access, "REGION_READ"); error.errno_value != 0)
        return error;
    return access;
}

Result<RegionAccess> parse_region_write(std::span<const std::byte> body) {
    if (body.size() < 16)
        return too_short("REGION_WRITE", body.size(), 16);
    Reader reader(body);
    RegionAccess access = read_access(reader);
    if (const Error error = check_access(access, "REGION_WRITE"); error.errno_value != 0)
        return error;
    if (reader.rest().size() < access.count)
        return malformed(
            fmt::format("REGION_WRITE of {} bytes carries {}", access.count, reader.rest().size()));
    access.data = reader.rest().first(access.count);
    return access;
}

Result<std::vector<RegionAccess>> parse_region_write_multi(std::span<const std::byte> body) {
    if (body.size() < 8)
        return too_short("REGION_WRITE_MULTI", body.size(), 8);
    Reader reader(body);
    const auto records = reader.take<std::uint64_t>();
    if (records > reader.rest().size() / multi_record_bytes)
        return malformed(fmt::format("REGION_WRITE_MULTI of {} records in {} bytes", records,
                                     reader.rest().size()));
    std::vector<RegionAccess> writes;
    for (std::uint64_t i = 0; i < records; ++i) {
        RegionAccess access = read_access(reader);
        if (const Error error = check_access(access, "REGION_WRITE_MULTI"); error.errno_value != 0)
            return error;
        if (access.count > multi_data_bytes)
            return malformed(fmt::format("REGION_WRITE_MULTI record of {} bytes", access.count));
        access.data = reader.rest().first(access.count);
        reader.take<std::uint64_t>();
        writes.push_back(access);
    }
    return writes;
}

} // namespace vgpu::vfu
