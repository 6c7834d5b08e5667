// SPDX-License-Identifier: MIT
// Decides which HIP calls would block on a held queue, and blocks them outside HIP.
#include "backend/gates.hpp"

#include "backend/thread_state.hpp"
#include "backend/ungated.hpp"
#include "base/caller_state.hpp"
#include "base/log.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <new>
#include <string_view>
#include <utility>

namespace xpreempt::backend {

namespace {

using hip::is_handle;
using hook::Call;
using hook::CallClass;
using Queues = std::vector<SeenQueue>;
using Refs = std::set<hip::QueueRef>;

// All queues run during the calling thread's call.
thread_local bool all_lifted = false;

// Stream that the calling thread's call destroys or may add to a capture, between before and after.
thread_local const void* changing = nullptr;

template <typename... Classes> constexpr std::uint64_t mask_of(Classes... classes) {
    return ((std::uint64_t{1} << static_cast<unsigned>(classes)) | ...);
}

// Calls whose effects must be recorded for later calls, even while no queue is held.
constexpr std::uint64_t always =
    mask_of(CallClass::event_record, CallClass::event_edge, CallClass::capture,
            CallClass::stream_destroy, CallClass::device_reset);
// Calls that put work into a stream.
constexpr std::uint64_t work =
    mask_of(CallClass::launch, CallClass::cooperative, CallClass::graph, CallClass::callback,
            CallClass::copy, CallClass::blocking_copy, CallClass::fill, CallClass::blocking_fill,
            CallClass::memory, CallClass::memory_op);
constexpr std::uint64_t while_direct = always | work;
constexpr std::uint64_t while_held =
    while_direct | mask_of(CallClass::event_wait, CallClass::stream_wait, CallClass::device_wait,
                           CallClass::unload);

// Calls for which HIP waits.
constexpr std::uint64_t waits =
    mask_of(CallClass::blocking_copy, CallClass::blocking_fill, CallClass::event_wait,
            CallClass::stream_wait, CallClass::device_wait);

// The call of this thread waited at the gate; and that until Gates::shut().
thread_local bool waited_here = false, released_here = false;

bool is_in(std::uint64_t classes, const Call& call) {
    return ((classes >> static_cast<unsigned>(call.call_class)) & 1) != 0;
}

// Those of the records that are stopped.
std::vector<const SeenQueue*> standing_of(const std::vector<hip::QueueRecord>& records,
                                          const Queues& queues) {
    std::vector<const SeenQueue*> standing;
    for (const hip::QueueRecord& record : records)
        for (const SeenQueue& queue : queues)
            if (hip::ref_of(queue.record) == hip::ref_of(record) && queue.stands())
                standing.push_back(&queue);
    return standing;
}

// Adds the queue and, if it waits on a held queue, that one too.
void add(Refs& refs, const SeenQueue& queue) {
    refs.insert(hip::ref_of(queue.record));
    if (queue.waits_for)
        refs.insert(hip::ref_of(*queue.waits_for));
}

bool begins_capture(const Call& call) {
    return call.call_class == CallClass::capture &&
           std::string_view(call.name).find("Begin") != std::string_view::npos;
}

// Calls for which HIP waits for streams that it destroys, or for all.
bool destroys(const Call& call) {
    return call.call_class == CallClass::stream_destroy ||
           call.call_class == CallClass::device_reset || call.call_class == CallClass::unload;
}

// Calls that put one kernel into the stream's queue when they reserve one packet.
constexpr bool is_kernel(CallClass call_class) {
    return call_class == CallClass::launch || call_class == CallClass::fill;
}

// Calls that put packets into the stream's queue only, and never make the caller wait for them.
constexpr bool stays_in_queue(CallClass call_class) {
    return is_kernel(call_class) || call_class == CallClass::event_record;
}

} // namespace

thread_local Gates::FreeStream Gates::free_here{};

Gates::Gates(const hip::Mapping& mapping, Holds& holds, QueueOrder& order, DirectStreams& direct,
             FindHip find_hip, BeginCapture begin_capture, Destroyed destroyed)
    : mapping_(mapping), holds_(holds), order_(order), direct_(direct),
      find_hip_(std::move(find_hip)), begin_capture_(std::move(begin_capture)),
      destroyed_(std::move(destroyed)) {
    holds_.on_change([this] { holds_changed(); });
    direct_.on_change([this] { choose_gate(); });
    order_.on_change([this] { go_on(); });
    the_gates.store(this, std::memory_order_release);
    holds_changed();
    look_for_captures();
}

// With no queue held, a call whose state need not be recorded costs one atomic load.
void Gates::choose_gate() {
    static constexpr auto gate_of = [](std::uint64_t classes) {
        return hook::Gate{sizeof(hook::Gate), 0, classes, before, after, queue_ends, queue_ended};
    };
    static constexpr hook::Gate idle = gate_of(always), direct = gate_of(while_direct),
                                held = gate_of(while_held);
    if (!mapping_.available())
        return;
    const std::lock_guard lock(gate_mutex_);
    const bool shows_work = direct_.any() || watched_.load(std::memory_order_relaxed);
    mapping_.table()->set_gate(holds_.any() ? &held : shows_work ? &direct : &idle);
}

void Gates::watch_work(Worked worked) {
    worked_ = std::move(worked);
    watched_.store(true, std::memory_order_release);
    choose_gate();
}

// Skips a thread's own stream, which is never scheduled, and a captured one, which has no queue.
void Gates::report_work(const Call& call) {
    auto* const handle = const_cast<void*>(call.handle);
    const bool is_threads_own =
        hip::is_per_thread(handle) || (call.per_thread != 0 && !is_handle(handle));
    if (Ungated::here() || call.stream == nullptr || is_threads_own)
        return;
    auto* const key = const_cast<void*>(call.stream);
    if (is_in(work, call) && !known(direct_, key).reported && !is_captured(key, handle)) {
        const CallerState state;
        const bool is_over = worked_(key);
        known(direct_, key).reported = is_over;
    }
}

void Gates::holds_changed() {
    choose_gate();
    order_.settle();
    order_.ensure_repeated();
    go_on();
}

void Gates::go_on() {
    holds_.report_deaths();
    const std::lock_guard lock(mutex_);
    ++changes_;
    generation_.fetch_add(1, std::memory_order_release);
    changed_.notify_all();
}

void Gates::shut() {
    shut_.store(true);
    direct_.shut();
    go_on();
}

void Gates::forget() {
    the_gates.store(nullptr);
}

std::uint32_t Gates::waiters(hip::QueueRef queue) const {
    const std::lock_guard lock(mutex_);
    return static_cast<std::uint32_t>(std::ranges::count_if(
        waiters_, [&](const Refs& queues) { return queues.contains(queue); }));
}

// The border to the hook and to HIP: no exception leaves. Without memory a call isn't gated; during
// one for whose stream HIP waits, all queues run.
void Gates::before(const Call* call) try {
    if (Gates* gates = the_gates.load(std::memory_order_acquire); gates != nullptr)
        gates->enter(*call);
} catch (...) {
    if (Gates* gates = the_gates.load(std::memory_order_acquire);
        gates != nullptr && destroys(*call))
        gates->lift_all();
    log::report(log::Level::error, "%s: out of memory; it may block inside HIP", call->name);
}

void Gates::after(const Call* call, int error) try {
    if (Gates* gates = the_gates.load(std::memory_order_acquire); gates != nullptr)
        gates->leave(*call, error);
} catch (...) {
    log::report(log::Level::error, "%s: out of memory after the call", call->name);
}

void Gates::enter(const Call& call) {
    if (direct_.any())
        enter_direct(call);
    // A capture ends with its stream. Before the call: the next stream may get the address in it.
    // Before the lifts: until then a touch may bring the stream to a queue.
    if (call.call_class == CallClass::stream_destroy && is_handle(call.handle)) {
        destroyed_(const_cast<void*>(call.stream));
        captures_.ended(call.stream);
        captures_.change(changing = call.stream, true);
    } else if (call.call_class == CallClass::device_reset) {
        for (const hook::StreamRecord& stream : mapping_.streams())
            if (is_handle(stream.handle) && !mapping_.is_elsewhere(stream.key)) {
                thread_state().dying.push_back(stream.key);
                captures_.change(stream.key, true);
            }
    }
    enter_held(call);
    if (is_kernel(call.call_class)) // most calls
        return;
    if (call.call_class == CallClass::stream_destroy) // after enter_held(): its queues run now
        captures_.end_waits(call.stream);
    if (call.call_class == CallClass::device_reset) {
        for (const void* dying : thread_state().dying)
            captures_.end_waits(dying);
        thread_state().reset =
            direct_.begin_reset([this](const void* key) { return !mapping_.is_elsewhere(key); });
        for (const void* captured : captures_.captured())
            if (!mapping_.is_elsewhere(captured))
                captures_.ended(captured);
        if (const auto hip = find_hip_())
            hip::forget_kept_word(**hip);
    } else if (begins_capture(call)) {
        begin_capture_(const_cast<void*>(call.stream), true);
    } else if (call.call_class == CallClass::event_edge && captures_.any()) {
        const auto recorded = events_.find(call.event);
        if ((recorded && !is_captured(recorded->stream, recorded->handle)) ||
            is_captured(call.stream, call.handle))
            return; // it joins none
        begin_capture_(const_cast<void*>(changing = call.stream), recorded.has_value());
    }
}

void Gates::enter_held(const Call& call) {
    if (shut_.load(std::memory_order_relaxed) || Ungated::here())
        return;
    if (destroys(call))
        return call.call_class == CallClass::unload ? lift_all() : lift_for_destroy(call);
    if (!holds_.any() || is_free(call))
        return;
    // ROCr has one thread for all signals of the process, the resume's among them.
    if (mapping_.table()->in_event_thread() != 0 || call.call_class == CallClass::capture ||
        is_captured(call.stream, call.handle))
        return;
    if (!stays_in_queue(call.call_class) || !has_room(call))
        wait_outside(call);
}

// Ignores work that goes into a captured stream: it reaches no queue yet.
void Gates::enter_direct(const Call& call) {
    if (Ungated::here() || shut_.load(std::memory_order_relaxed))
        return;
    const bool is_work = is_in(work, call);
    const bool destroys = call.call_class == CallClass::stream_destroy;
    if (!is_work && !destroys)
        return;
    auto calls = known(direct_, call.stream).calls.lock();
    if (calls == nullptr || (is_work && is_captured(call.stream, call.handle)))
        return;
    const std::uint64_t begun = captures_.num_begun();
    if (!is_work)
        calls->begin_destroy();
    else if (calls->before(mapping_.table()->in_event_thread() == 0))
        begin_delayed(call, begun);
    thread_state().direct = std::move(calls);
}

void Gates::leave_direct(const Call& call, bool done) {
    const auto calls = std::exchange(thread_state().direct, nullptr);
    if (call.call_class == CallClass::stream_destroy)
        calls->end_destroy(done);
    else
        calls->after();
}

// The call comes later than without us: it ends no capture that began meanwhile. Where HIP would
// refuse it beside any, the capture may come first.
void Gates::begin_delayed(const Call& call, std::uint64_t begun) {
    waited_here = true;
    if (begun == captures_.num_begun() || !captures_.any())
        return;
    if (is_in(waits, call))
        captures_.wait_for_none();
    if (const auto hip = find_hip_())
        thread_state().aside.emplace(**hip);
}

void Gates::end_wait() {
    waited_here = false;
    if (state_here != nullptr)
        state_here->aside.reset();
    if (std::exchange(released_here, false)) {
        const std::lock_guard lock(mutex_);
        --released_;
        changed_.notify_all();
    }
}

void Gates::leave(const Call& call, int error) {
    if (waited_here) [[unlikely]]
        end_wait();
    if (changing != nullptr) [[unlikely]]
        captures_.changed(std::exchange(changing, nullptr));
    const bool done = error == hip::success;
    if (state_here != nullptr && state_here->direct != nullptr)
        leave_direct(call, done);
    if (done && watched_.load(std::memory_order_acquire))
        report_work(call);
    switch (call.call_class) {
    case CallClass::capture:
        if (begins_capture(call))
            captures_.began(call.stream, done);
        // hipStreamEndCapture() may be refused, and may come before the begin has returned.
        if ((done && !begins_capture(call)) || !is_captured(call.stream, call.handle))
            captures_.ended(call.stream);
        if (!captures_.knows_all())
            look_for_captures();
        return;
    case CallClass::stream_destroy:
        if (done)
            direct_.forget(call.stream);
        return end_destroy(call, done);
    case CallClass::device_reset:
        if (done)
            destroyed_(nullptr);
        if (state_here != nullptr) {
            for (const void* dying : std::exchange(state_here->dying, {}))
                captures_.changed(dying);
            direct_.end_reset(std::exchange(state_here->reset, {}),
                              [&](const void* key) { return done && mapping_.birth_of(key) == 0; });
        }
        return end_destroy(call, done);
    case CallClass::unload: return end_destroy(call, false);
    case CallClass::launch: // hipExtLaunchKernel, with the event of its end
    case CallClass::event_record:
        if (done && call.event != nullptr)
            events_.note(call.event, {call.stream, call.handle});
        break;
    default: break;
    }
    if (holds_.is_due()) [[unlikely]]
        order_.ensure_watched();
    // Any packet that the call put into a ring may wait on a held queue.
    if (holds_.any() && !made_no_edge(call))
        order_.settle();
}

bool Gates::is_free(const Call& call) const {
    return stays_in_queue(call.call_class) && free_here.stream == call.stream &&
           free_here.generation == generation_.load(std::memory_order_acquire);
}

// A kernel in one packet waits for nothing: where HIP makes it wait there is a barrier before it.
// An event's barrier may wait for a copy of its stream. An idle stream may have changed queues.
bool Gates::made_no_edge(const Call& call) {
    if (!stays_in_queue(call.call_class))
        return false;
    hook::CallPackets packets{};
    mapping_.table()->call_packets(&packets);
    if (packets.count > 1 || packets.by_doorbell != 0)
        return false;
    if (free_here.stream == call.stream && packets.count != 0 &&
        free_here.hsa_queue != packets.hsa_queue)
        free_here = {};
    return is_kernel(call.call_class) || packets.count == 0 ||
           !order_.has_waits(const_cast<void*>(call.stream), packets.hsa_queue);
}

// Returns the stream's stopped queues if any work of the stream is unfinished.
Refs Gates::unfinished(const void* key, hip::Stream handle, const Queues& queues) {
    Refs standing;
    bool outstanding = false;
    for (const SeenQueue* queue : standing_of(mapping_.busy_queues(key), queues)) {
        add(standing, *queue);
        outstanding = outstanding || queue->outstanding > 0;
    }
    if (standing.empty())
        return {};
    // A question puts packets into a default stream and ends a capture: there the ring has to do.
    const auto hip = find_hip_();
    if (!is_handle(handle) || !hip)
        return outstanding ? standing : Refs{};
    const Captures::Question question(captures_, *hip, key, handle);
    if (mapping_.birth_of(key) == 0) // it has ended since the caller saw it
        return {};
    if (!question)
        return outstanding ? standing : Refs{};
    const hip::AsideOfCaptures aside(**hip);
    return (*hip)->stream_query(handle) == hip::error_not_ready ? standing : Refs{};
}

// all: the call waits for every stream, at most of its device. Else for its own, and as the null
// stream's rules add: it waits for the blocking ones of its device, and each of these for it.
Refs Gates::unfinished_streams(const Call& call, bool all, const Queues& queues) {
    auto* const handle = const_cast<void*>(call.handle);
    const bool null_stream = !all && !is_handle(handle) && call.per_thread == 0 &&
                             reinterpret_cast<std::uintptr_t>(handle) != 2;
    const bool this_device =
        null_stream || (all && std::string_view(call.name).ends_with("Synchronize"));
    const bool of_program = !all && !null_stream;
    Refs refs = all ? Refs{} : unfinished(call.stream, handle, queues);
    if (of_program && (call.call_class == CallClass::stream_wait || !is_blocking(handle)))
        return refs;
    // The stream's, which may be another one than the thread's.
    const int device = of_program ? device_of(handle).value_or(hip::any_device) : hip::any_device;
    for (const hook::StreamRecord& record : mapping_.streams()) {
        auto* const key = const_cast<void*>(record.key);
        auto* const other = const_cast<void*>(record.handle);
        const auto standing = standing_of(mapping_.busy_queues(key), queues);
        if (standing.empty() || (this_device && mapping_.is_elsewhere(key)) ||
            (null_stream && !is_blocking(other)) ||
            (of_program && (other != nullptr ||
                            (device != hip::any_device && mapping_.device_of_null(key) != device))))
            continue;
        if (is_handle(other))
            refs.merge(unfinished(key, other, queues));
        else // some device's or thread's: no name for it here
            for (const SeenQueue* queue : standing)
                if (queue->outstanding > 0)
                    add(refs, *queue);
    }
    return refs;
}

Refs Gates::event_in_the_way(const Call& call, const Queues& queues) {
    const auto recorded = events_.find(call.event);
    if (is_done(const_cast<void*>(call.event), recorded))
        return {};
    const auto records = recorded ? mapping_.busy_queues(recorded->stream) : mapping_.queues();
    Refs standing;
    for (const SeenQueue* queue : standing_of(records, queues))
        add(standing, *queue);
    return standing;
}

// A stopped queue accepts at most max_packets_while_held packets.
Refs Gates::room_for(const Call& call, const Queues& queues) {
    Refs full;
    for (const SeenQueue* queue : standing_of(mapping_.busy_queues(call.stream), queues))
        if (queue->outstanding >= max_packets_while_held)
            add(full, *queue);
    return full;
}

// The same for a call that stays in its queue, as far as it is known without a scan of a ring. The
// queues aren't destroyed meanwhile: they are those of the stream that the caller uses.
bool Gates::has_room(const Call& call) const {
    // First: what changes meanwhile makes void what is remembered.
    const std::uint64_t generation = generation_.load(std::memory_order_acquire);
    bool stands = false;
    std::uint64_t hsa_queue = 0;
    for (const hip::QueueRecord& record : mapping_.busy_queues(call.stream)) {
        hsa_queue = record.hsa_queue;
        if (!order_.stood(hip::ref_of(record)))
            continue;
        stands = true;
        if (outstanding_in(record) >= max_packets_while_held)
            return false;
    }
    if (!stands)
        free_here = {call.stream, hsa_queue, generation};
    return true;
}

Refs Gates::in_the_way(const Call& call) {
    const Queues queues = order_.scan_queues();
    if (queues.empty())
        return {};
    switch (call.call_class) {
    case CallClass::device_wait: return unfinished_streams(call, true, queues);
    case CallClass::blocking_copy:
    case CallClass::blocking_fill: {
        Refs refs = unfinished_streams(call, false, queues);
        // HIP waits for the call's own kernel or copy as well.
        for (const SeenQueue* queue : standing_of(mapping_.busy_queues(call.stream), queues))
            add(refs, *queue);
        return refs;
    }
    case CallClass::stream_wait:
    // These go to queues that others use too, and would block them there.
    case CallClass::copy:
    case CallClass::cooperative:
    case CallClass::graph: return unfinished_streams(call, false, queues);
    case CallClass::event_wait: return event_in_the_way(call, queues);
    default: return room_for(call, queues);
    }
}

void Gates::wait_outside(const Call& call) {
    using namespace std::chrono_literals;
    const CallerState state;
    const std::uint64_t begun = captures_.num_begun();
    std::unique_lock lock(mutex_);
    std::uint64_t seen = changes_;
    lock.unlock();
    Refs queues = in_the_way(call);
    if (queues.empty())
        return;
    lock.lock();
    const auto mine = waiters_.insert(waiters_.end(), queues);
    // Copies and host functions of a held stream end without a resume and without a notice: poll.
    for (auto pause = 1ms; !shut_.load(std::memory_order_relaxed);
         pause = std::min(2 * pause, 64ms)) {
        changed_.wait_for(lock, pause, [&] { return changes_ != seen; });
        seen = changes_;
        lock.unlock();
        order_.ensure_watched();
        queues = in_the_way(call);
        lock.lock();
        *mine = queues;
        if (queues.empty())
            break;
    }
    waiters_.erase(mine);
    if (shut_.load(std::memory_order_relaxed)) {
        ++released_;
        waited_here = released_here = true;
        return;
    }
    lock.unlock();
    begin_delayed(call, begun);
}

bool Gates::wait_for_calls(std::chrono::steady_clock::time_point deadline) {
    std::unique_lock lock(mutex_);
    return changed_.wait_until(lock, deadline, [this] {
        return waiters_.empty() && released_ == 0;
    }) && direct_.wait_for_calls(deadline);
}

// HIP waits for what it destroys, so that has to run: the stream's queues, also if a hold of them
// begins meanwhile, and what those wait for.
void Gates::lift_for_destroy(const Call& call) {
    const bool reset = call.call_class == CallClass::device_reset;
    Refs mine;
    std::vector<hip::QueueRecord> to_lift;
    ThreadState& here = thread_state(); // first: a lift must be remembered
    for (const hook::StreamRecord& stream : mapping_.streams())
        if (reset ? !mapping_.is_elsewhere(stream.key) : stream.key == call.stream)
            for (const hip::QueueRecord& record : mapping_.busy_queues(stream.key))
                if (mine.insert(hip::ref_of(record)).second)
                    to_lift.push_back(record);
    const Queues queues = order_.scan_queues();
    for (const SeenQueue& queue : queues) {
        if (!mine.contains(hip::ref_of(queue.record)))
            continue;
        if (queue.waits_for)
            to_lift.push_back(*queue.waits_for);
        // The held queue that it may wait for isn't known, so all of them run meanwhile.
        for (const SeenQueue& other : queues)
            if (queue.unread && other.held)
                to_lift.push_back(other.record);
    }
    std::erase_if(to_lift, [this](const auto& record) { return !holds_.lift(record); });
    here.lifted = std::move(to_lift);
    // HIP waits for a start that the driver has refused.
    if (holds_.is_due())
        order_.ensure_repeated();
    go_on();
}

void Gates::lift_all() {
    if (!std::exchange(all_lifted, true))
        holds_.lift_all(true);
    if (holds_.is_due())
        order_.ensure_repeated();
}

void Gates::end_destroy(const Call& call, bool destroyed) {
    // HIP reuses the queue: drop this stream's holds, and those of all streams if none is left.
    if (destroyed && call.call_class == CallClass::stream_destroy)
        holds_.forget_stream(call.handle);
    if (state_here != nullptr)
        for (const hip::QueueRecord& record : std::exchange(state_here->lifted, {})) {
            const hip::QueueRef ref = hip::ref_of(record);
            if (destroyed &&
                mapping_.table()->streams_of(ref.kfd_queue_id, ref.generation, nullptr, 0) == 0)
                holds_.forget_streams(ref);
            holds_.drop_lift(ref);
        }
    if (std::exchange(all_lifted, false))
        holds_.lift_all(false);
    if (holds_.is_due())
        order_.ensure_repeated();
    go_on();
}

} // namespace xpreempt::backend
