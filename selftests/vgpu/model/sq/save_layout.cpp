// SPDX-License-Identifier: MIT
// Where the waves of a queue go in the CWSR area: on a stack, in the order of the control stack.
#include "model/sq/shader_state.hpp"

#include <algorithm>

namespace vgpu {

using sq::Dispatch;
using sq::Workgroup;

// Once no wave of the queue does anything else, so that none ends whose place would stay empty, and
// none still reads what another would write. Workgroups that wait to come back keep the bottom of
// the stack. The oldest dispatch gets its top, because the top comes back first.
void ShaderArray::State::lay_out_if_all_wait(Slot& slot) {
    if (slot.stop != StopMode::save || slot.laid_out) {
        return;
    }
    std::vector<Workgroup*> groups;
    for (auto dispatch = slot.dispatches.rbegin(); dispatch != slot.dispatches.rend(); ++dispatch) {
        for (auto group = (*dispatch)->running.rbegin(); group != (*dispatch)->running.rend();
             ++group) {
            groups.push_back(group->get());
        }
    }
    const bool all = std::ranges::all_of(groups, [](const Workgroup* group) {
        return std::ranges::all_of(group->waves,
                                   [](const auto& wave) { return wave->ended || wave->waits; });
    });
    if (groups.empty() || !all) {
        return;
    }
    slot.laid_out = true;
    auto end =
        slot.queue.ctl_stack_bytes + static_cast<std::uint32_t>(saved_bytes(slot.dispatches));
    schedule.shuffle(Schedule::Kind::pushed, std::span(groups));
    for (Workgroup* group : groups) {
        lay_out(slot, *group, end);
    }
}

// The first wave of those that are left saves the LDS, and lies above the others.
void ShaderArray::State::lay_out(Slot& slot, Workgroup& group, std::uint32_t& end) {
    const auto lives = [](const auto& wave) { return !wave->ended; };
    const auto first = std::ranges::find_if(group.waves, lives);
    const Dispatch& dispatch = *group.dispatch;
    std::uint64_t after = end;
    for (auto& wave : group.waves) {
        if (lives(wave)) {
            wave->waits = false;
            wave->first = wave == *first;
            wave->data.reset();
            after += dispatch.save_bytes(wave->first);
        }
    }
    if (after > slot.queue.ctx_save_bytes) {
        return;
    }
    for (auto wave = group.waves.rbegin(); wave != group.waves.rend(); ++wave) {
        if (lives(*wave)) {
            (*wave)->data = end;
            end += dispatch.save_bytes((*wave)->first);
        }
    }
}

} // namespace vgpu
