// SPDX-License-Identifier: MIT
// Queues of other processes: which there are, when they get work, how to stop them.
#pragma once

#include "base/error.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <span>
#include <sys/types.h>
#include <vector>

namespace xpreemptd {

using xpreempt::Result;
using Time = std::chrono::steady_clock::time_point;
using Clock = std::function<Time()>;

struct QueueFound {
    std::uint32_t gpu_id;
    bool compute; // false: a copy engine's, which can't be stopped
};

struct QueueReading {
    std::uint64_t uid = 0;      // never reused
    std::uint32_t doorbell = 0; // as in an event
    bool known = false;         // its memory could be read
    bool busy = false;          // if known: packets to take, or the last one isn't done
    bool held = false;          // by anybody
    bool by_programs = false;   // held, and each hold is of a program and ends with it
    bool away = false;          // memory of its process on its GPU is in system memory
    bool by_signal = false;     // busy, and all packets are taken: its signal says so or is unread
    std::uint64_t packets = 0;  // that its process has ever written
};

enum class EventKind : std::uint8_t { rang, exited, queues_changed, wants_memory };

struct Event {
    EventKind kind = EventKind::rang;
    std::uint64_t cookie = 0;
    Time when;
    std::uint32_t gpu_id = 0;
    std::uint32_t doorbell = 0; // of rang
    std::uint64_t bytes = 0;    // of wants_memory: an allocation that waits for answer()
};

struct Arming {
    std::uint32_t watch_id = 0;
    int result = 0;     // 0 or a positive errno; ESRCH: the process is gone
    bool busy = false;  // a queue has packets, or couldn't be read
    bool blind = false; // rings of this process make no events: poll it
};

enum class Change : std::uint8_t { stop, start };

struct Switch {
    Change change = Change::stop;
    pid_t pid = 0;
    std::uint32_t queue_id = 0;
    std::uint64_t queue_uid = 0;
    int result = 0;              // 0 or a positive errno
    bool held_by_others = false; // still stopped after a start
};

// Memory of one process on one GPU, in bytes.
struct VramUse {
    std::uint32_t gpu_id = 0;
    std::uint64_t resident = 0;             // in VRAM, and may leave it
    std::uint64_t stays = 0;                // in VRAM: pinned, shared, mapped by other GPUs
    std::uint64_t away = 0;                 // in system memory
    std::chrono::nanoseconds last_moves{0}; // the last way out and the last way back

    bool operator==(const VramUse&) const = default;
};

// Stops come first, their processes' memory leaves VRAM, that of the starts returns, then those
// start. A process has all its compute queues in it, or none.
struct Move {
    std::uint64_t id = 0;
    std::vector<Switch> switches;
};

// One implementation today, that of KFD. DRM user queues, to which ROCr is moving, will be another.
// No call waits for another process for long: one that keeps itself locked makes read(), change()
// and vram_of() fail with EBUSY after a tenth of a second. While memory of a process moves, it is
// locked: make no calls about it.
class Provider {
public:
    Provider() = default;
    Provider(const Provider&) = delete;
    Provider& operator=(const Provider&) = delete;
    Provider(Provider&&) = delete;
    Provider& operator=(Provider&&) = delete;
    virtual ~Provider() = default;

    [[nodiscard]] virtual Result<std::vector<pid_t>> processes() = 0;
    [[nodiscard]] virtual Result<std::vector<std::uint32_t>> queue_ids(pid_t pid) = 0; // ascending
    // Dearer than read(), and the same for the life of a queue.
    [[nodiscard]] virtual Result<QueueFound> describe(pid_t pid, std::uint32_t queue_id) = 0;
    [[nodiscard]] virtual Result<QueueReading> read(pid_t pid, std::uint32_t queue_id) = 0;
    // Whether the process keeps itself locked; costs a millisecond or two if it does.
    [[nodiscard]] virtual bool is_locked(pid_t pid) = 0;

    // -1: there is no watch, and everything is polled.
    [[nodiscard]] virtual int event_fd() const = 0;
    // gives: allocations that don't fit wait for answer(), if can_give_memory().
    [[nodiscard]] virtual Result<std::uint32_t> watch(pid_t pid, std::uint64_t cookie,
                                                      bool gives) = 0;
    virtual void unwatch(std::uint32_t watch_id) = 0;
    // From now on the first ring of each makes an event.
    virtual Result<void> arm(std::span<Arming> entries) = 0;
    // Fills at most events.size().
    [[nodiscard]] virtual Result<std::size_t> take_events(std::span<Event> events) = 0;

    // One call of the driver if they fit into one. A start of a queue whose memory is away moves
    // all of it back first, which takes seconds: begin() is for those. When this program ends,
    // however it ends, the driver starts all that it has stopped.
    virtual Result<void> change(std::span<Switch> switches) = 0;

    [[nodiscard]] virtual bool can_move_memory() const = 0;
    // On the GPU of the queue; gpu_id is the caller's to fill in.
    [[nodiscard]] virtual Result<VramUse> vram_of(pid_t pid, std::uint32_t queue_id) = 0;
    [[nodiscard]] virtual Result<std::uint64_t> free_vram(std::uint32_t gpu_id) = 0;
    [[nodiscard]] virtual bool can_give_memory() const = 0;
    // Allocations of it try again. last: those that still don't fit fail; others ask again.
    virtual void answer(std::uint32_t watch_id, bool last) = 0;
    // Takes seconds, so it only begins here; moved_fd() is readable when one has ended.
    virtual void begin(Move move) = 0;
    [[nodiscard]] virtual int moved_fd() const = 0;           // -1: memory can't move
    [[nodiscard]] virtual std::vector<Move> take_moved() = 0; // with results
};

} // namespace xpreemptd
