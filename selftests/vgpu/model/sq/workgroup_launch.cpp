// SPDX-License-Identifier: MIT
// Placing workgroups on compute units: new ones, and saved ones that come back.
#include "model/sq/shader_state.hpp"

#include <algorithm>

namespace vgpu {

using sq::ComputeUnit;
using sq::Dispatch;
using sq::SavedWorkgroup;
using sq::Wave;
using sq::Workgroup;

// One workgroup per queue and round, so that a large dispatch doesn't shut others out.
void ShaderArray::State::launch() {
    bool progress = true;
    while (progress) {
        progress = false;
        for (auto& [number, slot] : slots) {
            if (!slot.stop && schedule.reached(slot.launches_at) && launch_one(slot)) {
                progress = true;
            }
        }
    }
}

// Saved workgroups go first, from the top of their stack, and then the oldest dispatch.
bool ShaderArray::State::launch_one(Slot& slot) {
    Dispatch* top = nullptr;
    for (auto& dispatch : slot.dispatches) {
        if (!dispatch->saved.empty() &&
            (top == nullptr || dispatch->saved.front().waves.front().offset >
                                   top->saved.front().waves.front().offset)) {
            top = dispatch.get();
        }
    }
    if (top != nullptr) {
        const SavedWorkgroup& next = top->saved.front();
        if (!place(slot, *top, next.linear, &next)) {
            return false;
        }
        top->saved.pop_front();
        slot.launches_at = schedule.later(Schedule::Kind::relaunch);
        return true;
    }
    for (auto& dispatch : slot.dispatches) {
        if (dispatch->next < dispatch->total) {
            if (!place(slot, *dispatch, dispatch->next, nullptr)) {
                return false;
            }
            ++dispatch->next;
            return true;
        }
    }
    return false;
}

bool ShaderArray::State::find_unit(unsigned group_waves, const Slot& slot, const Dispatch& dispatch,
                                   unsigned& unit) {
    if (schedule.on()) {
        next_unit = static_cast<unsigned>(schedule.pick(Schedule::Kind::unit, units.size()));
    }
    for (std::size_t i = 0; i < units.size(); ++i) {
        const auto candidate = static_cast<unsigned>((next_unit + i) % units.size());
        if (slot.queue.cu_mask.allows(candidate, config.shader_engines) &&
            units[candidate].has_room(group_waves, dispatch.program.vgprs(), dispatch.lds_bytes)) {
            next_unit = static_cast<unsigned>((candidate + 1) % units.size());
            unit = candidate;
            return true;
        }
    }
    return false;
}

// The same for each wave of a dispatch. A fault is raised by the access; the waves get zeros.
void ShaderArray::State::preload_arguments(const Slot& slot, Dispatch& dispatch) {
    const unsigned dwords = dispatch.program.preload_dwords();
    if (dispatch.preloaded.size() == dwords) {
        return;
    }
    dispatch.preloaded.assign(dwords, 0);
    space.read(slot.queue.vmid,
               dispatch.kernarg_address() + 4ULL * dispatch.program.preload_offset(),
               dispatch.preloaded.data(), std::size_t{dwords} * 4);
}

bool ShaderArray::State::place(Slot& slot, Dispatch& dispatch, std::uint32_t linear,
                               const SavedWorkgroup* saved) {
    const unsigned group_waves = saved != nullptr
                                     ? static_cast<unsigned>(saved->waves.size())
                                     : dispatch.geometry.waves_at(dispatch.coordinates(linear));
    auto group = std::make_unique<Workgroup>();
    const bool takes_scratch = saved == nullptr && dispatch.has_scratch();
    if (takes_scratch && !slot.scratch.has_room(group_waves, dispatch.aql.scratch.waves)) {
        return false;
    }
    if (!find_unit(group_waves, slot, dispatch, group->compute_unit)) {
        return false;
    }
    ComputeUnit& unit = units[group->compute_unit];
    unit.take_lds(dispatch.lds_bytes);
    group->dispatch = &dispatch;
    group->linear = linear;
    group->on_hardware = group_waves;
    const bool poison = saved != nullptr && config.poison_on_restore;
    group->lds.assign(dispatch.lds_bytes, poison ? std::byte{0xcc} : std::byte{0});
    for (unsigned i = 0; i < group_waves; ++i) {
        auto wave = std::make_unique<Wave>();
        wave->group = group.get();
        wave->index = saved != nullptr ? saved->waves[i].index : i;
        wave->slot = unit.take_wave(dispatch.program.vgprs());
        if (saved != nullptr) {
            wave->scratch_slot = saved->waves[i].scratch_slot;
        } else if (takes_scratch) {
            wave->scratch_slot = slot.scratch.take();
        }
        group->waves.push_back(std::move(wave));
    }
    const sq::LaunchSite site{&slot.queue, group->compute_unit, config.shader_engines};
    for (unsigned i = 0; i < group_waves; ++i) {
        Wave& wave = *group->waves[i];
        if (saved != nullptr) {
            wave.restoring = true;
            wave.first = wave.index == saved->first_wave;
            wave.data = saved->waves[i].offset;
            init_restored_wave(wave, dispatch, site, poison);
        } else {
            preload_arguments(slot, dispatch);
            init_new_wave(wave, dispatch, site);
        }
        waves.push_back(&wave);
    }
    dispatch.running.push_back(std::move(group));
    return true;
}

void ShaderArray::State::give_scratch(Wave& wave, Slot& slot) {
    if (wave.scratch_slot) {
        slot.scratch.give(*wave.scratch_slot);
        wave.scratch_slot.reset();
    }
}

void ShaderArray::State::remove_waves(unsigned number) {
    Slot* slot = find(number);
    for (auto& dispatch : slot->dispatches) {
        for (auto& group : dispatch->running) {
            ComputeUnit& unit = units[group->compute_unit];
            unit.give_lds(dispatch->lds_bytes);
            for (auto& wave : group->waves) {
                if (!wave->ended) {
                    unit.give_wave(wave->slot, dispatch->program.vgprs());
                    give_scratch(*wave, *slot);
                    leave_gws(*wave);
                    drop_from_turns(*wave);
                }
            }
        }
        dispatch->running.clear();
    }
}

} // namespace vgpu
