// SPDX-License-Identifier: MIT
// Submits, waits and suspends of one stream, by the system's own means.
#include "system.hpp"

#include <array>
#include <atomic>
#include <cstring>
#include <stdexcept>

namespace cuda {

namespace {

constexpr std::uint32_t capacity = 600'000;     // a submit never blocks
constexpr std::uint32_t highest_threshold = 16; // with a latency budget

constexpr std::array<System, 8> systems{{
    {.name = "direct", .paced = false},
    {.name = "direct-priority", .paced = false, .by_priority = true},
    {.name = "8/4", .threshold = 8, .batch = 4},
    {.name = "16/8", .threshold = 16, .batch = 8},
    {.name = "2/1", .threshold = 2, .batch = 1},
    {.name = "16/8 deferred", .deferred = true, .threshold = 16, .batch = 8},
    {.name = "budget-2T", .threshold = highest_threshold, .budget_commands = 2},
    {.name = "budget-40", .threshold = highest_threshold, .budget_us = 40},
}};

} // namespace

std::span<const System> all_systems() {
    return systems;
}

const System* find_system(const std::string& name) {
    for (const System& system : systems)
        if (name == system.name)
            return &system;
    return nullptr;
}

Lane::Lane(const Device& device, const System& system, double command_us, int stream_priority)
    : device_(device), system_(system), stream_(device.create_stream(stream_priority)) {
    if (!paced())
        return;
    xp_xqueue_options options = XP_XQUEUE_OPTIONS_INIT;
    options.threshold = system.threshold;
    options.batch = system.batch;
    options.capacity = capacity;
    options.max_level = XP_LEVEL_BLOCK;
    options.flags = system.deferred ? XP_DEFERRED : 0;
    options.latency_budget_ns = system.budget_ns(command_us);
    must("xp_xqueue_create", xp_xqueue_create(stream_, &options, &xqueue_));
}

Lane::~Lane() {
    if (paced())
        (void)xp_xqueue_destroy(xqueue_);
    (void)device_.driver().stream_synchronize(stream_);
    (void)device_.driver().stream_destroy(stream_);
}

void Lane::must(const char* call, int error) {
    if (error == 0)
        return;
    throw std::runtime_error(std::string(call) + ": " + std::strerror(error < 0 ? -error : error) +
                             ": " + xp_last_detail());
}

std::uint64_t Lane::submit(xp_launch_fn launch, void* command) {
    if (!paced()) {
        device_.check("cuLaunchKernel", launch(stream_, command));
        return 0;
    }
    std::uint64_t ticket = 0;
    must("xp_xqueue_submit", xp_xqueue_submit(xqueue_, launch, command, &ticket));
    return ticket;
}

void Lane::wait(std::uint64_t ticket) {
    if (paced())
        must("xp_xqueue_wait", xp_xqueue_wait(xqueue_, ticket));
    else
        device_.synchronize(stream_);
}

void Lane::wait_all() {
    if (paced())
        must("xp_xqueue_wait_all", xp_xqueue_wait_all(xqueue_));
    else
        device_.synchronize(stream_);
}

void Lane::suspend() {
    must("xp_xqueue_suspend", xp_xqueue_suspend(xqueue_, XP_SUSPEND_FINISH_LAUNCHED, nullptr));
}

void Lane::resume() {
    must("xp_xqueue_resume", xp_xqueue_resume(xqueue_));
}

void Lane::drop() {
    must("xp_xqueue_drop", xp_xqueue_drop(xqueue_, nullptr));
}

void Lane::set_priority(int priority) {
    must("xp_xqueue_set_priority", xp_xqueue_set_priority(xqueue_, priority));
}

xp_xqueue_stats Lane::stats() const {
    xp_xqueue_stats stats{};
    stats.sz = sizeof stats;
    must("xp_xqueue_get_stats", xp_xqueue_get_stats(xqueue_, &stats));
    return stats;
}

StampedLane::StampedLane(const Device& device, const System& system, double command_us, bool full,
                         int stream_priority)
    : full_(full), times_(device, std::size_t{slots} * 2 * sizeof(std::uint64_t)),
      progress_(device, 64), arrivals_(device, 64), commands_(slots),
      lane_(device, system, command_us, stream_priority) {}

std::uint64_t StampedLane::submit(double kernel_us) {
    const std::uint32_t number = ++submitted_;
    Command& command = commands_[number % slots];
    command = {this, number, static_cast<std::uint64_t>(kernel_us * 1e3)};
    return lane_.submit(launch, &command);
}

int StampedLane::launch(void* stream, void* argument) {
    const Command& command = *static_cast<const Command*>(argument);
    const StampedLane& lane = *command.lane;
    Device::Stamp stamp{.ns = command.ns,
                        .times = lane.times_.address(byte_of(command.number)),
                        .progress = lane.progress_.address(0),
                        .number = command.number,
                        .arrivals = lane.arrivals_.address(),
                        .full = lane.full_};
    return lane.lane_.device().launch_stamp(stream, stamp);
}

std::uint32_t StampedLane::finished() const {
    // Acquires: the times of that kernel are written before.
    return std::atomic_ref(*progress_.at<std::uint32_t>(0)).load(std::memory_order_acquire);
}

std::size_t StampedLane::byte_of(std::uint32_t number) {
    return std::size_t{number % slots} * 2 * sizeof(std::uint64_t);
}

std::uint64_t StampedLane::begin_ns(std::uint32_t number) const {
    return times_.at<std::uint64_t>(byte_of(number))[0];
}

std::uint64_t StampedLane::end_ns(std::uint32_t number) const {
    return times_.at<std::uint64_t>(byte_of(number))[1];
}

} // namespace cuda
