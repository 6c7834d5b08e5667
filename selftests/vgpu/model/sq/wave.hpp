// SPDX-License-Identifier: MIT
// Waves, workgroups and dispatches while they are on the shader array.
#pragma once

#include "model/base/schedule.hpp"
#include "model/isa/wave_state.hpp"
#include "model/sq/compute_unit.hpp"
#include "model/sq/dispatch_geometry.hpp"
#include "model/sq/program.hpp"
#include "model/sq/shader_array.hpp"

#include <deque>
#include <memory>
#include <optional>
#include <vector>

namespace vgpu::sq {

struct Workgroup;

// The control stack's records of a saved wave and of its workgroup. Waves of the workgroup that are
// not listed have ended.
struct SavedWave {
    unsigned index = 0;         // in the workgroup
    std::uint32_t offset = 0;   // of its data in the CWSR area
    unsigned shader_engine = 0; // where it ran
    std::optional<std::uint32_t> scratch_slot;
};
struct SavedWorkgroup {
    std::uint32_t linear = 0;
    unsigned first_wave = 0; // the one whose data includes the LDS
    std::vector<SavedWave> waves;
};

struct Wave {
    isa::WaveState state;
    Workgroup* group = nullptr;
    unsigned index = 0;
    WaveSlot slot;
    bool at_barrier = false;
    bool at_gws = false;    // waits at a resource of global wave sync
    bool ended = false;     // left the hardware, by s_endpgm, by a save or by a failure
    bool restoring = false; // relaunched, hasn't returned from the trap handler yet
    bool in_save = false;   // entered the trap handler for a save
    bool stepped = false;   // has done the one instruction that MODE.DEBUG_EN allows
    bool first = false;     // saves or restores the LDS
    bool saved = false;     // left by s_endpgm_saved
    bool answered = false;  // MSG_SAVEWAVE got its answer in this save
    bool waits = false;     // for that answer, which all waves of the queue get together
    std::optional<std::uint32_t>
        data; // offset of its data in the CWSR area, from and to which it goes
    std::optional<std::uint32_t> scratch_slot;
    std::uint64_t handler_instructions = 0;
    std::uint64_t sleeps_until = 0; // ticks of the reference clock; 0: it does not sleep
};

struct Dispatch {
    unsigned queue_slot = 0;
    AqlDispatch aql;
    Program program;
    DispatchGeometry geometry;
    std::uint32_t lds_bytes = 0;
    WorkgroupShare share;
    std::uint32_t total = 0;              // workgroups of the share
    std::uint32_t next = 0;               // first workgroup never launched
    std::uint32_t done = 0;               // workgroups that ended
    std::vector<std::uint32_t> preloaded; // kernel arguments for SGPRs, when a wave needs them
    bool failed = false; // a wave failed, or the packet made no sense: never completes

    std::deque<SavedWorkgroup> saved; // not on hardware
    std::vector<std::unique_ptr<Workgroup>> running;

    bool has_scratch() const {
        return program.scratch_enabled() && aql.packet[6] != 0 && aql.scratch.wave_bytes != 0;
    }
    std::uint64_t kernarg_address() const {
        return aql.packet[10] | static_cast<std::uint64_t>(aql.packet[11]) << 32;
    }
    // Returns the coordinates of a workgroup, by its number in the share.
    Coordinates coordinates(std::uint32_t ordinal) const {
        return geometry.coordinates(share.linear(ordinal));
    }
    bool complete() const { return !failed && done == total; }
    bool has_work_to_launch() const { return !saved.empty() || next < total; }
    // Bytes of the CWSR area for a wave: VGPRs, SGPRs, 128 bytes of hardware registers and TTMPs,
    // the LDS for the first wave of the workgroup, and 64 bytes that the trap handler leaves
    // alone: with them a wave has the 128 SGPRs of KFD's SGPR_SIZE_PER_CU.
    std::uint32_t save_bytes(bool first_wave) const {
        return program.vgprs() * isa::lane_count * 4 + program.sgprs() * 4 + 128 + 64 +
               (first_wave ? lds_bytes : 0);
    }
};

struct Workgroup {
    Dispatch* dispatch = nullptr;
    std::uint32_t linear = 0;
    unsigned compute_unit = 0;
    std::vector<std::byte> lds;
    std::vector<std::unique_ptr<Wave>> waves;
    unsigned on_hardware = 0;
    SavedWorkgroup saved;                   // filled while its waves are saved
    std::optional<Schedule::Step> asked_at; // when it will be asked to save
};

// Where a wave of a dispatch will run, for the registers it starts with.
struct LaunchSite {
    const QueueBinding* queue = nullptr;
    unsigned compute_unit = 0; // of the XCC
    unsigned shader_engines = 1;
};

// Registers of a wave that starts its kernel.
void init_new_wave(Wave& wave, const Dispatch& dispatch, const LaunchSite& site);
// Registers of a wave that starts in the trap handler's restore routine.
void init_restored_wave(Wave& wave, const Dispatch& dispatch, const LaunchSite& site, bool poison);
// PC into TTMP0/1 with the trap id, then on at TBA. MI300 ISA, "Trap Handler".
void enter_trap_handler(isa::WaveState& wave, std::uint64_t pc, std::uint32_t trap_id);

} // namespace vgpu::sq
