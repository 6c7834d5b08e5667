// SPDX-License-Identifier: MIT
// SOPP: branches, waits, messages and the end of a program.
#include "model/isa/scalar/scalar_alu.hpp"

namespace vgpu::isa {

namespace {

u32 simm16(const Execution& e) {
    return e.word0 & 0xffff;
}

// Every access is complete when its instruction is: counters, caches and priorities aren't seen.
void no_effect(Execution&) {}

template <auto condition> void branch(Execution& e) {
    if (condition(e.wave)) {
        const std::int64_t words = static_cast<std::int16_t>(e.word0);
        e.wave.pc += static_cast<u64>(words * 4);
    }
}
constexpr auto always = [](const WaveState&) { return true; };
constexpr auto scc0 = [](const WaveState& w) { return !w.scc; };
constexpr auto scc1 = [](const WaveState& w) { return w.scc; };
constexpr auto vccz = [](const WaveState& w) { return w.vcc() == 0; };
constexpr auto vccnz = [](const WaveState& w) { return w.vcc() != 0; };
constexpr auto execz = [](const WaveState& w) { return w.exec == 0; };
constexpr auto execnz = [](const WaveState& w) { return w.exec != 0; };

template <Outcome outcome> void end_with(Execution& e) {
    e.outcome = outcome;
}

void endpgm_saved(Execution& e) {
    if (!e.wave.priv) {
        e.illegal("s_endpgm_saved outside the trap handler");
        return;
    }
    e.outcome = Outcome::saved;
}

void sethalt(Execution& e) {
    e.wave.status =
        (simm16(e) & 1) != 0 ? e.wave.status | status::halt : e.wave.status & ~status::halt;
    e.outcome = Outcome::yield;
}

// MI300 ISA, S_SLEEP: about 64 clocks for each of SIMM16[6:0].
void sleep(Execution& e) {
    e.sleep_clocks = 64 * (simm16(e) & 127);
    e.outcome = Outcome::sleep;
}

void sendmsg(Execution& e) {
    enum Message : u32 { interrupt = 1, save_wave = 4, get_doorbell = 10 };
    switch (simm16(e) & 15) {
    case interrupt: e.outcome = Outcome::interrupt_message; break;
    case save_wave: e.outcome = Outcome::save_message; break;
    case get_doorbell: e.outcome = Outcome::doorbell_message; break;
    default: e.illegal("s_sendmsg message not modelled"); break;
    }
}

void trap(Execution& e) {
    e.trap_id = simm16(e) & 0xff;
    e.outcome = Outcome::trap;
}

void set_gpr_idx_off(Execution& e) {
    e.wave.mode &= ~mode::gpr_idx_en;
}
void set_gpr_idx_mode(Execution& e) {
    e.wave.m0 = (e.wave.m0 & ~0xf000U) | (simm16(e) & 15) << 12;
}

constexpr std::array ops{
    ScalarOp{0, "s_nop", no_effect},
    ScalarOp{1, "s_endpgm", end_with<Outcome::ended>},
    ScalarOp{2, "s_branch", branch<always>},
    ScalarOp{3, "s_wakeup", end_with<Outcome::wakeup>},
    ScalarOp{4, "s_cbranch_scc0", branch<scc0>},
    ScalarOp{5, "s_cbranch_scc1", branch<scc1>},
    ScalarOp{6, "s_cbranch_vccz", branch<vccz>},
    ScalarOp{7, "s_cbranch_vccnz", branch<vccnz>},
    ScalarOp{8, "s_cbranch_execz", branch<execz>},
    ScalarOp{9, "s_cbranch_execnz", branch<execnz>},
    ScalarOp{10, "s_barrier", end_with<Outcome::barrier>},
    ScalarOp{12, "s_waitcnt", no_effect},
    ScalarOp{13, "s_sethalt", sethalt},
    ScalarOp{14, "s_sleep", sleep},
    ScalarOp{15, "s_setprio", no_effect},
    ScalarOp{16, "s_sendmsg", sendmsg},
    ScalarOp{18, "s_trap", trap},
    ScalarOp{19, "s_icache_inv", no_effect},
    ScalarOp{20, "s_incperflevel", no_effect},
    ScalarOp{21, "s_decperflevel", no_effect},
    ScalarOp{22, "s_ttracedata", no_effect},
    ScalarOp{27, "s_endpgm_saved", endpgm_saved},
    ScalarOp{28, "s_set_gpr_idx_off", set_gpr_idx_off},
    ScalarOp{29, "s_set_gpr_idx_mode", set_gpr_idx_mode},
};

constexpr auto table = index_by_opcode<128>(ops);
constexpr auto op_names = names_of(ops);

} // namespace

void execute_sopp(Execution& e) {
    run_scalar(table, e.word0 >> 16 & 0x7f, e);
}

std::span<const OpName> sopp_names() {
    return op_names;
}

} // namespace vgpu::isa
