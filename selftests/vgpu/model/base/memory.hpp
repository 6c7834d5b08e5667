// SPDX-License-Identifier: MIT
// Memory as an engine of the GPU accesses it: translated, page by page, through one VMID.
#pragma once

#include <cstddef>
#include <cstdint>

namespace vgpu {

enum class Access : std::uint8_t { read, write, execute };

class Memory {
public:
    virtual ~Memory() = default;

    // Host address of [va, va + bytes) in the address space of `vmid`, or nullptr after a fault,
    // which has then already been recorded by the VM hub. The range must stay inside one 4 KiB
    // page. The guest's CPUs share these bytes: use std::atomic_ref where they race with them.
    virtual std::byte* translate(unsigned vmid, std::uint64_t va, std::size_t bytes,
                                 Access access) = 0;

    // Changes whenever a translation may have changed (TLB invalidation, page table base,
    // guest memory mapped or unmapped). A cached result of translate() is void from then on.
    virtual std::uint64_t epoch() const = 0;
};

} // namespace vgpu
