// SPDX-License-Identifier: MIT
// The inside of ShaderArray: queues in slots, compute units, and the waves that run.
#pragma once

#include "model/base/schedule.hpp"
#include "model/isa/execution.hpp"
#include "model/sq/address_watch.hpp"
#include "model/sq/control_stack.hpp"
#include "model/sq/global_wave_sync.hpp"
#include "model/sq/scratch_slots.hpp"
#include "model/sq/wave.hpp"

#include <array>
#include <map>
#include <optional>
#include <vector>

namespace vgpu {

// One thread owns all of it. Calls to the client are made last in each function, because the
// client may call back into ShaderArray and take away whatever was at hand.
struct ShaderArray::State {
    // Instructions of one wave before the next has its turn. Fixed, or drawn from the seed, so that
    // the order of all instructions depends on nothing but their count.
    static constexpr unsigned slice_instructions = 32;

    struct Slot {
        QueueBinding queue;
        sq::DispatchList dispatches;
        std::optional<StopMode> stop;
        bool ignore_save = false;
        bool asks = false;              // some workgroup is still to be asked to save
        Schedule::Step launches_at = 0; // nothing launches before
        bool laid_out = false;          // each wave knows where its data goes in the save under way
        sq::ScratchSlots scratch;
        std::uint64_t saved_waves = 0;
        std::uint64_t handler_instructions = 0;
    };

    struct Failure {
        unsigned slot = 0;
        std::uint64_t pc = 0;
        bool memory_fault = false;
    };

    State(const Config& configuration, Memory& memory, Schedule& chooser, Observer& watcher,
          ShaderClient& owner)
        : config(configuration), space(memory), watched_memory(memory), schedule(chooser),
          observer(watcher), client(owner), units(configuration.compute_units) {}

    Config config;
    isa::AddressSpace space;
    // For waves of VMIDs with an address watch.
    sq::WatchedMemory watched_memory;
    isa::AddressSpace watched_space{watched_memory, isa::AddressSpace::Caching::off};
    Schedule& schedule;
    Observer& observer;
    ShaderClient& client;

    std::vector<sq::ComputeUnit> units;
    std::map<unsigned, Slot> slots;
    sq::GlobalWaveSync gws;
    std::vector<sq::Wave*> waves;                     // on hardware, in launch order
    std::size_t cursor = 0;                           // whose turn it is
    unsigned slice_left = slice_instructions;         // of that turn
    unsigned next_unit = 0;                           // where the search for room begins
    std::uint64_t clock = 0;                          // wave instructions executed since the start
    std::array<std::uint64_t, 16> executed_by_vmid{}; // since they were taken
    std::uint64_t memory_instructions = 0;            // the same, by run()
    std::vector<Failure> failures;                    // to be told to the client from run()

    Slot* find(unsigned slot);
    bool has_waves(unsigned slot) const;

    // workgroup_launch.cpp
    void launch();
    bool launch_one(Slot& slot);
    void preload_arguments(const Slot& slot, sq::Dispatch& dispatch);
    bool place(Slot& slot, sq::Dispatch& dispatch, std::uint32_t linear,
               const sq::SavedWorkgroup* saved);
    bool find_unit(unsigned group_waves, const Slot& slot, const sq::Dispatch& dispatch,
                   unsigned& unit);
    void give_scratch(sq::Wave& wave, Slot& slot);
    void remove_waves(unsigned slot); // without a trace

    // sequencer.cpp
    std::uint64_t run(std::uint64_t budget);
    void begin_round();
    unsigned turn_length();
    void ask_to_save(Slot& slot);
    void enter_save(sq::Wave& wave);
    static bool is_blocked(const sq::Wave& wave);
    bool runnable(const sq::Wave& wave) const;
    bool sleeps(const sq::Wave& wave) const;
    void put_to_sleep(sq::Wave& wave, std::uint32_t clocks) const;
    bool wants_to_save(const sq::Wave& wave) const;
    // False when the wave's turn is over. A watch is compared with what the wave accesses.
    template <bool watched> bool step(sq::Wave& wave);
    bool act(sq::Wave& wave, isa::Execution& e);
    bool arrive_at_barrier(sq::Wave& wave);
    void release_barrier(sq::Workgroup& group);
    bool answer_save_message(sq::Wave& wave, isa::Execution& e);
    bool wave_saved(sq::Wave& wave, isa::Execution& e);
    void raise_exception(sq::Wave& wave, const isa::Execution& e);
    void wave_failed(sq::Wave& wave, const isa::Execution& e);
    void report_failure(const sq::Wave& wave, const isa::Execution& e);
    void wave_left(sq::Wave& wave);
    void workgroup_left(sq::Workgroup& group);
    void drop_from_turns(const sq::Wave& wave);
    bool deliver_failures();

    // save_layout.cpp
    void lay_out_if_all_wait(Slot& slot);
    void lay_out(Slot& slot, sq::Workgroup& group, std::uint32_t& end);

    // watched_waves.cpp
    void note_watch_hits(sq::Wave& wave, const isa::Execution& e);
    void note_step(sq::Wave& wave, const isa::Execution& e) const;
    bool wants_to_trap(const sq::Wave& wave) const;
    void enter_handler(sq::Wave& wave);

    // gws_waves.cpp
    bool sync_globally(sq::Wave& wave, isa::Execution& e);
    void leave_gws(sq::Wave& wave);
};

} // namespace vgpu
