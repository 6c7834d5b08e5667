// SPDX-License-Identifier: MIT
// Counts what the waves of a process execute while another process has work.
#pragma once

#include "model/base/observer.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace vgpu {

// A process is busy while a compute queue of its own has packets that aren't done. A queue that
// left its slot keeps its state until another queue is busy and none is on its way off: a runlist
// that maps the queue again has done so by then. From there on the process is stopped, unless it
// has another queue on a slot. A busy period ends when the process is no longer busy.
class Contention {
public:
    // A compute queue on a slot.
    struct Queue {
        std::uint32_t doorbell = 0;
        std::uint16_t pasid = 0;
        bool busy = false;
        bool operator==(const Queue&) const = default;
    };

    explicit Contention(Observer& observer) : observer_(observer) {}

    // Called before each slice. `queues` may name a queue once for each XCC. `switching`: one of
    // them is on its way off. `now`: the clock of the GPU.
    void begin_slice(std::span<const Queue> queues, bool switching, std::uint64_t now = 0);
    // Called for each time in which a process was busy ("busy_intervals/PASID") or stopped
    // ("stopped_intervals/PASID") when it is over; an empty one ends that.
    using Recorder =
        std::function<void(std::string_view list, std::uint64_t begin, std::uint64_t end)>;
    void record_intervals(Recorder recorder) { recorder_ = std::move(recorder); }
    // How much the waves of a process executed in the slice.
    void executed(std::uint16_t pasid, std::uint64_t instructions);
    void reset();

private:
    struct Process {
        bool busy = false;
        bool on_slot = false;
        bool stopped = false;
        bool stopped_busy = false;
        std::uint64_t busy_since = 0;
        std::uint64_t stopped_since = 0;
        std::string by_pasid; // name of its counter
    };
    // One process during a busy period of another.
    struct Pair {
        bool executed = false;
        bool stopped = false;
        bool stopped_busy = false;
        std::string key;
    };
    using PairKey = std::pair<std::uint16_t, std::uint16_t>; // who executes, who is busy

    bool on_slot(std::uint32_t doorbell) const;
    void update(std::span<const Queue> queues, bool settled, std::uint64_t now);
    void interval(const char* group, std::uint16_t pasid, std::uint64_t begin, std::uint64_t end);
    void begin_period(std::uint16_t pasid);
    void note_stops(std::uint16_t busy);
    Process& process(std::uint16_t pasid);
    Pair& pair(std::uint16_t pasid, std::uint16_t busy);
    void count(const char* group, const Pair& pair, std::uint64_t amount);

    Observer& observer_;
    std::vector<Queue> seen_; // at the latest change: most slices change nothing
    bool seen_switching_ = false;
    std::vector<Queue> queues_; // on slots first, then those that left
    std::size_t on_slots_ = 0;
    Recorder recorder_;
    std::vector<std::uint16_t> began_;
    std::map<std::uint16_t, Process> processes_; // all that ever were
    std::vector<std::uint16_t> busy_;
    std::map<PairKey, Pair> pairs_;
};

} // namespace vgpu
