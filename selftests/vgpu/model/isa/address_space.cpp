// SPDX-License-Identifier: MIT
// Accesses that span pages.
#include "model/isa/address_space.hpp"

#include <algorithm>

namespace vgpu::isa {

bool AddressSpace::read(unsigned vmid, std::uint64_t va, void* to, std::size_t bytes) {
    auto* destination = static_cast<std::byte*>(to);
    while (bytes > 0) {
        const std::size_t chunk = std::min<std::size_t>(bytes, page_bytes - va % page_bytes);
        const std::byte* host = at(vmid, va, chunk, Access::read);
        if (host == nullptr) {
            return false;
        }
        std::memcpy(destination, host, chunk);
        destination += chunk;
        va += chunk;
        bytes -= chunk;
    }
    return true;
}

bool AddressSpace::write(unsigned vmid, std::uint64_t va, const void* from, std::size_t bytes) {
    const auto* source = static_cast<const std::byte*>(from);
    while (bytes > 0) {
        const std::size_t chunk = std::min<std::size_t>(bytes, page_bytes - va % page_bytes);
        std::byte* host = at(vmid, va, chunk, Access::write);
        if (host == nullptr) {
            return false;
        }
        std::memcpy(host, source, chunk);
        source += chunk;
        va += chunk;
        bytes -= chunk;
    }
    return true;
}

} // namespace vgpu::isa
