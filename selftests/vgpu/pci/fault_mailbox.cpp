// SPDX-License-Identifier: MIT
// A vendor-specific extended capability through which a guest program arms and disarms faults.
#include "pci/fault_mailbox.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace vgpu::pci {

void answer_mailbox(std::span<std::byte> capability, const MailboxHandler& handler) {
    const auto request = capability.subspan(mailbox::request, mailbox::request_bytes);
    const auto end = std::find(request.begin(), request.end(), std::byte{0});
    MailboxReply reply{EMSGSIZE, "the command does not end"};
    if (end != request.end())
        reply = handler({reinterpret_cast<const char*>(request.data()),
                         static_cast<std::size_t>(end - request.begin())});
    const auto status = static_cast<std::uint32_t>(reply.errno_value);
    std::memcpy(capability.data() + mailbox::status, &status, sizeof status);
    const auto response = capability.subspan(mailbox::response, mailbox::response_bytes);
    std::fill(response.begin(), response.end(), std::byte{0});
    std::memcpy(response.data(), reply.text.data(),
                std::min(reply.text.size(), response.size() - 1));
}

} // namespace vgpu::pci
