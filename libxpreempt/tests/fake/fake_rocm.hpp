// SPDX-License-Identifier: MIT
// Records the calls to the fake driver, for tests to read.
#pragma once

#include <atomic>
#include <cstdint>

namespace fake {

struct Queue {
    std::atomic<std::uint32_t> percentage; // tests look while the library works
    std::uint32_t priority;
    std::uint64_t ring_base;
    std::atomic<bool> held;    // by PREEMPT_QUEUE
    std::atomic<bool> pending; // held, but not stopped yet
    std::uint32_t preempts;
    std::uint32_t updates;
    [[nodiscard]] bool is_stopped() const { return held || percentage == 0; }
};

struct Driver {
    bool patched; // set before the library's first call
    bool lost;    // the GPU was reset: each queue is dead
    Queue queues[64];
    bool fail_free = false; // FREE_MEMORY_OF_GPU fails
    // The next ones: stops are confirmed late, see Queue::pending; stops or starts are refused.
    std::atomic<unsigned> late_stops{0}, refused_stops{0}, refused_starts{0};
    std::atomic<int> refused_destroy{0};   // errno of the next DESTROY_QUEUE; 0: it is made
    void (*in_destroy)() = nullptr;        // called in DESTROY_QUEUE before the driver looks at it
    std::atomic<unsigned> late_answers{0}; // answer: how often a stop was not confirmed
    std::atomic<unsigned> switches{0};     // answer: calls of SWITCH
    // Not 0: of four stops and starts, about one is refused, one is late (a stop, for as long as
    // its start is refused by chance), and the answer of one is lost: it is done, and fails.
    std::atomic<std::uint32_t> faults{0};
};

// By what HIP tells ROCr of its packets. direct: by nothing, it stores index and doorbell itself.
enum class Seam { add, store, doorbell, direct };

// How the fake HIP behaves.
constexpr int max_devices = 2;
struct Hip {
    Seam seam = Seam::add;
    bool rings_in_vram = false;  // of queues that are created from now on
    std::uint64_t waits_for = 0; // signal that barriers wait for; 0: none
    unsigned packets_a_launch = 1;
    bool capturing = false;         // launches put nothing into queues
    std::atomic<bool> move = false; // the next launch's stream gets a new queue first
    std::atomic<void*> move_to =
        nullptr;              // the next launch's stream gets the queue of this one first
    bool null_marker = false; // launches first put a marker into the null stream's queue
    bool fail_destroy = false;
    std::atomic<bool> destroys_slowly{false}; // hipStreamDestroy() waits in the middle meanwhile
    std::atomic<const void*> dying = nullptr; // answer: the stream that it waits with
    std::atomic<unsigned> used_dying{0};      // answer: calls about that or a destroyed stream
    void (*in_fill)() = nullptr;              // called in hipMemsetAsync()
    bool events_stand = false; // those that are recorded in a stopped queue wait for its start
    void (*in_get_flags)(void* stream) = nullptr; // called in hipStreamGetFlags()
    std::atomic<bool> unfinished = false;         // streams and events say that they are not ready
    std::atomic<void*> running[2]{};              // the work of these streams does not end
    void* next_handle = nullptr;                  // of the next stream, once
    bool non_blocking = false;                    // streams say that they are
    bool destroyed_held = false;  // answer: a destroyed stream's queue was held all the time
    bool unloaded_held = false;   // answer: some queue was, when kernels were unloaded
    bool reuse_handles = false;   // a new stream has the handle of the last that was destroyed
    unsigned question_us = 0;     // a question whether something is done takes so long
    unsigned begin_us = 0;        // and so does the return from the begin of a capture
    void (*in_begin)() = nullptr; // called before it begins
    bool fail_end = false;        // of a capture, which goes on
    int version = 60443484;
    int devices = max_devices;               // that the process may use
    std::atomic<unsigned> freed_in_order{0}; // answer: calls of hipFreeAsync()
    std::atomic<unsigned> allocated{0};      // answer: calls of hipMalloc()
    void (*in_event_destroy)() = nullptr;    // called in hipEventDestroy()
    void (*in_host_malloc)() = nullptr;      // called in hipHostMalloc()
    bool falls = true; // when it goes down while a thread is in hipEventSynchronize()
    std::atomic<bool> goes_down_slowly{false}; // at exit; hipStreamSynchronize() takes time then
    std::atomic<unsigned> asked{0};            // answer: such questions
    // answer: events and memory that were used on a stream of another device
    std::atomic<unsigned> wrong_devices{0};
    std::atomic<unsigned> records{0};                // answer: calls of hipEventRecord()
    std::atomic<unsigned> records_on[max_devices]{}; // answer: of these, on streams of each device
    std::atomic<int> threads_left{-1};         // that the process may start; below 0: any number
    std::atomic<unsigned> synchronizing{0};    // answer: threads in hipEventSynchronize()
    std::atomic<bool> captures_ended{false};   // answer: a question ended them
    std::atomic<unsigned> captured_records{0}; // answer: events that were recorded in captures
};

} // namespace fake

extern "C" fake::Hip* fake_hip();
// The stream that the handle names in the calling thread, for Hip::running: each device has a null
// stream, and each thread its own hipStreamPerThread on each device.
extern "C" void* fake_stream(void* handle);
// Hip::captures_ended, which is false again after it.
extern "C" bool fake_captures_ended();
extern "C" fake::Driver* fake_driver();
extern "C" bool fake_any_held(); // a queue is stopped
// For C: the next stop is late, until it is confirmed; and Driver::late_answers.
extern "C" void fake_stop_late();
extern "C" void fake_confirm_stop();
extern "C" unsigned fake_late_answers();
// Sets Driver::patched as FAKE_DRIVER says: patched or stock (default).
extern "C" void fake_choose_driver();
