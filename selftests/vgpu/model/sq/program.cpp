// SPDX-License-Identifier: MIT
// Kernel descriptors. LLVM's AMDGPUUsage, "Kernel Descriptor".
#include "model/sq/program.hpp"

#include "model/sq/shader_array.hpp"

#include <array>
#include <cstring>

namespace vgpu::sq {

namespace {

template <typename T> T field(const std::array<std::byte, 64>& descriptor, std::size_t offset) {
    T value{};
    std::memcpy(&value, descriptor.data() + offset, sizeof(T));
    return value;
}

} // namespace

unsigned Program::system_sgprs() const {
    unsigned count = workgroup_info() ? 1 : 0;
    for (unsigned dimension = 0; dimension < 3; ++dimension) {
        count += workgroup_id(dimension) ? 1 : 0;
    }
    return count + (scratch_enabled() && !architected_flat_scratch() ? 1 : 0);
}

const char* Program::problem() const {
    if (arch_vgprs() > vgprs()) {
        return "kernel descriptor: ACCUM_OFFSET beyond the VGPRs";
    }
    if (sgprs() > 112) {
        return "kernel descriptor: more than 112 SGPRs";
    }
    if ((rsrc1 >> 20 & 1) != 0 || (rsrc1 >> 22 & 1) != 0) {
        return "kernel descriptor: PRIV or DEBUG_MODE set";
    }
    if ((rsrc1 >> 24 & 3) != 0 || (rsrc2 >> 31 & 1) != 0) {
        return "kernel descriptor: BULKY, CDBG_USER or SKIP_USGPR0 set";
    }
    if (isa == isa::Isa::gfx942 && (rsrc3 >> 10 & 3) != 0) {
        return "kernel descriptor: TRAP_ON_START or TRAP_ON_END set";
    }
    // Bit 13 is the exception of an address watch.
    if ((rsrc2 >> 24 & 0x7f) != 0 || (rsrc2 >> 14 & 1) != 0) {
        return "kernel descriptor: floating point or memory exceptions not modelled";
    }
    constexpr unsigned where_scratch_is =
        property::private_segment_buffer | property::flat_scratch_init;
    constexpr unsigned everywhere = property::dispatch_ptr | property::queue_ptr |
                                    property::kernarg_segment_ptr | property::dispatch_id |
                                    property::private_segment_size | property::uses_dynamic_stack;
    const unsigned modelled = everywhere | (architected_flat_scratch() ? 0 : where_scratch_is);
    if ((properties & ~modelled) != 0) {
        return "kernel descriptor: code property not modelled";
    }
    unsigned sgpr = (properties & property::private_segment_buffer) != 0 ? 4 : 0;
    for (const unsigned pair :
         {property::dispatch_ptr, property::queue_ptr, property::kernarg_segment_ptr,
          property::dispatch_id, property::flat_scratch_init}) {
        sgpr += (properties & pair) != 0 ? 2 : 0;
    }
    sgpr += (properties & property::private_segment_size) != 0 ? 1 : 0;
    sgpr += preload_dwords();
    constexpr unsigned special_sgprs = 6; // FLAT_SCRATCH, XNACK_MASK, VCC
    if (sgpr > user_sgprs() || user_sgprs() + system_sgprs() + special_sgprs > sgprs()) {
        return "kernel descriptor: user SGPRs do not fit";
    }
    return nullptr;
}

const char* load_program(const RegisterDispatch& registers, isa::Isa isa, Program& program) {
    program = {.entry = registers.entry,
               .rsrc1 = registers.rsrc1,
               .rsrc2 = registers.rsrc2,
               .rsrc3 = registers.rsrc3,
               .isa = isa};
    if (program.user_sgprs() > registers.user_data.size()) {
        return "more user SGPRs than COMPUTE_USER_DATA registers";
    }
    return program.problem();
}

const char* load_program(isa::AddressSpace& memory, unsigned vmid, std::uint64_t kernel_object,
                         isa::Isa isa, Program& program, bool& memory_fault) {
    std::array<std::byte, 64> descriptor{};
    memory_fault = !memory.read(vmid, kernel_object, descriptor.data(), descriptor.size());
    if (memory_fault) {
        return "kernel descriptor not readable";
    }
    program.isa = isa;
    program.entry = kernel_object + field<std::uint64_t>(descriptor, 16);
    program.rsrc3 = field<std::uint32_t>(descriptor, 44);
    program.rsrc1 = field<std::uint32_t>(descriptor, 48);
    program.rsrc2 = field<std::uint32_t>(descriptor, 52);
    program.properties = field<std::uint16_t>(descriptor, 56);
    program.kernarg_preload = field<std::uint16_t>(descriptor, 58);
    if (program.preload_dwords() != 0) {
        // The code begins with 256 bytes that load the arguments, for firmware that can't.
        program.entry += 256;
    }
    return program.problem();
}

} // namespace vgpu::sq
