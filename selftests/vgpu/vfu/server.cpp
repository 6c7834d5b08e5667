// SPDX-License-Identifier: MIT
// Serves one vfio-user client: takes its messages apart and lets the PCI function answer.
#include "vfu/server.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

namespace vgpu::vfu {
namespace {

template <class T> std::vector<std::byte> bytes_of(const T& value) {
    std::vector<std::byte> bytes(sizeof value);
    std::memcpy(bytes.data(), &value, sizeof value);
    return bytes;
}

// The first part of the request, as most replies begin.
std::vector<std::byte> echo(const Message& message, std::size_t bytes) {
    return {message.body.begin(), message.body.begin() + static_cast<std::ptrdiff_t>(bytes)};
}

} // namespace

Result<bool> Server::serve_one() {
    auto received = connection_.receive();
    if (!received)
        return received.error();
    if (!received->has_value())
        return false;
    Message& message = **received;
    if (!message.header.is_command())
        return true; // a reply: the server sends no requests, so it belongs to none
    const auto reply = handle(message);
    if (message.header.no_reply())
        return true;
    const auto sent = reply ? connection_.reply(message.header, reply->body, reply->fd)
                            : connection_.reply_error(message.header, reply.error().errno_value);
    if (!sent)
        return sent.error();
    return true;
}

Result<Server::Reply> Server::handle(Message& message) {
    switch (static_cast<Command>(message.header.command)) {
    case Command::version: return handle_version(message);
    case Command::device_get_info: return Reply{bytes_of(DeviceInfo{})};
    case Command::device_get_region_info: return handle_region_info(message);
    case Command::device_get_irq_info: return handle_irq_info(message);
    case Command::device_set_irqs: return handle_set_irqs(message);
    case Command::region_read: return handle_read(message);
    case Command::region_write: return handle_write(message);
    case Command::region_write_multi: return handle_write_multi(message);
    case Command::device_reset: function_.reset(); return Reply{};
    case Command::dma_map: {
        const auto request = parse_dma_map(message.body);
        if (!request)
            return request.error();
        const auto done = function_.map_memory(
            *request, message.fds.empty() ? UniqueFd() : std::move(message.fds.front()));
        return done ? Result<Reply>(Reply{}) : Result<Reply>(done.error());
    }
    case Command::dma_unmap: {
        const auto request = parse_dma_unmap(message.body);
        if (!request)
            return request.error();
        const auto done = function_.unmap_memory(*request);
        return done ? Result<Reply>(Reply{echo(message, 24)}) : Result<Reply>(done.error());
    }
    default: return Error{ENOTSUP, fmt::format("command {}", message.header.command)};
    }
}

Result<Server::Reply> Server::handle_version(const Message& message) {
    const auto version = parse_version(message.body);
    if (!version)
        return version.error();
    return Reply{version_reply(version->minor)};
}

Result<Server::Reply> Server::handle_region_info(const Message& message) {
    const auto index = parse_region_info(message.body);
    if (!index)
        return index.error();
    const Function::Region region = function_.region(*index);
    RegionInfo info;
    info.index = *index;
    info.size = region.size;
    if (region.size != 0)
        info.flags = 1U | (region.writable ? 2U : 0U) | (region.map_fd >= 0 ? 4U : 0U);
    return Reply{bytes_of(info), region.map_fd};
}

Result<Server::Reply> Server::handle_irq_info(const Message& message) {
    const auto index = parse_irq_info(message.body);
    if (!index)
        return index.error();
    IrqInfo info;
    info.index = *index;
    info.count = function_.irq_vectors(*index);
    if (info.count != 0)
        info.flags = 1U | 8U;
    return Reply{bytes_of(info)};
}

Result<Server::Reply> Server::handle_set_irqs(Message& message) {
    const auto request = parse_set_irqs(message.body);
    if (!request)
        return request.error();
    if (!request->action_trigger || request->index >= 2)
        return Reply{}; // masking is done by QEMU; no other kind of interrupt exists
    if (request->data_eventfd && !message.fds.empty())
        function_.set_irq_trigger(request->index, std::move(message.fds.front()));
    else if (request->data_none && request->count == 0)
        function_.set_irq_trigger(request->index, UniqueFd());
    return Reply{};
}

Result<Server::Reply> Server::handle_read(const Message& message) {
    const auto access = parse_region_read(message.body);
    if (!access)
        return access.error();
    Reply reply{echo(message, 16)};
    reply.body.resize(16 + access->count);
    if (!function_.read(access->region, access->offset, std::span(reply.body).subspan(16)))
        return Error{EINVAL, fmt::format("read of {} bytes at {:#x} of region {}", access->count,
                                         access->offset, access->region)};
    return reply;
}

Result<Server::Reply> Server::handle_write(const Message& message) {
    const auto access = parse_region_write(message.body);
    if (!access)
        return access.error();
    if (!function_.write(access->region, access->offset, access->data))
        return Error{EINVAL, fmt::format("write of {} bytes at {:#x} of region {}", access->count,
                                         access->offset, access->region)};
    return Reply{echo(message, 16)};
}

Result<Server::Reply> Server::handle_write_multi(const Message& message) {
    const auto writes = parse_region_write_multi(message.body);
    if (!writes)
        return writes.error();
    for (const RegionAccess& access : *writes)
        if (!function_.write(access.region, access.offset, access.data))
            return Error{EINVAL, fmt::format("write of {} bytes at {:#x} of region {}",
                                             access.count, access.offset, access.region)};
    return Reply{echo(message, 8)};
}

} // namespace vgpu::vfu
