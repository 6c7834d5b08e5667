// SPDX-License-Identifier: MIT
// ShaderArray as the command processor calls it.
#include "model/sq/shader_array.hpp"

#include "model/sq/shader_state.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace vgpu {

ShaderArray::State::Slot* ShaderArray::State::find(unsigned slot) {
    const auto found = slots.find(slot);
    return found == slots.end() ? nullptr : &found->second;
}

bool ShaderArray::State::has_waves(unsigned slot) const {
    return std::any_of(waves.begin(), waves.end(), [slot](const sq::Wave* wave) {
        return wave->group->dispatch->queue_slot == slot;
    });
}

ShaderArray::ShaderArray(const Config& config, Memory& memory, Schedule& schedule,
                         Observer& observer, ShaderClient& client)
    : state_(std::make_unique<State>(config, memory, schedule, observer, client)) {}

ShaderArray::~ShaderArray() = default;

void ShaderArray::bind(const QueueBinding& queue) {
    State::Slot& slot = state_->slots[queue.slot];
    slot = State::Slot{};
    slot.queue = queue;
    if (queue.controls_gws) {
        state_->gws.set_state(queue.gws, {});
    }
}

void ShaderArray::unbind(unsigned slot) {
    if (state_->find(slot) == nullptr) {
        return;
    }
    state_->remove_waves(slot);
    state_->slots.erase(slot);
    std::erase_if(state_->failures,
                  [slot](const State::Failure& failure) { return failure.slot == slot; });
    state_->launch();
}

bool ShaderArray::dispatch(unsigned number, const AqlDispatch& aql) {
    State::Slot* slot = state_->find(number);
    if (slot == nullptr || slot->stop || slot->dispatches.size() >= sq::max_dispatches) {
        return false;
    }
    auto dispatch = std::make_unique<sq::Dispatch>();
    dispatch->queue_slot = number;
    dispatch->aql = aql;
    dispatch->share = slot->queue.share;
    const std::uint64_t kernel_object = aql.packet[8] | static_cast<std::uint64_t>(aql.packet[9])
                                                            << 32;
    const isa::Isa isa = state_->config.isa;
    bool memory_fault = false;
    const char* problem = aql.registers
                              ? load_program(*aql.registers, isa, dispatch->program)
                              : load_program(state_->space, slot->queue.vmid, kernel_object, isa,
                                             dispatch->program, memory_fault);
    if (problem == nullptr) {
        problem = prepare_dispatch(*dispatch);
    }
    if (problem != nullptr) {
        // Nothing of it can run; it stays in flight, as a kernel whose waves fail would.
        *dispatch = sq::Dispatch{};
        dispatch->queue_slot = number;
        dispatch->aql = aql;
        dispatch->failed = true;
        const std::string text = fmt::format("{}, kernel object 0x{:x}", problem, kernel_object);
        if (memory_fault) {
            state_->observer.event("sq", text);
        } else {
            state_->observer.unmodelled("sq", text);
        }
        state_->failures.push_back({number, kernel_object, memory_fault});
    } else if (state_->observer.tracing()) {
        state_->observer.event(
            "sq", fmt::format("slot {} packet {}: {} workgroups, entry 0x{:x}, {} VGPRs ({} arch), "
                              "{} SGPRs, {} bytes LDS",
                              number, aql.packet_index, dispatch->total, dispatch->program.entry,
                              dispatch->program.vgprs(), dispatch->program.arch_vgprs(),
                              dispatch->program.sgprs(), dispatch->lds_bytes));
    }
    slot->dispatches.push_back(std::move(dispatch));
    state_->observer.count("sq.dispatches", 1);
    return true;
}

void ShaderArray::set_cu_mask(unsigned slot, const sq::CuMask& mask) {
    if (State::Slot* found = state_->find(slot)) {
        found->queue.cu_mask = mask;
    }
}

std::size_t ShaderArray::dispatches_in_flight(unsigned slot) const {
    const State::Slot* found = state_->find(slot);
    return found == nullptr ? 0 : found->dispatches.size();
}

void ShaderArray::request_stop(unsigned number, StopMode mode) {
    State::Slot* slot = state_->find(number);
    if (slot == nullptr) {
        return;
    }
    slot->stop = mode;
    if (mode == StopMode::reset) {
        state_->remove_waves(number);
        slot->dispatches.clear();
        state_->launch();
        return;
    }
    if (mode == StopMode::save) {
        slot->saved_waves = 0;
        slot->handler_instructions = 0;
        if (slot->queue.tba == 0 && state_->has_waves(number)) {
            state_->observer.unmodelled("sq", "context save of a queue without a trap handler");
        }
        for (auto& dispatch : slot->dispatches) {
            for (auto& group : dispatch->running) {
                group->asked_at = state_->schedule.later(Schedule::Kind::ask);
            }
        }
        slot->asks = true;
        state_->ask_to_save(*slot);
    }
}

bool ShaderArray::stopped(unsigned slot) const {
    return !state_->has_waves(slot);
}

bool ShaderArray::has_waves() const {
    return !state_->waves.empty();
}

std::optional<std::uint64_t> ShaderArray::next_wakeup() const {
    std::optional<std::uint64_t> first;
    for (const sq::Wave* wave : state_->waves) {
        if (wave->sleeps_until != 0 && !State::is_blocked(*wave)) {
            first = std::min(first.value_or(wave->sleeps_until), wave->sleeps_until);
        }
    }
    return first;
}

SavedQueue ShaderArray::take_saved(unsigned number) {
    State::Slot* slot = state_->find(number);
    SavedQueue saved;
    if (slot == nullptr || state_->has_waves(number)) {
        return saved;
    }
    std::vector<std::uint32_t> gws;
    if (slot->queue.controls_gws) {
        gws = state_->gws.state(slot->queue.gws);
    }
    saved.control_stack = encode_control_stack(slot->dispatches, gws);
    saved.wave_state_bytes = static_cast<std::uint32_t>(saved_bytes(slot->dispatches));
    saved.waves = slot->saved_waves;
    saved.handler_instructions = slot->handler_instructions;
    state_->observer.count("sq.waves_saved", saved.waves);
    state_->observer.count("sq.handler_instructions", saved.handler_instructions);
    slot->dispatches.clear();
    slot->scratch = sq::ScratchSlots();
    slot->laid_out = false;
    return saved;
}

bool ShaderArray::restore(unsigned number, std::span<const std::byte> control_stack) {
    State::Slot* slot = state_->find(number);
    sq::DispatchList dispatches;
    std::vector<std::uint32_t> gws;
    if (slot == nullptr || !slot->dispatches.empty() ||
        !decode_control_stack(control_stack, number, slot->queue.share, slot->queue.ctl_stack_bytes,
                              dispatches, gws)) {
        return false;
    }
    const std::uint64_t bytes = saved_bytes(dispatches);
    if (bytes > 0 && slot->queue.ctl_stack_bytes + bytes > slot->queue.ctx_save_bytes) {
        return false;
    }
    sq::ScratchSlots scratch;
    std::uint64_t waves = 0;
    for (const auto& dispatch : dispatches) {
        for (const sq::SavedWorkgroup& group : dispatch->saved) {
            for (const sq::SavedWave& wave : group.waves) {
                if (wave.scratch_slot && !scratch.reserve(*wave.scratch_slot)) {
                    return false;
                }
                ++waves;
            }
        }
    }
    if (waves > 0 && slot->queue.tba == 0) {
        return false;
    }
    slot->launches_at = state_->schedule.later(Schedule::Kind::relaunch);
    slot->scratch = scratch;
    slot->dispatches = std::move(dispatches);
    // The driver may have taken GWS from the queue since.
    if (slot->queue.controls_gws) {
        state_->gws.set_state(slot->queue.gws, gws);
    }
    state_->observer.count("sq.waves_restored", waves);
    return true;
}

std::vector<std::uint64_t> ShaderArray::pending_packets(unsigned slot) const {
    std::vector<std::uint64_t> packets;
    if (const State::Slot* found = state_->find(slot)) {
        for (const auto& dispatch : found->dispatches) {
            packets.push_back(dispatch->aql.packet_index);
        }
    }
    return packets;
}

void ShaderArray::ignore_save_requests(unsigned slot, bool ignore) {
    if (State::Slot* found = state_->find(slot)) {
        found->ignore_save = ignore;
    }
}

void ShaderArray::set_watch(unsigned number, std::uint64_t address, std::uint32_t control) {
    state_->watched_memory.set(number, {address, control});
}

std::uint64_t ShaderArray::run(std::uint64_t wave_instructions) {
    const std::uint64_t executed = state_->run(wave_instructions);
    state_->observer.count("sq.wave_instructions", executed);
    if (const std::uint64_t accesses = std::exchange(state_->memory_instructions, 0);
        accesses != 0) {
        state_->observer.count("sq.memory_instructions", accesses);
    }
    return executed;
}

std::array<std::uint64_t, 16> ShaderArray::take_executed_by_vmid() {
    return std::exchange(state_->executed_by_vmid, {});
}

void ShaderArray::reset() {
    state_->waves.clear();
    state_->slots.clear();
    state_->failures.clear();
    state_->gws = {};
    for (unsigned i = 0; i < sq::address_watches; ++i) {
        set_watch(i, 0, 0);
    }
    state_->units.assign(state_->config.compute_units, sq::ComputeUnit{});
    state_->cursor = 0;
    state_->slice_left = State::slice_instructions;
    state_->next_unit = 0;
}

} // namespace vgpu
