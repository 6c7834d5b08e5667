// SPDX-License-Identifier: MIT
// Before a HIP call of the program that would wait for a held queue inside HIP: waits outside of
// it. And before one into a stream that is withheld.
#pragma once

#include "backend/captures.hpp"
#include "backend/direct_calls.hpp"
#include "backend/queue_order.hpp"
#include "backend/recorded_events.hpp"
#include "hip/mapping.hpp"
#include "hip/runtime.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

namespace xpreempt::backend {

// Most packets of the program in a held queue. HIP keeps kernel arguments
// in four chunks of 256 KiB and the ring has 1024 packets or more: with 64 launches of at most 4
// KiB a thread finds room for both, and doesn't spin inside HIP.
constexpr std::uint64_t max_packets_while_held = 64;

// At most one in a process: the hook's gate has no argument that could name it.
class Gates {
public:
    using FindHip = std::function<Result<const hip::Functions*>()>;
    // Called before a stream is destroyed, and after those of a device were (null); in the
    // program's threads and without locks.
    using Destroyed = std::function<void(hip::Stream key)>;
    // Called before a capture of the stream begins, or may, in the same way; calls
    // Captures::change().
    using BeginCapture = std::function<void(hip::Stream key, bool surely)>;
    Gates(const hip::Mapping& mapping, Holds& holds, QueueOrder& order, DirectStreams& direct,
          FindHip find_hip, BeginCapture begin_capture, Destroyed destroyed);

    Captures& captures() { return captures_; }

    // Puts a marker behind the work in the stream, see place_marker().
    Result<std::shared_ptr<xqueue::Marker>> mark(hip::Stream key, hip::Stream handle, int device);

    // Returns whether all work of the stream has ended, including work that no xqueue knows of.
    // wait_for() waits for that. Neither ends a capture; a captured stream counts as idle.
    Result<bool> is_idle(hip::Stream handle);
    Result<void> touch(hip::Stream handle);    // hip::touch_stream(), and waits for the packet
    Result<int> device_of(hip::Stream handle); // see hip::device_of()
    // The stream that the handle names when the call begins, and its device. It has a queue if the
    // hook is loaded. EBUSY: another thread destroys it.
    Result<std::pair<hook::StreamRecord, int>> identify(hip::Stream handle);
    Result<void> wait_for(hip::Stream handle);

    // Called after calls that put work into a stream, in the program's threads and without locks,
    // until it returns true for the stream. Set once.
    using Worked = std::function<bool(hip::Stream key)>;
    void watch_work(Worked worked);

    // Threads that wait here because of that queue.
    [[nodiscard]] std::uint32_t waiters(hip::QueueRef queue) const;

    // For the end of the process: no call waits here from now on.
    void shut();
    // After shut(), with every queue running: until the calls that waited have returned, so that no
    // thread enters HIP while it goes down. Returns false at the deadline: work without an end
    // keeps its thread in HIP.
    bool wait_for_calls(std::chrono::steady_clock::time_point deadline);

    // In the child of a fork, where neither queues nor waiters are.
    static void forget();

private:
    // A stream whose queue was found not to be stopped, as of a generation: what the calling thread
    // launches into it needs no look.
    struct FreeStream {
        const void* stream; // key
        std::uint64_t hsa_queue;
        std::uint64_t generation; // 0: none
    };
    static thread_local FreeStream free_here;
    static inline std::atomic<Gates*> the_gates{nullptr};

    static void before(const hook::Call* call);
    static void after(const hook::Call* call, int error);
    static void queue_ends(std::uint32_t kfd_queue_id, std::uint32_t generation);
    static void queue_ended(std::uint32_t kfd_queue_id, std::uint32_t generation,
                            std::uint32_t destroyed);
    void enter(const hook::Call& call);
    void enter_held(const hook::Call& call);
    void enter_direct(const hook::Call& call);
    void leave_direct(const hook::Call& call, bool done);
    void report_work(const hook::Call& call);
    void choose_gate();
    void leave(const hook::Call& call, int error);
    void wait_outside(const hook::Call& call);
    [[nodiscard]] bool is_free(const hook::Call& call) const;
    [[nodiscard]] bool has_room(const hook::Call& call) const;
    bool made_no_edge(const hook::Call& call);
    void holds_changed();
    void go_on();

    // Stopped queues that the call would wait for; none: it may be made.
    std::set<hip::QueueRef> in_the_way(const hook::Call& call);
    std::set<hip::QueueRef> room_for(const hook::Call& call, const std::vector<SeenQueue>& queues);
    std::set<hip::QueueRef> unfinished(const void* key, hip::Stream handle,
                                       const std::vector<SeenQueue>& queues);
    std::set<hip::QueueRef> unfinished_streams(const hook::Call& call, bool all,
                                               const std::vector<SeenQueue>& queues);
    bool is_done(hip::Event event, const std::optional<RecordedEvents::Where>& recorded);
    std::set<hip::QueueRef> event_in_the_way(const hook::Call& call,
                                             const std::vector<SeenQueue>& queues);
    [[nodiscard]] bool is_blocking(hip::Stream handle);

    void lift_for_destroy(const hook::Call& call);
    void lift_all();
    void end_destroy(const hook::Call& call, bool destroyed);
    bool is_captured(const void* key, const void* handle);
    void look_for_captures();
    void begin_delayed(const hook::Call& call, std::uint64_t begun);
    void end_wait();

    const hip::Mapping& mapping_;
    Holds& holds_;
    QueueOrder& order_;
    DirectStreams& direct_;
    const FindHip find_hip_;
    const BeginCapture begin_capture_;
    const Destroyed destroyed_;
    Worked worked_;
    std::atomic<bool> watched_{false}; // worked_ is set
    std::mutex gate_mutex_;            // so that the last choice is set last

    RecordedEvents events_;
    Captures captures_;
    std::atomic<bool> shut_{false};
    std::atomic<std::uint64_t> generation_{1}; // changes when other queues may be stopped

    mutable std::mutex mutex_; // all below
    std::condition_variable changed_;
    std::uint64_t changes_ = 0;
    std::list<std::set<hip::QueueRef>> waiters_; // the queues of each
    std::uint32_t released_ = 0; // calls that waited until shut() and haven't returned
};

} // namespace xpreempt::backend
