// SPDX-License-Identifier: MIT
// Global wave sync (GWS) of one XCC: barriers and semaphores of waves of all workgroups.
#pragma once

#include "model/isa/execution.hpp"
#include "model/sq/gws_range.hpp"

#include <array>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

namespace vgpu::sq {

struct Wave;

class GlobalWaveSync {
public:
    // Does what a ds_gws_* asks of a resource, by its number on the XCC. Returns false if `wave`
    // has to wait. Waves that no longer do, of those that came before, are appended to `released`.
    bool execute(const isa::GwsRequest& request, unsigned resource, Wave& wave,
                 std::vector<Wave*>& released);

    // The wave waits no longer, as if it had not come. Returns false if it didn't wait.
    //
    // This is how a wave that waits is saved: hardware of gfx9 rewinds and replays GWS operations
    // of a wave that is preempted (LLVM, GCNSubtarget::hasGWSAutoReplay). So the save leaves its PC
    // at the instruction, and the wave comes anew when it is restored. No public source says what
    // happens to the counter meanwhile. A wave that counted when it came and counts again when it
    // is replayed would end a barrier too early, so the model takes its first arrival back.
    bool withdraw(const Wave& wave);

    // The state of the resources that aren't as after reset: each in the low half of a word as
    // in GDS_GWS_RESOURCE (FLAG, COUNTER, TYPE), its number from the first of the range in the high
    // half. Waves that wait aren't part of it.
    std::vector<std::uint32_t> state(GwsRange range) const;
    // Returns false if state() can't have returned these words.
    static bool plausible(std::span<const std::uint32_t> words);
    // Drops the words of resources beyond the range.
    void set_state(GwsRange range, std::span<const std::uint32_t> words);

private:
    struct Waiting {
        Wave* wave = nullptr;
        bool at_barrier = false; // otherwise at a semaphore
    };
    struct Resource {
        std::uint32_t counter = 0;
        bool flag = false; // changes with each barrier that ends
        bool barrier = false;
        std::deque<Waiting> waiting; // in the order in which they came
    };

    static bool arrive(Resource& resource, std::uint32_t next_counter, Wave& wave,
                       std::vector<Wave*>& released);
    static bool take(Resource& resource, Wave& wave);
    static void signal(Resource& resource, std::uint32_t count, std::vector<Wave*>& released);

    std::array<Resource, gws_resources> resources_;
};

} // namespace vgpu::sq
