// SPDX-License-Identifier: MIT
// The COMPUTE_* registers of one PM4 queue, and the dispatch that they describe.
#include "model/cp/compute_registers.hpp"

#include "model/base/bits.hpp"

namespace vgpu {
namespace {

namespace gc = reg::gc;

constexpr std::uint64_t mqd_offset = 4; // of the first register

// COMPUTE_DISPATCH_INITIATOR.
constexpr unsigned shader_enable = 0;
constexpr unsigned partial_workgroups = 1;
constexpr unsigned force_start_at_000 = 2;
constexpr unsigned use_thread_dimensions = 5;
// These, ORDER_MODE, the invalidation of L1 (the model has no cache) and the reserved bit 12.
constexpr std::uint32_t initiator_bits = 0x1c67;

constexpr std::uint32_t lds_granule = 512;      // COMPUTE_PGM_RSRC2.LDS_SIZE
constexpr std::uint32_t scratch_granule = 1024; // COMPUTE_TMPRING_SIZE.WAVESIZE

} // namespace

void ComputeRegisters::load(MemoryController& memory, std::uint64_t mqd) {
    memory.read(0, mqd + mqd_offset, std::as_writable_bytes(std::span(values_)));
}

void ComputeRegisters::store(MemoryController& memory, std::uint64_t mqd) const {
    memory.write(0, mqd + mqd_offset, std::as_bytes(std::span(values_)));
}

sq::CuMask ComputeRegisters::cu_mask(MemoryController& memory, std::uint64_t mqd) {
    ComputeRegisters registers;
    registers.load(memory, mqd);
    return registers.cu_mask();
}

sq::CuMask ComputeRegisters::cu_mask() const {
    return {
        {(*this)[gc::COMPUTE_STATIC_THREAD_MGMT_SE0], (*this)[gc::COMPUTE_STATIC_THREAD_MGMT_SE1],
         (*this)[gc::COMPUTE_STATIC_THREAD_MGMT_SE2], (*this)[gc::COMPUTE_STATIC_THREAD_MGMT_SE3]}};
}

const char* ComputeRegisters::set(const pm4::Dispatch& packet) {
    for (std::uint32_t i = 0; i < 3; ++i)
        (*this)[gc::COMPUTE_DIM_X + i] = packet.dimensions[i];
    (*this)[gc::COMPUTE_DISPATCH_INITIATOR] = packet.initiator;
    return (packet.initiator & ~initiator_bits) != 0 ? "dispatch initiator with unknown bits"
                                                     : nullptr;
}

// COMPUTE_DIM_* is where the workgroup ids end, COMPUTE_START_* where they begin.
std::optional<AqlDispatch> ComputeRegisters::dispatch() const {
    const std::uint32_t initiator = (*this)[gc::COMPUTE_DISPATCH_INITIATOR];
    if (!bit(initiator, shader_enable))
        return std::nullopt;
    AqlDispatch dispatch;
    RegisterDispatch& direct = dispatch.registers.emplace();
    for (std::uint32_t i = 0; i < 3; ++i) {
        const std::uint32_t threads = (*this)[gc::COMPUTE_NUM_THREAD_X + i];
        const std::uint32_t full = bits(threads, 15, 0);
        const std::uint32_t partial = bits(threads, 31, 16);
        const std::uint32_t start =
            bit(initiator, force_start_at_000) ? 0 : (*this)[gc::COMPUTE_START_X + i];
        std::uint32_t end = (*this)[gc::COMPUTE_DIM_X + i];
        if (bit(initiator, use_thread_dimensions) && full != 0)
            end = end / full + (end % full != 0 ? 1 : 0);
        if (end <= start)
            return std::nullopt;
        const bool cut = bit(initiator, partial_workgroups) && partial != 0 && partial < full;
        direct.start[i] = start;
        // The sizes as an AQL packet has them.
        dispatch.packet[1 + i / 2] |= full << (i % 2 * 16);
        dispatch.packet[3 + i] = (end - start) * full - (cut ? full - partial : 0);
    }
    direct.entry = join((*this)[gc::COMPUTE_PGM_LO], (*this)[gc::COMPUTE_PGM_HI] & 0xff) << 8;
    direct.rsrc1 = (*this)[gc::COMPUTE_PGM_RSRC1];
    direct.rsrc2 = (*this)[gc::COMPUTE_PGM_RSRC2];
    direct.rsrc3 = (*this)[gc::COMPUTE_PGM_RSRC3];
    for (std::uint32_t i = 0; i < direct.user_data.size(); ++i)
        direct.user_data[i] = (*this)[gc::COMPUTE_USER_DATA_0 + i];
    const std::uint32_t ring = (*this)[gc::COMPUTE_TMPRING_SIZE];
    dispatch.scratch = {join((*this)[gc::COMPUTE_DISPATCH_SCRATCH_BASE_LO],
                             (*this)[gc::COMPUTE_DISPATCH_SCRATCH_BASE_HI] & 0xff)
                            << 8,
                        bits(ring, 11, 0), bits(ring, 24, 12) * scratch_granule};
    dispatch.packet[6] = bits(direct.rsrc2, 0, 0);
    dispatch.packet[7] = bits(direct.rsrc2, 23, 15) * lds_granule;
    dispatch.packet_index = (*this)[gc::COMPUTE_DISPATCH_ID];
    return dispatch;
}

} // namespace vgpu
