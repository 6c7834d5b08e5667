// SPDX-License-Identifier: MIT
// The state waves start with. LLVM's AMDGPUUsage, "Initial Kernel Execution State".
#include "model/sq/wave.hpp"

#include <algorithm>

namespace vgpu::sq {

namespace {

// SQ granularity of LDS_ALLOC.LDS_SIZE: 64 dwords.
constexpr unsigned lds_granule = 256;

// EXCP_EN of COMPUTE_PGM_RSRC2, with its upper two bits in EXCP_EN_MSB, and what a debugger adds or
// puts in its place: EXCP_EN [12:4] and EXCP_REPLACE of SPI_GDBG_PER_VMID_CNTL.
std::uint32_t exceptions(std::uint32_t rsrc2, std::uint32_t debug_control) {
    const std::uint32_t own = (rsrc2 >> 24 & 0x7f) | (rsrc2 >> 13 & 3) << 7;
    const std::uint32_t others = debug_control >> 4 & 0x1ff;
    const bool replace = (debug_control >> 13 & 1) != 0;
    return replace ? others : own | others;
}

// SQ_WAVE_GPR_ALLOC: VGPR_SIZE is elsewhere where the offset of AccVGPRs isn't.
std::uint32_t gpr_alloc(const Program& program) {
    const std::uint32_t vgprs = program.vgprs() / 8 - 1;
    return (program.two_files() ? vgprs << 8 : vgprs << 6 | (program.arch_vgprs() / 4 - 1) << 12) |
           (program.sgprs() / 16 - 1) << 24;
}

void allocate_registers(Wave& wave, const Dispatch& dispatch, const LaunchSite& site) {
    const Program& program = dispatch.program;
    isa::WaveState& state = wave.state;
    state = isa::WaveState{};
    state.isa = program.isa;
    state.vgpr.resize(program.vgprs());
    state.arch_vgprs = program.arch_vgprs();
    state.sgpr.resize(program.sgprs());
    state.lds = wave.group->lds;
    state.vmid = site.queue->vmid;
    state.tba = site.queue->tba & 0xffff'ffff'ffffULL;
    state.tma = site.queue->tma & 0xffff'ffff'ffffULL;
    state.sh_mem_bases = site.queue->sh_mem_bases;
    state.xcc_id = site.queue->xcc;
    state.gpr_alloc = gpr_alloc(program);
    state.lds_alloc = dispatch.lds_bytes / lds_granule << 12;
    state.hw_id = wave.slot.index | wave.slot.simd << 4 |
                  (site.compute_unit / site.shader_engines & 15) << 8 |
                  (site.compute_unit % site.shader_engines & 3) << 13 |
                  (site.queue->vmid & 15) << 20 | (site.queue->slot & 7) << 24;
    // FLOAT_MODE, DX10_CLAMP, IEEE_MODE and FP16_OVFL of COMPUTE_PGM_RSRC1.
    state.mode = (program.rsrc1 >> 12 & 0xff) | (program.rsrc1 >> 21 & 1) << 8 |
                 (program.rsrc1 >> 23 & 1) << 9 | (program.rsrc1 >> 26 & 1) << 23;
    state.mode |= exceptions(program.rsrc2, site.queue->debug_control) << isa::mode::excp_en_shift;
    const bool many_waves = wave.group->waves.size() > 1;
    state.status = isa::status::valid | (many_waves ? isa::status::in_tg : 0) |
                   (state.tba != 0 ? isa::status::trap_en : 0);
}

// Hands out SGPRs in order.
class SgprWriter {
public:
    explicit SgprWriter(std::vector<std::uint32_t>& sgpr) : sgpr_(sgpr) {}
    void word(std::uint32_t value) { sgpr_.at(next_++) = value; }
    void pair(std::uint64_t value) {
        word(static_cast<std::uint32_t>(value));
        word(static_cast<std::uint32_t>(value >> 32));
    }
    void skip_to(unsigned index) { next_ = index; }

private:
    std::vector<std::uint32_t>& sgpr_;
    unsigned next_ = 0;
};

void init_sgprs(Wave& wave, const Dispatch& dispatch, const Coordinates& at) {
    const Program& program = dispatch.program;
    const AqlDispatch& aql = dispatch.aql;
    const auto wants = [&](unsigned bit) { return (program.properties & bit) != 0; };
    SgprWriter out(wave.state.sgpr);
    if (wants(property::private_segment_buffer)) {
        for (const std::uint32_t part : aql.scratch.resource) {
            out.word(part);
        }
    }
    if (aql.registers) {
        for (unsigned i = 0; i < program.user_sgprs(); ++i) {
            out.word(aql.registers->user_data.at(i));
        }
    }
    if (wants(property::dispatch_ptr)) {
        out.pair(aql.packet_va);
    }
    if (wants(property::queue_ptr)) {
        out.pair(aql.amd_queue_va);
    }
    if (wants(property::kernarg_segment_ptr)) {
        out.pair(dispatch.kernarg_address());
    }
    if (wants(property::dispatch_id)) {
        out.pair(aql.packet_index);
    }
    if (wants(property::flat_scratch_init)) {
        out.pair(aql.scratch.base);
    }
    if (wants(property::private_segment_size)) {
        out.word(aql.packet[6]);
    }
    for (const std::uint32_t argument : dispatch.preloaded) {
        out.word(argument);
    }
    out.skip_to(program.user_sgprs());
    for (unsigned dimension = 0; dimension < 3; ++dimension) {
        if (program.workgroup_id(dimension)) {
            const Coordinates start = aql.registers ? aql.registers->start : Coordinates{};
            out.word(start.at(dimension) + at.at(dimension));
        }
    }
    if (program.workgroup_info()) {
        // {first wave, 14'b0, ordered append term, wave count of the workgroup}
        const unsigned waves = dispatch.geometry.waves_at(at);
        out.word((wave.index == 0 ? 1U << 31 : 0) | waves);
    }
    if (program.scratch_enabled() && !program.architected_flat_scratch()) {
        out.word(wave.scratch_slot.value_or(0) * aql.scratch.wave_bytes);
    }
}

// Architected flat scratch: SPI points FLAT_SCRATCH to the wave's part of the ring.
void init_flat_scratch(Wave& wave, const Dispatch& dispatch) {
    if (!wave.scratch_slot || !dispatch.program.architected_flat_scratch()) {
        return;
    }
    const ScratchRing& ring = dispatch.aql.scratch;
    const std::uint64_t base = ring.base + std::uint64_t{*wave.scratch_slot} * ring.wave_bytes;
    std::vector<std::uint32_t>& sgpr = wave.state.sgpr;
    sgpr.at(sgpr.size() - 6) = static_cast<std::uint32_t>(base);
    sgpr.at(sgpr.size() - 5) = static_cast<std::uint32_t>(base >> 32);
}

// Into v0: x | y << 10 | z << 20. A gfx908 has them in v0, v1 and v2.
void init_vgprs(Wave& wave, const Dispatch& dispatch, const Coordinates& size) {
    const unsigned dimensions = dispatch.program.workitem_id_dimensions();
    for (unsigned lane = 0; lane < isa::lane_count; ++lane) {
        const Coordinates id = work_item(size, wave.index, lane);
        if (dispatch.program.two_files()) {
            for (unsigned i = 0; i < dimensions; ++i) {
                wave.state.vgpr[i].lane[lane] = id[i];
            }
            continue;
        }
        wave.state.vgpr[0].lane[lane] = (id[0] & 0x3ff) |
                                        (dimensions > 1 ? (id[1] & 0x3ff) << 10 : 0) |
                                        (dimensions > 2 ? (id[2] & 0x3ff) << 20 : 0);
    }
}

// For debuggers: the workgroup's id, the wave's place in it, the packet's number in its ring.
// ROCdbgapi reads them from the save area (architecture.cpp: ttmp11_queue_packet_id_mask, ...).
void init_ttmps(Wave& wave, const Dispatch& dispatch, const Coordinates& at) {
    std::array<std::uint32_t, 16>& ttmp = wave.state.ttmp;
    std::copy(at.begin(), at.end(), ttmp.begin() + 8);
    ttmp[11] = wave.index;
    if (dispatch.program.isa == isa::Isa::gfx942) {
        ttmp[11] |= (dispatch.aql.ring_packet & 0x1ff'ffff) << 6;
    } else {
        ttmp[6] = dispatch.aql.ring_packet & 0x1ff'ffff;
    }
}

} // namespace

void init_new_wave(Wave& wave, const Dispatch& dispatch, const LaunchSite& site) {
    allocate_registers(wave, dispatch, site);
    const Coordinates at = dispatch.coordinates(wave.group->linear);
    const Coordinates size = dispatch.geometry.size_at(at);
    wave.state.pc = dispatch.program.entry & 0xffff'ffff'ffffULL;
    wave.state.exec = lanes_of(size, wave.index);
    init_sgprs(wave, dispatch, at);
    init_flat_scratch(wave, dispatch);
    init_ttmps(wave, dispatch, at);
    init_vgprs(wave, dispatch, size);
}

void init_restored_wave(Wave& wave, const Dispatch& dispatch, const LaunchSite& site, bool poison) {
    allocate_registers(wave, dispatch, site);
    isa::WaveState& state = wave.state;
    if (poison) {
        constexpr std::uint32_t bad_vgpr = 0xdeadbeef;
        constexpr std::uint32_t bad_sgpr = 0xbad0bad0;
        for (isa::Lanes& vgpr : state.vgpr) {
            vgpr.lane.fill(bad_vgpr);
        }
        std::fill(state.sgpr.begin(), state.sgpr.end(), bad_sgpr);
        state.ttmp.fill(bad_sgpr);
        state.m0 = bad_sgpr;
        state.scc = true;
    }
    // The trap handler's L_JUMP_TO_RESTORE is its second instruction. It finds the address of the
    // wave's data in EXEC, with the first-wave bit (SPI_INIT) at 26 of the high half.
    constexpr std::uint64_t first_wave_bit = 1ULL << (32 + 26);
    state.pc = state.tba + 4;
    state.priv = true;
    // NOLINTNEXTLINE(bugprone-unchecked-optional-access): the caller has set it
    state.exec = ((site.queue->ctx_save_base + *wave.data) & 0xffff'ffff'ffffULL) |
                 (wave.first ? first_wave_bit : 0);
}

void enter_trap_handler(isa::WaveState& wave, std::uint64_t pc, std::uint32_t trap_id) {
    wave.ttmp[0] = static_cast<std::uint32_t>(pc);
    wave.ttmp[1] = (static_cast<std::uint32_t>(pc >> 32) & 0xffff) | trap_id << 16;
    wave.priv = true;
    wave.pc = wave.tba;
}

} // namespace vgpu::sq
