// SPDX-License-Identifier: MIT
// Serves one vfio-user client: takes its messages apart and lets the PCI function answer.
#pragma once

#include "vfu/connection.hpp"
#include "vfu/protocol.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace vgpu::vfu {

// The device behind the protocol. Implementations check offsets and sizes.
class Function {
public:
    virtual ~Function() = default;

    struct Region {
        std::uint64_t size = 0;
        bool writable = false;
        int map_fd = -1; // a file the client may map instead of asking, -1 for none
    };
    virtual Region region(std::uint32_t index) const = 0;
    virtual bool read(std::uint32_t region, std::uint64_t offset, std::span<std::byte> data) = 0;
    virtual bool write(std::uint32_t region, std::uint64_t offset,
                       std::span<const std::byte> data) = 0;
    virtual std::uint32_t irq_vectors(std::uint32_t index) const = 0;
    virtual void set_irq_trigger(std::uint32_t index, UniqueFd eventfd) = 0;
    virtual Result<Nothing> map_memory(const DmaMap& request, const UniqueFd& fd) = 0;
    virtual Result<Nothing> unmap_memory(const DmaUnmap& request) = 0;
    virtual void reset() = 0;
};

class Server {
public:
    Server(Connection& connection, Function& function)
        : connection_(connection), function_(function) {}

    // Receives and answers one message. False when the client has gone. A request that is
    // refused is answered with its errno; an error of the transport ends the session.
    Result<bool> serve_one();

private:
    // A reply of its own, or an errno for the client.
    struct Reply {
        std::vector<std::byte> body;
        int fd = -1;
    };
    Result<Reply> handle(Message& message);
    Result<Reply> handle_version(const Message& message);
    Result<Reply> handle_region_info(const Message& message);
    Result<Reply> handle_irq_info(const Message& message);
    Result<Reply> handle_set_irqs(Message& message);
    Result<Reply> handle_read(const Message& message);
    Result<Reply> handle_write(const Message& message);
    Result<Reply> handle_write_multi(const Message& message);

    Connection& connection_;
    Function& function_;
};

} // namespace vgpu::vfu
