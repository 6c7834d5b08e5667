// SPDX-License-Identifier: MIT
// A HIP stream as the hardware queue of an XQueue.
#pragma once

#include "backend/direct_calls.hpp"
#include "backend/event_marker.hpp"
#include "backend/guardians.hpp"
#include "backend/holds.hpp"
#include "backend/launched_commands.hpp"
#include "backend/stream_hold.hpp"
#include "backend/together.hpp"
#include "hip/mapping.hpp"
#include "hip/runtime.hpp"
#include "xqueue/hw_queue.hpp"

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace xpreempt::backend {

// How far a stream's queue can be stopped now, and why not further. allow_shared: other streams may
// stop with it.
xqueue::LevelChoice level_of(const Transport& transport, const Probe& probe,
                             const hip::Mapping& mapping, hip::Stream stream, bool allow_shared);

// References must outlive it; the composition root owns them.
struct Environment {
    const hip::Functions& hip;
    const hip::Mapping& mapping;
    const Probe& probe;
    Transport& transport;
    Holds& holds;
    GuardianPool& guardians;
    Captures& captures;
};

// How one xqueue wants its stream to be stopped.
struct StopRules {
    bool allow_shared = false; // other streams may stop with it
    // none: chosen when it is stopped
    xqueue::DeactivateMethod deactivate_method = xqueue::DeactivateMethod::none;
    // At level 1: a launch of the thread that suspended stops the queue and doesn't wait.
    bool stop_for_own_launch = false;
};

// The guardian of the command that the calling thread launches now. Null: it launches none.
const Guardian* guardian_of_launch();

class StreamQueue final : public xqueue::HwQueue {
public:
    // device: of the stream, see hip::device_of(). Not of hipStreamPerThread. calls: what the
    // program does with the stream beside; null: not known.
    StreamQueue(const Environment& environment, hip::Stream stream, int device,
                const StopRules& rules, std::shared_ptr<DirectCalls> calls)
        : environment_(environment), stream_(stream), key_(environment.mapping.key_of(stream)),
          device_(device), rules_(rules), calls_(std::move(calls)),
          hold_(environment.mapping, environment.holds, key_, stream, calls_), own_launch_(*this),
          events_(std::make_shared<EventPool>(environment.hip, environment.mapping,
                                              environment.captures, key_, device)) {}
    ~StreamQueue() override;
    StreamQueue(const StreamQueue&) = delete;
    StreamQueue& operator=(const StreamQueue&) = delete;

    xqueue::LevelChoice best_level(xqueue::Level highest) override;
    Result<void> launch(const xqueue::Launch& launch) override;
    Result<std::shared_ptr<xqueue::Marker>> mark() override;
    [[nodiscard]] const std::atomic<std::size_t>& captures() const override {
        return environment_.captures.num();
    }
    [[nodiscard]] bool is_captured() const override {
        return environment_.captures.is_captured(&environment_.hip, key_, stream_);
    }
    [[nodiscard]] bool stays_out_of_graphs() const override {
        return !environment_.captures.has(key_) && !is_captured();
    }
    [[nodiscard]] xqueue::DeviceLoad* load() override;

    // By hardware, where the driver can't drain, waves are saved instead: none of the launched
    // commands starts either way.
    Result<xqueue::Deactivated> deactivate() override;
    Result<void> interrupt() override { return hold_.stop(StopType::save, rules_.allow_shared); }
    void finish_stop() override;
    void start() override;

    [[nodiscard]] std::vector<xqueue::QueueName> queues() const override {
        return names_of(environment_.mapping.busy_queues(key_));
    }
    void withhold_direct(bool withhold) override;
    void pace_direct(std::uint32_t threshold, std::uint32_t batch) override;
    [[nodiscard]] bool has_direct_work() const override;
    void observe_direct(const std::shared_ptr<xqueue::Observer>& observer) override;

private:
    struct MethodChoice {
        xqueue::DeactivateMethod method{}; // none: why has the reason
        std::string why;
    };

    // The hold of StopRules::stop_for_own_launch.
    class OwnLaunch final : public DirectCalls::Stopper {
    public:
        explicit OwnLaunch(const StreamQueue& queue)
            : queue_(queue), hold_(queue.environment_.mapping, queue.environment_.holds, queue.key_,
                                   {queue.key_, this}, nullptr) {}
        bool stop() override;
        void start() override;

    private:
        const StreamQueue& queue_;
        StreamHold hold_;
    };

    [[nodiscard]] xqueue::LevelChoice level_when_held() const;
    MethodChoice method_now(const xqueue::LevelChoice& when_held) const;
    MethodChoice method_of(xqueue::DeactivateMethod method,
                           const xqueue::LevelChoice& when_held) const;
    std::optional<Guardian> guard(const xqueue::Launch& launch);
    Result<xqueue::Deactivated> flush();

    Environment environment_;
    hip::Stream stream_;
    hip::Stream key_; // of the thread that made it: the null stream is its current device's
    int device_;      // to be current in whichever thread calls HIP for the stream
    StopRules rules_;
    std::shared_ptr<DirectCalls> calls_; // may be null
    StreamHold hold_;
    OwnLaunch own_launch_;

    std::atomic<bool> any_flags_{false}; // of a command, ever: until then nothing is remembered
    mutable std::mutex launched_mutex_;  // best_level() may come during a launch
    LaunchedCommands launched_;
    std::unique_ptr<GuardianRing> guardians_; // from the first guarded launch on
    std::shared_ptr<EventPool> events_;
    std::shared_ptr<xqueue::Marker> last_marker_;
};

} // namespace xpreempt::backend
