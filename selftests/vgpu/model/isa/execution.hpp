// SPDX-License-Identifier: MIT
// One instruction on its way through the interpreter: its words, the wave, and how it ends.
#pragma once

#include "model/base/clock.hpp"
#include "model/isa/address_space.hpp"
#include "model/isa/wave_state.hpp"

#include <cstdint>

namespace vgpu::isa {

// The sequencer's action after an instruction.
enum class Outcome : std::uint8_t {
    next,              // nothing
    yield,             // let other waves run
    sleep,             // s_sleep: for so many clocks, Execution::sleep_clocks
    wakeup,            // s_wakeup: ends the sleep of its workgroup's waves
    barrier,           // s_barrier: the wave has arrived
    ended,             // s_endpgm
    saved,             // s_endpgm_saved
    trap,              // s_trap: enter the handler with trap_id
    save_message,      // s_sendmsg MSG_SAVEWAVE: wants the address of its save area
    interrupt_message, // s_sendmsg MSG_INTERRUPT with M0 as payload
    doorbell_message,  // s_sendmsg MSG_GET_DOORBELL: wants its queue's doorbell id
    gws,               // ds_gws_*: Execution::gws says what the wave wants of which resource
    illegal,           // not modelled, or nonsense: see Execution::problem
    memory_fault,      // an access was refused, fault_va says where
};

// ds_gws_*: semaphores have P (wait), V (signal) and BR (signal `value` times).
enum class GwsOperation : std::uint16_t { init, barrier, wait, signal, signal_many, release_all };

// Small, because each instruction clears it.
struct GwsRequest {
    std::uint32_t value = 0;    // of the first active lane, for those that have one
    std::uint16_t resource = 0; // from the first one of the VMID
    GwsOperation operation = GwsOperation::init;
};

struct SwizzledSources;

class Execution {
public:
    Execution(WaveState& wave_state, AddressSpace& address_space, std::uint64_t now,
              const Clock* reference = nullptr)
        : wave(wave_state), memory(address_space), clock(now), reference_clock(reference),
          pc(wave_state.pc) {}

    WaveState& wave;
    AddressSpace& memory;
    std::uint64_t clock;          // for s_memtime
    const Clock* reference_clock; // for s_memrealtime, when the device has one
    std::uint64_t pc;             // of this instruction; wave.pc is already behind it
    std::uint32_t word0 = 0;
    std::uint32_t word1 = 0; // second word or literal, when one was fetched
    bool has_word1 = false;
    const SwizzledSources* swizzled = nullptr; // of an SDWA or DPP instruction

    Outcome outcome = Outcome::next;
    std::uint32_t trap_id = 0;
    std::uint32_t sleep_clocks = 0;
    std::uint64_t fault_va = 0;
    GwsRequest gws;
    bool aperture_violation = false; // no translation failed: the address leads nowhere
    const char* problem = "";        // why `illegal`

    // Fetches the word at wave.pc and steps over it. 0 after a fault.
    std::uint32_t fetch() {
        std::uint32_t word = 0;
        const std::byte* host = memory.at(wave.vmid, wave.pc, sizeof(word), Access::execute);
        if (host == nullptr) {
            fault(wave.pc);
            return 0;
        }
        std::memcpy(&word, host, sizeof(word));
        wave.pc += sizeof(word);
        return word;
    }
    // The 64-bit encodings' second word.
    void fetch_word1() {
        word1 = fetch();
        has_word1 = true;
    }
    // The 32-bit literal that follows an instruction; two operands may share it.
    std::uint32_t literal() {
        if (!has_word1) {
            fetch_word1();
        }
        return word1;
    }

    void illegal(const char* why) {
        if (outcome != Outcome::memory_fault) {
            outcome = Outcome::illegal;
            problem = why;
        }
    }
    void fault(std::uint64_t va) {
        outcome = Outcome::memory_fault;
        fault_va = va;
    }
    void violate_aperture(std::uint64_t va) {
        if (!failed()) {
            fault(va);
            aperture_violation = true;
        }
    }
    bool failed() const { return outcome >= Outcome::illegal; }
};

} // namespace vgpu::isa
