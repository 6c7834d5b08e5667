// SPDX-License-Identifier: MIT
// The fault knobs at work: which faults are armed, and what each of them strikes.
#pragma once

#include "fault/fault_spec.hpp"
#include "model/base/fault_hooks.hpp"
#include "model/base/observer.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace vgpu::fault {

class FaultInjector final : public FaultHooks {
public:
    FaultInjector(std::vector<Spec> specs, Observer& observer);

    // The number by which the fault is disarmed. At run time there may be max_armed of them.
    static constexpr std::size_t max_armed = 32;
    unsigned arm(Spec spec);
    // Ends what the fault holds, too. False when there is none of that number.
    bool disarm(unsigned number);
    void disarm_all();
    std::size_t armed() const { return armed_.size(); }
    // One line a fault: number, spec, occasions seen, hits, strikes left.
    std::string list() const;
    // Told when a fault was armed or disarmed that changes what translations find.
    void on_change(std::function<void()> handler) { changed_ = std::move(handler); }

    // The only clock of the process that isn't the model's: called by the main loop.
    void set_time_ms(std::uint64_t now_ms) { now_ms_ = now_ms; }
    // When the main loop must look at the device again, if something held waits for time.
    std::optional<std::uint64_t> next_deadline_ms() const;

    // FaultHooks
    void stop_begins(const StopRequest& request) override;
    bool skip_unmap(const StopRequest& request) override;
    bool lose_doorbell(const MappedQueue& queue) override;
    bool lose_grace(unsigned xcc) override;
    void active_polled(unsigned slot) override;
    bool stop_held(unsigned slot) override;
    bool queue_reset(unsigned slot) override;
    bool waves_hang(const StopRequest& request) override;
    bool drop_fence() override;
    bool early_fence(const StopRequest& request) override;
    bool delay_fence() override;
    bool fence_held() override;
    bool lose_interrupt(std::uint8_t source) override;
    bool lose_msi() override;
    bool sdma_stuck(const SdmaRing& ring) override;
    bool fault_access(unsigned vmid, std::uint16_t pasid) override;
    bool hung() override;
    void device_reset() override;

private:
    struct Armed {
        unsigned number = 0;
        Spec spec;
        std::uint64_t left = 0; // strikes that remain
        std::uint64_t seen = 0; // matching occasions
        std::uint64_t hits = 0;
    };
    struct Occasion {
        std::optional<std::uint64_t> doorbell{};
        std::optional<std::uint64_t> vmid{};
        std::optional<std::uint64_t> pasid{};
        std::optional<std::uint64_t> xcc{};
        std::optional<std::uint64_t> engine{};
        std::optional<std::uint64_t> source{};
    };
    struct Held {
        unsigned number = 0;
        std::optional<std::uint64_t> until_ms;
        std::optional<std::uint64_t> polls;
    };

    static Occasion occasion_of(const StopRequest& request);
    const Armed* strike(Kind kind, const Occasion& occasion);
    Held hold(const Armed& armed) const;
    bool over(const Held& held) const;
    void release(unsigned number);

    Observer& observer_;
    std::vector<Armed> armed_;
    unsigned last_number_ = 0;
    std::map<unsigned, Held> held_; // stops, by slot
    std::optional<Held> fence_;
    std::map<std::pair<unsigned, std::uint32_t>, unsigned> stuck_; // engine, doorbell: number
    std::function<void()> changed_;
    std::uint64_t now_ms_ = 0;
};

} // namespace vgpu::fault
