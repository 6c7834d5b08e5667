// SPDX-License-Identifier: MIT
// Schedules the waves, and acts on the outcome of each instruction.
#include "model/isa/interpreter.hpp"
#include "model/sq/shader_state.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>

namespace vgpu {

using isa::Execution;
using isa::Outcome;
using sq::Wave;
using sq::Workgroup;

bool ShaderArray::State::wants_to_save(const Wave& wave) const {
    return (wave.state.trapsts & isa::trapsts::savectx) != 0 && !wave.state.priv &&
           wave.state.tba != 0 && !slots.at(wave.group->dispatch->queue_slot).ignore_save;
}

// Until something other than time changes.
bool ShaderArray::State::is_blocked(const Wave& wave) {
    return wave.waits || wave.at_barrier || wave.at_gws ||
           ((wave.state.status & isa::status::halt) != 0 && !wave.state.priv);
}

bool ShaderArray::State::runnable(const Wave& wave) const {
    return !wave.waits && ((!is_blocked(wave) && !sleeps(wave)) || wants_to_save(wave));
}

bool ShaderArray::State::sleeps(const Wave& wave) const {
    return wave.sleeps_until != 0 && config.reference_clock->ticks() < wave.sleeps_until;
}

// Only where time passes without work. With a schedule the order of all instructions depends on
// nothing but their count, and a trap handler waits for something that is near.
void ShaderArray::State::put_to_sleep(Wave& wave, std::uint32_t clocks) const {
    const Clock* clock_of_device = config.reference_clock;
    if (clock_of_device != nullptr && clock_of_device->goes_by_itself() && !schedule.on() &&
        !wave.state.priv) {
        wave.sleeps_until = clock_of_device->ticks() + clocks;
    }
}

std::uint64_t ShaderArray::State::run(std::uint64_t budget) {
    std::uint64_t executed = 0;
    std::size_t waiting = 0; // waves in a row that had nothing to do
    deliver_failures();
    for (auto& [number, slot] : slots) {
        if (slot.asks) {
            ask_to_save(slot);
        }
    }
    launch();
    while (executed < budget && waiting < waves.size()) {
        if (cursor >= waves.size()) {
            begin_round();
            waiting = schedule.on() ? 0 : waiting; // another order: count from its beginning
        }
        Wave& wave = *waves[cursor];
        if (slice_left == 0 || !runnable(wave)) {
            waiting = slice_left == 0 ? waiting : waiting + 1;
            ++cursor;
            slice_left = turn_length();
            continue;
        }
        waiting = 0;
        wave.sleeps_until = 0;
        const std::size_t vmid = wave.state.vmid % executed_by_vmid.size();
        const bool watched = watched_memory.watches(wave.state.vmid);
        const std::uint64_t before = executed;
        // act() may have taken the wave, or any other, off the array: look it up again each time.
        bool goes_on = true;
        while (goes_on && executed < budget && slice_left > 0) {
            --slice_left;
            ++executed;
            ++clock;
            goes_on = watched ? step<true>(wave) : step<false>(wave);
        }
        executed_by_vmid[vmid] += executed - before;
    }
    return executed;
}

// Each wave has one turn in a round, so that none starves.
void ShaderArray::State::begin_round() {
    cursor = 0;
    schedule.shuffle(Schedule::Kind::turn, std::span(waves));
    slice_left = turn_length();
}

unsigned ShaderArray::State::turn_length() {
    constexpr std::array<unsigned, 4> lengths = {slice_instructions, 1, 8, 512};
    return lengths.at(schedule.pick(Schedule::Kind::turn_length, lengths.size()));
}

// All waves of a workgroup at one time: the one that saves the LDS must not end before it is asked.
// Those that wait at a barrier enter the trap handler at once, for it has a barrier of its own, at
// which another wave must not find them waiting.
void ShaderArray::State::ask_to_save(Slot& slot) {
    slot.asks = false;
    for (auto& dispatch : slot.dispatches) {
        for (auto& group : dispatch->running) {
            auto& asked_at = group->asked_at;
            if (!asked_at) {
                continue; // it was
            }
            if (!schedule.reached(*asked_at)) {
                slot.asks = true;
                continue;
            }
            asked_at.reset();
            for (auto& wave : group->waves) {
                if (wave->ended) {
                    continue;
                }
                wave->state.trapsts |= isa::trapsts::savectx;
                if (wave->at_barrier && wants_to_save(*wave)) {
                    enter_save(*wave);
                }
            }
        }
    }
}

void ShaderArray::State::enter_save(Wave& wave) {
    // PC of a wave that waits at a barrier is the barrier's: it arrives anew when restored.
    if (wave.at_barrier || wave.at_gws) {
        wave.stepped = false; // it does that instruction anew
        wave.state.trapsts &= ~isa::trapsts::trap_after_inst;
    }
    if (wave.at_gws) {
        observer.count("sq.gws_waits_saved", 1);
    }
    leave_gws(wave);
    wave.at_barrier = false;
    wave.state.status &= ~isa::status::in_barrier;
    wave.in_save = true;
    wave.answered = false;
    wave.handler_instructions = 0;
    sq::enter_trap_handler(wave.state, wave.state.pc, 0);
}

// A wave is asked to save between two instructions, wherever it waits. TRAPSTS.SAVECTX stays
// pending while the trap handler runs, which includes its restore routine.
template <bool watched> bool ShaderArray::State::step(Wave& wave) {
    isa::WaveState& state = wave.state;
    if ((state.trapsts & (isa::trapsts::savectx | isa::trapsts::addr_watch)) != 0 || wave.stepped)
        [[unlikely]] {
        enter_handler(wave);
    }
    const bool steps = (state.mode & isa::mode::debug_en) != 0 && !state.priv;
    wave.handler_instructions += wave.in_save ? 1 : 0;
    Execution e(state, watched ? watched_space : space, clock, config.reference_clock);
    if constexpr (watched) {
        watched_memory.begin_instruction();
    }
    isa::step(e);
    memory_instructions += isa::accesses_memory(e.word0) ? 1 : 0;
    if constexpr (watched) {
        note_watch_hits(wave, e);
    }
    if (steps) [[unlikely]] {
        note_step(wave, e);
    }
    if (e.outcome == Outcome::next) [[likely]] {
        if (wave.restoring && !state.priv) {
            wave.restoring = false;
            wave.first = false;
        }
        // A trap handler may leave a halted wave behind: HALT counts from its return on.
        return (state.status & isa::status::halt) == 0 || state.priv;
    }
    return act(wave, e);
}

bool ShaderArray::State::act(Wave& wave, Execution& e) {
    const unsigned slot = wave.group->dispatch->queue_slot;
    isa::WaveState& state = wave.state;
    switch (e.outcome) {
    case Outcome::next: return true;
    case Outcome::yield: slice_left = 0; return false;
    case Outcome::sleep:
        slice_left = 0;
        put_to_sleep(wave, e.sleep_clocks);
        return false;
    case Outcome::wakeup:
        for (auto& other : wave.group->waves) {
            other->sleeps_until = 0;
        }
        return true;
    case Outcome::barrier: return arrive_at_barrier(wave);
    case Outcome::ended: wave_left(wave); return false;
    case Outcome::saved: return wave_saved(wave, e);
    case Outcome::save_message: return answer_save_message(wave, e);
    case Outcome::trap:
        // Without a trap handler s_trap does nothing.
        if (state.tba != 0 && !state.priv) {
            sq::enter_trap_handler(state, e.pc, e.trap_id);
        }
        return true;
    case Outcome::interrupt_message:
        client.wave_interrupt(slot, state.m0, state.priv);
        return false;
    case Outcome::doorbell_message:
        state.exec = (state.exec & ~0xffff'ffffULL) | (slots.at(slot).queue.doorbell_id & 0x3ff);
        return true;
    case Outcome::gws: return sync_globally(wave, e);
    case Outcome::illegal:
    case Outcome::memory_fault: raise_exception(wave, e); return false;
    }
    return false;
}

// The last wave of the workgroup to arrive lets all continue; the others stay at the instruction.
bool ShaderArray::State::arrive_at_barrier(Wave& wave) {
    wave.state.pc -= 4;
    wave.at_barrier = true;
    wave.state.status |= isa::status::in_barrier;
    release_barrier(*wave.group);
    return !wave.at_barrier;
}

void ShaderArray::State::release_barrier(Workgroup& group) {
    const auto arrived = [](const auto& wave) { return wave->ended || wave->at_barrier; };
    if (!std::all_of(group.waves.begin(), group.waves.end(), arrived)) {
        return;
    }
    for (auto& wave : group.waves) {
        if (!wave->ended) {
            wave->at_barrier = false;
            wave->state.status &= ~isa::status::in_barrier;
            wave->state.pc += 4;
        }
    }
}

// MSG_SAVEWAVE: SPI answers through EXEC with the address for the wave's data, and with bit 26 of
// the high half for the one wave of the workgroup that saves the LDS.
bool ShaderArray::State::answer_save_message(Wave& wave, Execution& e) {
    Workgroup& group = *wave.group;
    Slot& slot = slots.at(group.dispatch->queue_slot);
    if (!wave.in_save || slot.stop != StopMode::save || wave.answered) {
        e.illegal("MSG_SAVEWAVE without a save request");
        wave_failed(wave, e);
        return false;
    }
    if (slot.queue.ctl_stack_bytes == 0) {
        // Its data would lie where the driver copies the control stack for debuggers to.
        observer.unmodelled("sq", "context save of a queue whose control stack size is unknown");
    }
    if (!slot.laid_out) {
        // Asks again when all of them have asked.
        wave.state.pc = e.pc;
        wave.waits = true;
        slice_left = 0;
        lay_out_if_all_wait(slot);
        return false;
    }
    if (!wave.data) {
        // The driver sizes the area for a full array (kfd_queue.c): a smaller one is an error.
        // Its program waits for ever, so say it louder than a fault of the program.
        observer.event("sq", fmt::format("slot {}: CWSR area of {} bytes is full", slot.queue.slot,
                                         slot.queue.ctx_save_bytes));
        observer.unmodelled("sq", "context save into a CWSR area that is full");
        e.fault(slot.queue.ctx_save_base + slot.queue.ctx_save_bytes);
        wave_failed(wave, e);
        return false;
    }
    wave.answered = true;
    constexpr std::uint64_t first_wave_bit = 1ULL << (32 + 26);
    wave.state.exec = ((slot.queue.ctx_save_base + *wave.data) & 0xffff'ffff'ffffULL) |
                      (wave.first ? first_wave_bit : 0);
    return true;
}

bool ShaderArray::State::wave_saved(Wave& wave, Execution& e) {
    if (!wave.in_save || !wave.answered) {
        e.illegal("s_endpgm_saved without a save");
        wave_failed(wave, e);
        return false;
    }
    Workgroup& group = *wave.group;
    Slot& slot = slots.at(group.dispatch->queue_slot);
    const auto& data = *wave.data; // NOLINT(bugprone-unchecked-optional-access): it is in a save
    group.saved.waves.push_back(
        {wave.index, data, group.compute_unit % config.shader_engines, wave.scratch_slot});
    wave.scratch_slot.reset(); // the record has it now
    wave.saved = true;
    if (wave.first) {
        group.saved.first_wave = wave.index;
    }
    ++slot.saved_waves;
    slot.handler_instructions += wave.handler_instructions;
    wave_left(wave);
    return false;
}

// The trap handler learns from TRAPSTS what it was: it tells the driver and halts the wave, which
// stays there until its queue goes. XNACK_ERROR tells a translation that failed from an address
// that leads nowhere.
void ShaderArray::State::raise_exception(Wave& wave, const Execution& e) {
    isa::WaveState& state = wave.state;
    if (state.tba == 0 || state.priv) {
        wave_failed(wave, e);
        return;
    }
    report_failure(wave, e);
    const bool memory_fault = e.outcome == Outcome::memory_fault;
    if (!memory_fault) {
        state.trapsts |= isa::trapsts::illegal_inst;
    } else {
        state.trapsts |=
            isa::trapsts::mem_viol | (e.aperture_violation ? 0 : isa::trapsts::xnack_error);
    }
    sq::enter_trap_handler(state, e.pc, 0);
    client.wave_failed(wave.group->dispatch->queue_slot, e.pc, memory_fault);
}

void ShaderArray::State::report_failure(const Wave& wave, const Execution& e) {
    const std::string where =
        fmt::format("wave {} of workgroup {}, pc 0x{:x}", wave.index, wave.group->linear, e.pc);
    if (e.outcome == Outcome::memory_fault) {
        observer.event("sq", fmt::format("memory fault at 0x{:x}: {}", e.fault_va, where));
    } else {
        observer.unmodelled("sq", fmt::format("{}: {} 0x{:08x} 0x{:08x}, {}", e.problem,
                                              isa::describe(e.word0), e.word0, e.word1, where));
    }
}

// The dispatch never completes then: its results aren't what the program meant.
void ShaderArray::State::wave_failed(Wave& wave, const Execution& e) {
    report_failure(wave, e);
    const bool memory_fault = e.outcome == Outcome::memory_fault;
    const unsigned slot = wave.group->dispatch->queue_slot;
    const std::uint64_t pc = e.pc;
    wave.group->dispatch->failed = true;
    wave_left(wave);
    client.wave_failed(slot, pc, memory_fault);
}

void ShaderArray::State::wave_left(Wave& wave) {
    Workgroup& group = *wave.group;
    wave.ended = true;
    if (wave.answered && !wave.saved) {
        observer.unmodelled("sq", "a wave failed in its save: the place of its data stays empty");
    }
    give_scratch(wave, slots.at(group.dispatch->queue_slot));
    units[group.compute_unit].give_wave(wave.slot, group.dispatch->program.vgprs());
    drop_from_turns(wave);
    --group.on_hardware;
    if (group.on_hardware == 0) {
        workgroup_left(group);
        return;
    }
    // Those that wait at a barrier wait for one less.
    const bool someone_waits = std::any_of(group.waves.begin(), group.waves.end(),
                                           [](const auto& other) { return other->at_barrier; });
    if (someone_waits) {
        release_barrier(group);
    }
    lay_out_if_all_wait(slots.at(group.dispatch->queue_slot));
}

void ShaderArray::State::workgroup_left(Workgroup& group) {
    sq::Dispatch& dispatch = *group.dispatch;
    units[group.compute_unit].give_lds(dispatch.lds_bytes);
    if (group.saved.waves.empty()) {
        ++dispatch.done;
    } else {
        group.saved.linear = group.linear;
        dispatch.saved.push_back(std::move(group.saved));
    }
    std::erase_if(dispatch.running, [&](const auto& other) { return other.get() == &group; });
    lay_out_if_all_wait(slots.at(dispatch.queue_slot));
    if (!dispatch.complete()) {
        launch();
        return;
    }
    Slot& slot = slots.at(dispatch.queue_slot);
    const unsigned number = dispatch.queue_slot;
    const std::uint64_t packet_index = dispatch.aql.packet_index;
    std::erase_if(slot.dispatches, [&](const auto& other) { return other.get() == &dispatch; });
    launch();
    client.dispatch_completed(number, packet_index);
}

void ShaderArray::State::drop_from_turns(const Wave& wave) {
    const auto at = std::find(waves.begin(), waves.end(), &wave);
    const auto index = static_cast<std::size_t>(at - waves.begin());
    waves.erase(at);
    if (index < cursor) {
        --cursor;
    } else if (index == cursor) {
        slice_left = turn_length();
    }
}

bool ShaderArray::State::deliver_failures() {
    const std::vector<Failure> told = std::exchange(failures, {});
    for (const Failure& failure : told) {
        client.wave_failed(failure.slot, failure.pc, failure.memory_fault);
    }
    return !told.empty();
}

} // namespace vgpu
