// SPDX-License-Identifier: MIT
// The systems that are compared: direct launches, and xqueues with our settings.
#pragma once

#include "device.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>
#include <xpreempt/xpreempt.h>

namespace cuda {

struct System {
    const char* name = "";
    bool paced = true;        // by an xqueue; otherwise launched directly
    bool by_priority = false; // direct, with the streams' native priorities
    bool deferred = false;    // XP_DEFERRED; parts submit and idle only
    std::uint32_t threshold = 0, batch = 0;
    double budget_us = 0;       // latency budget
    double budget_commands = 0; // latency budget, in times of a command

    [[nodiscard]] std::uint64_t budget_ns(double command_us) const {
        return static_cast<std::uint64_t>((budget_us + budget_commands * command_us) * 1e3);
    }
};

std::span<const System> all_systems();
const System* find_system(const std::string& name); // null: there is none

// A stream of the GPU, with an xqueue in front of it if the system has one. Throws
// std::runtime_error when a call fails.
class Lane {
public:
    // command_us: of the commands to come, for a budget in times of one.
    Lane(const Device& device, const System& system, double command_us, int stream_priority = 0);
    ~Lane();
    Lane(const Lane&) = delete;
    Lane& operator=(const Lane&) = delete;
    Lane(Lane&&) = delete;
    Lane& operator=(Lane&&) = delete;

    // Commands must live until they were launched. Returns a ticket for wait(); 0 of a direct
    // launch.
    std::uint64_t submit(xp_launch_fn launch, void* command);
    // A direct launch's end is that of all before it.
    void wait(std::uint64_t ticket);
    void wait_all();

    // For xqueues only. suspend() returns when no command of the lane runs.
    void suspend();
    void resume();
    void drop();
    void set_priority(int priority);
    [[nodiscard]] xp_xqueue_stats stats() const;

    [[nodiscard]] bool paced() const { return system_.paced; }
    [[nodiscard]] Handle stream() const { return stream_; }
    [[nodiscard]] const Device& device() const { return device_; }

private:
    static void must(const char* call, int error);

    const Device& device_;
    const System& system_;
    Handle stream_;
    xp_xqueue_t xqueue_{};
};

// Kernels of a lane that write their times and their number, counted from 1, to mapped memory.
class StampedLane {
public:
    StampedLane(const Device& device, const System& system, double command_us, bool full,
                int stream_priority = 0);

    // A kernel that runs for so long. Returns its ticket.
    std::uint64_t submit(double kernel_us);

    [[nodiscard]] Lane& lane() { return lane_; }
    [[nodiscard]] std::uint32_t submitted() const { return submitted_; }
    [[nodiscard]] std::uint32_t finished() const; // the number of the last kernel that ended
    // Kept for the last `slots` kernels.
    [[nodiscard]] std::uint64_t begin_ns(std::uint32_t number) const;
    [[nodiscard]] std::uint64_t end_ns(std::uint32_t number) const;
    static constexpr std::uint32_t slots = 1U << 16;

private:
    struct Command {
        StampedLane* lane;
        std::uint32_t number;
        std::uint64_t ns;
    };
    static int launch(void* stream, void* command);
    static std::size_t byte_of(std::uint32_t number); // of its two times

    const bool full_;
    MappedMemory times_, progress_;
    DeviceMemory arrivals_;
    std::uint32_t submitted_ = 0;
    std::vector<Command> commands_;
    Lane lane_; // last: its destructor waits for the commands
};

} // namespace cuda
