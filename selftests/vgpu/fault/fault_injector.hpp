// SPDX-License-Identifier: MIT
// The fault knobs at work: decides for the CP which dequeues are held and which fences are lost.
#pragma once

#include "fault/fault_spec.hpp"
#include "model/base/observer.hpp"
#include "model/cp/cp_faults.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace vgpu::fault {

class FaultInjector final : public CpFaults {
public:
    FaultInjector(std::vector<Spec> specs, Observer& observer);

    // The only clock of the process that is not the model's: called by the main loop.
    void set_time_ms(std::uint64_t now_ms) { now_ms_ = now_ms; }
    // When the main loop must look at the device again, if a held dequeue waits for time.
    std::optional<std::uint64_t> next_deadline_ms() const;

    // CpFaults
    void dequeue_begins(unsigned slot) override;
    void active_polled(unsigned slot) override;
    bool dequeue_held(unsigned slot) override;
    bool drop_fence() override;
    void device_reset() override;

private:
    struct Armed {
        Spec spec;
        std::uint64_t left = 0; // strikes that remain
        std::uint64_t seen = 0; // drop-fence: fences so far
    };
    struct Held {
        std::optional<std::uint64_t> until_ms;
        std::optional<std::uint64_t> polls;
    };

    Observer& observer_;
    std::vector<Armed> armed_;
    std::map<unsigned, Held> held_; // by slot
    std::uint64_t now_ms_ = 0;
};

} // namespace vgpu::fault
