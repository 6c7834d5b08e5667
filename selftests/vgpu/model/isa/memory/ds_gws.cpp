// SPDX-License-Identifier: MIT
// DS: global wave sync. The instruction names an operation and a resource; what they do to the
// resource and to the waves that wait at it is in sq/global_wave_sync.hpp.
#include "model/isa/memory/ds.hpp"

#include <bit>

namespace vgpu::isa {

namespace {

// The resource is M0[21:16] + offset0[5:0], from the first one of the VMID. LLVM,
// AMDGPUInstructionSelector: guides that leave out either summand are wrong.
constexpr std::uint32_t resource_mask = 0x3f;

template <GwsOperation operation, bool has_value> void sync(Execution& e) {
    const DsInstruction i(e);
    // LLVM, SIInstrInfo::hasUnwantedEffectsWhenEXECEmpty: it may hang the hardware.
    if (e.wave.exec == 0) {
        e.illegal("GWS operation with an empty EXEC");
        return;
    }
    std::uint32_t value = 0;
    if constexpr (has_value) {
        const Words* lanes = data_lanes(e, i.address, i.acc);
        if (lanes == nullptr) {
            return;
        }
        value = (*lanes)[static_cast<unsigned>(std::countr_zero(e.wave.exec))];
    }
    const std::uint32_t resource = ((e.wave.m0 >> 16) + i.offset0) & resource_mask;
    e.gws = {value, static_cast<std::uint16_t>(resource), operation};
    e.outcome = Outcome::gws;
}

constexpr std::array ops{
    ScalarOp{152, "ds_gws_sema_release_all", sync<GwsOperation::release_all, false>},
    ScalarOp{153, "ds_gws_init", sync<GwsOperation::init, true>},
    ScalarOp{154, "ds_gws_sema_v", sync<GwsOperation::signal, false>},
    ScalarOp{155, "ds_gws_sema_br", sync<GwsOperation::signal_many, true>},
    ScalarOp{156, "ds_gws_sema_p", sync<GwsOperation::wait, false>},
    ScalarOp{157, "ds_gws_barrier", sync<GwsOperation::barrier, true>},
};

} // namespace

std::span<const ScalarOp> ds_gws_ops() {
    return ops;
}

} // namespace vgpu::isa
