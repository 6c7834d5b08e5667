// SPDX-License-Identifier: MIT
// A kernel as its descriptor describes it: COMPUTE_PGM_RSRC1-3 and the registers it starts with.
#pragma once

#include "model/isa/address_space.hpp"
#include "model/isa/isa.hpp"

#include <cstdint>

namespace vgpu {
struct RegisterDispatch;
}

namespace vgpu::sq {

struct Program {
    std::uint64_t entry = 0;
    std::uint32_t rsrc1 = 0;
    std::uint32_t rsrc2 = 0;
    std::uint32_t rsrc3 = 0;
    std::uint16_t properties = 0; // kernel_code_properties
    // Kernel arguments that start in SGPRs: dwords [6:0], first dword of the segment [15:7].
    std::uint16_t kernarg_preload = 0;
    isa::Isa isa = isa::Isa::gfx942;

    // VGPRs in all, in granules of 8; the architectural ones come first. A gfx908 has a file for
    // each kind, and as many of the one as of the other.
    unsigned vgprs() const { return ((rsrc1 & 0x3f) + 1) * 8; }
    unsigned arch_vgprs() const { return two_files() ? vgprs() / 2 : ((rsrc3 & 0x3f) + 1) * 4; }
    bool two_files() const { return isa == isa::Isa::gfx908; }
    // GRANULATED_WAVEFRONT_SGPR_COUNT is in units of 8, allocated in units of 16.
    unsigned sgprs() const { return ((rsrc1 >> 6 & 15) / 2 + 1) * 16; }
    // ENABLE_PRIVATE_SEGMENT.
    bool scratch_enabled() const { return (rsrc2 & 1) != 0; }
    // SPI writes FLAT_SCRATCH. Else the program is told where its wave's scratch is.
    bool architected_flat_scratch() const { return isa == isa::Isa::gfx942; }
    unsigned user_sgprs() const { return rsrc2 >> 1 & 31; }
    // True if x, y or z (0, 1, 2) of the workgroup id gets an SGPR.
    bool workgroup_id(unsigned dimension) const { return (rsrc2 >> (7 + dimension) & 1) != 0; }
    bool workgroup_info() const { return (rsrc2 >> 10 & 1) != 0; }
    // Highest dimension of the work-item id in v0.
    unsigned workitem_id_dimensions() const { return (rsrc2 >> 11 & 3) + 1; }

    unsigned preload_dwords() const { return kernarg_preload & 0x7f; }
    unsigned preload_offset() const { return kernarg_preload >> 7; } // in dwords

    // SGPRs behind the user SGPRs.
    unsigned system_sgprs() const;
    // Null when waves can start with it, else what is wrong or not modelled.
    const char* problem() const;
};

// Bits of kernel_code_properties, in the order of their SGPRs.
namespace property {
inline constexpr unsigned private_segment_buffer = 1U << 0;
inline constexpr unsigned dispatch_ptr = 1U << 1;
inline constexpr unsigned queue_ptr = 1U << 2;
inline constexpr unsigned kernarg_segment_ptr = 1U << 3;
inline constexpr unsigned dispatch_id = 1U << 4;
inline constexpr unsigned flat_scratch_init = 1U << 5;
inline constexpr unsigned private_segment_size = 1U << 6;
inline constexpr unsigned uses_dynamic_stack = 1U << 11; // for the runtime only
} // namespace property

// Fills the program in from the registers of a dispatch. Null, or what is wrong with them.
const char* load_program(const RegisterDispatch& registers, isa::Isa isa, Program& program);

// Reads the kernel descriptor. Null, or what is wrong; `memory_fault` tells an access failed.
const char* load_program(isa::AddressSpace& memory, unsigned vmid, std::uint64_t kernel_object,
                         isa::Isa isa, Program& program, bool& memory_fault);

} // namespace vgpu::sq
