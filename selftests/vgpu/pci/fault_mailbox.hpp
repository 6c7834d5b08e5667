// SPDX-License-Identifier: MIT
// A vendor-specific extended capability through which a guest program arms and disarms faults.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace vgpu::pci {

// Its place in configuration space and its registers, in bytes from the capability's start. The
// program writes the command's text and a zero behind it to `request`, then 1 to `go`; `status`
// and `response` are valid when that write is over.
namespace mailbox {
inline constexpr std::size_t offset = 0x400;
inline constexpr std::size_t bytes = 0xb00;
inline constexpr std::uint16_t vsec_id = 0x5647; // "GV"
inline constexpr std::uint32_t vsec_revision = 1;

inline constexpr std::size_t magic = 0x08; // "VGPU", so that no other device is mistaken for us
inline constexpr std::size_t go = 0x0c;
inline constexpr std::size_t status = 0x10; // 0, or an errno; response then is its text
inline constexpr std::size_t request = 0x20;
inline constexpr std::size_t request_bytes = 0x100;
inline constexpr std::size_t response = request + request_bytes;
inline constexpr std::size_t response_bytes = bytes - response;
} // namespace mailbox

struct MailboxReply {
    int errno_value = 0;
    std::string text;
};
using MailboxHandler = std::function<MailboxReply(std::string_view command)>;

// `capability` are the mailbox::bytes bytes in configuration space.
void answer_mailbox(std::span<std::byte> capability, const MailboxHandler& handler);

} // namespace vgpu::pci
