// SPDX-License-Identifier: MIT
// Joins the modules for this process.
#include "capi/library.hpp"

#include "base/caller_state.hpp"
#include "base/log.hpp"
#include "base/start_thread.hpp"
#include "capi/control.hpp"
#include "kfd/slot_use.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <functional>
#include <future>
#include <memory>
#include <new>
#include <pthread.h>
#include <string>
#include <string_view>
#include <thread>

namespace xpreempt::capi {

namespace {

// Calls that waited for a held queue return when its work has ended, which has an end in a program
// that exits in order. HIP waits for that work as well, and without a bound.
constexpr std::chrono::seconds patience_at_exit{5};

using Deadline = std::chrono::steady_clock::time_point;

// Calls body again, until the deadline, if it finds no memory: no exception may leave an exit.
template <typename Body> void try_until(Deadline deadline, const Body& body) {
    for (;;) {
        try {
            body();
            return;
        } catch (const std::bad_alloc&) {
            if (std::chrono::steady_clock::now() >= deadline)
                return;
        }
        std::this_thread::sleep_for(retry);
    }
}

// Calls body in a thread of its own, and returns when it has ended, or at the deadline. Without
// threads it is not called.
void within(Deadline deadline, std::function<void()> body) {
    const auto ended = std::make_shared<std::promise<void>>();
    auto started = start_thread("xpreempt-exit", [deadline, ended, body = std::move(body)] {
        try_until(deadline, body);
        ended->set_value();
    });
    if (!started)
        return;
    started->detach();
    (void)ended->get_future().wait_until(deadline);
}

std::atomic<bool> is_child{false};
std::atomic<Library*> library{nullptr};
constinit std::mutex making; // the library

// For tests, for users of a debugger, and to keep away from a transport that doesn't work.
const char* wanted_transport() {
    const char* name = ::secure_getenv("XPREEMPT_TRANSPORT");
    return name != nullptr ? name : "";
}

// XPREEMPT_LOG: the least important messages to report.
void log_as_environment_says() {
    const char* wanted = ::secure_getenv("XPREEMPT_LOG");
    if (wanted == nullptr || *wanted == '\0')
        return;
    constexpr std::array<std::string_view, 5> names{"none", "error", "warning", "info", "debug"};
    const auto found = std::ranges::find(names, std::string_view(wanted));
    if (found == names.end())
        std::fprintf(stderr,
                     "libxpreempt: XPREEMPT_LOG=%s: use error, warning, info or debug; ignored\n",
                     wanted);
    else
        log::set(nullptr, log::Level(found - names.begin()), nullptr);
}

// Reads files of each queue of the machine, so only if warnings are logged.
void report_slots() {
    if (log::sink.most.load(std::memory_order_relaxed) < log::Level::warning)
        return;
    for (const kfd::SlotUse& use : kfd::slot_uses(kfd::roots_from_environment()))
        if (const std::string cost = cost_of(use); !cost.empty())
            log::report(log::Level::warning, "%s", cost.c_str());
}

} // namespace

Library& Library::instance() {
    if (Library* made = library.load(std::memory_order_acquire); made != nullptr)
        return *made;
    const CallerState state;
    const std::lock_guard lock(making);
    if (library.load(std::memory_order_relaxed) == nullptr) {
        library.store(new Library, std::memory_order_release);
        // Behind it: the socket's thread uses the library.
        library.load()->start_as_environment_says();
    }
    return *library.load();
}

// Not in the child, which may have inherited a lock of the dynamic linker.
void Library::before_fork() {
    if (Library* made = library.load(); made != nullptr && hip::is_runtime_loaded())
        made->used_.store(true);
}

// A launcher that only asked for what there is may fork workers, each of which begins anew. Not if
// another of its threads was in its first call: the child would wait for that thread.
void Library::after_fork() {
    const std::unique_lock lock(making, std::try_to_lock);
    if (Library* made = library.load(); !lock || (made != nullptr && made->used_.load()))
        is_child.store(true, std::memory_order_relaxed);
    else
        library.store(nullptr);
    backend::Gates::forget();
    log::unlock();
}

const int Library::watches_forks = pthread_atfork(before_fork, nullptr, after_fork);

bool Library::forked() {
    return is_child.load(std::memory_order_relaxed);
}

Library::Library()
    : mapping_(hip::Mapping::of_process()),
      selected_(backend::select_transport(mapping_, wanted_transport())),
      holds_(*selected_.transport, &mapping_), order_(mapping_, holds_),
      gates_(
          mapping_, holds_, order_, direct_, [this] { return hip(); },
          [this](hip::Stream key, bool surely) { begin_capture(key, surely); },
          [this](hip::Stream key) {
              automatic_.note_end(key);
              labels.forget_stream(key);
              if (key == nullptr)
                  guardians_.note_reset();
          }) {
    log_as_environment_says();
    log::report(log::Level::info, "transport %s%s%s%s", backend::name_of(selected_.probe.kind),
                selected_.probe.reason.empty() ? "" : ": ", selected_.probe.reason.c_str(),
                mapping_.available() ? "" : "; libxpreempt-hook.so is not loaded");
}

Result<const hip::Functions*> Library::hip() {
    const std::lock_guard lock(hip_mutex_);
    if (!hip_)
        hip_ = TRY(hip::loaded_runtime(mapping_.table()));
    return &*hip_;
}

std::shared_ptr<backend::DirectCalls> Library::direct_calls(hip::Stream key, hip::Stream handle,
                                                            std::optional<int> device) {
    if (!mapping_.available())
        return nullptr;
    std::call_once(slots_reported_, report_slots);
    return direct_.of(
        key, [this, key, handle, device]() -> Result<std::shared_ptr<xqueue::Marker>> {
            return gates_.mark(key, handle, device ? *device : TRY(gates_.device_of(handle)));
        });
}

// The end of commands from before a capture can't be seen during it, and a launch that is in
// progress would get into the graph. Where there may be no capture they are not waited for.
void Library::begin_capture(hip::Stream key, bool surely) {
    constexpr std::chrono::seconds patience{1};
    const auto hooked = surely ? find_hooked(key) : nullptr;
    const auto xqueue = hooked ? hooked->xqueue().stream : nullptr;
    if (xqueue && !xqueue->finish_until(std::chrono::steady_clock::now() + patience))
        log::report(log::Level::warning,
                    "commands of an xqueue are unfinished as a capture of its stream begins: their "
                    "end is seen after it");
    gates_.captures().change(key);
    if (xqueue && !xqueue->outlast_launch_until(std::chrono::steady_clock::now() + patience))
        log::report(log::Level::warning, "a command that is launched as a capture of its stream "
                                         "begins becomes a part of the graph");
}

Library::Owner Library::owner_of(const Hooked& hooked, hip::Stream key) {
    if (auto [handle, xqueue, ends] = hooked->xqueue(); xqueue != nullptr && !ends)
        return {handle, key, std::move(xqueue), hooked};
    return {reinterpret_cast<std::uintptr_t>(hooked.get()) | hooked_bit, key, hooked, hooked};
}

Library::Owner Library::owner_of(hip::Stream stream) {
    const hip::Stream key = mapping_.key_of(stream);
    const auto hooked = find_hooked(key);
    return hooked ? owner_of(hooked, key) : Owner{};
}

Result<Library::Owner> Library::ensure_owner(hip::Stream stream) {
    auto owner = owner_of(stream);
    if (!owner.is_xqueue() && !mapping_.available())
        return fail(ENOSYS, Op::map_stream);
    if (owner.stream != nullptr)
        return owner;
    // hipStreamPerThread names another stream in the threads of ours that wait for its work.
    if (hip::is_per_thread(stream))
        return fail(EOPNOTSUPP, Op::thread_stream);
    const auto [named, device] = TRY(gates_.identify(stream));
    return owner_of(TRY(make_hooked(named, device)), const_cast<void*>(named.key));
}

Result<Library::Owner> Library::ensure_owner_of(hip::Stream key) {
    if (auto owner = owner_of(key); owner.stream != nullptr)
        return owner;
    for (const hook::StreamRecord& record : mapping_.streams()) {
        if (record.key != key)
            continue;
        if (hip::is_per_thread(const_cast<void*>(record.handle)))
            return fail(EOPNOTSUPP, Op::thread_stream);
        return owner_of(TRY(make_hooked(record, mapping_.device_of_null(key))), key);
    }
    return fail(ENOENT, Op::map_stream);
}

Result<Library::Owner> Library::find_xqueue(std::uint64_t handle) const {
    return Owner{handle, nullptr, TRY(xqueues.find(handle)), nullptr};
}

void Library::forget(const Hooked& hooked) {
    scheduling.destroyed(*hooked);
    order_.forget_owner(reinterpret_cast<std::uintptr_t>(hooked.get()) | hooked_bit);
}

void Library::rank(const Owner& found, const std::function<void(xqueue::Holdable&)>& change) {
    auto owner = found;
    {
        const std::lock_guard lock(owners_mutex);
        if (found.hooked != nullptr) // it may have got an xqueue
            owner = owner_of(found.hooked, found.key);
        change(*owner.stream);
        if (!owner.is_xqueue()) {
            schedule(owner, owner.key);
            if (!owner.stream->lives()) // else find_hooked() forgets it
                forget(owner.hooked);
        }
    }
    order_.set_priority(owner.id, owner.stream->priority());
    if (const auto scheduler = scheduling.running())
        scheduler->changed();
}

Result<void> Library::hand_over(const Hooked& hooked, std::uint64_t handle,
                                const std::shared_ptr<xqueue::XQueue>& xqueue) {
    const auto [stream, name, given] = labels.of_xqueue(handle);
    xqueue->set_priority(hooked->priority());
    xqueue->set_attributes(hooked->attributes());
    schedule({handle, stream, xqueue, hooked}, given);
    TRY(hooked->pass_to({handle, xqueue}, xqueue->level().level));
    order_.set_priority(handle, hooked->priority());
    forget(hooked);
    hooked->set_priority(0);
    hooked->set_attributes({});
    return {};
}

// Adds one that was not scheduled before, or nothing if it throws.
void Library::schedule(const Owner& owner, hip::Stream name) {
    if (!order_.add_owner(owner.id, owner.key))
        return;
    const auto queue = mapping_.queue_of(owner.key);
    try {
        scheduling.created(owner.stream,
                           {queue ? queue->gpu_id : 0, owner.is_xqueue() ? owner.id : 0, name});
    } catch (const std::bad_alloc&) {
        scheduling.destroyed(*owner.stream);
        order_.forget_owner(owner.id);
        throw;
    }
}

void Library::start_as_environment_says() {
    open_control_as_environment_says(*this);
    // Beside the adapter the variables are for XSched, whose own scheduler holds the streams.
    if (::dlsym(RTLD_DEFAULT, "XPreemptHipQueueCreate") != nullptr)
        return;
    const auto settings = read_automatic_settings(
        [](const char* name) -> const char* { return ::secure_getenv(name); });
    if (settings.policy || settings.streams)
        release_at_exit();
    automatic_.start(settings);
}

std::uint32_t Library::waiters(hip::Stream key, const hip::QueueRecord& queue) const {
    const auto calls = direct_.find(key);
    return gates_.waiters(hip::ref_of(queue)) + (calls ? calls->waiters() : 0);
}

// Forgets those whose stream was destroyed.
Library::Hooked Library::find_hooked(hip::Stream key) {
    std::map<hip::Stream, Hooked> dead; // filled without memory
    std::unique_lock lock(hooked_mutex_);
    for (auto next = hooked_.begin(); next != hooked_.end();) {
        const auto entry = next++;
        if (!entry->second->lives())
            dead.insert(hooked_.extract(entry));
    }
    const auto found = hooked_.find(key);
    auto hooked = found == hooked_.end() ? nullptr : found->second;
    lock.unlock();
    for (const auto& [gone, stream] : dead)
        forget(stream);
    return hooked;
}

Result<Library::Hooked> Library::make_hooked(const hook::StreamRecord& stream,
                                             std::optional<int> device) {
    auto* const key = const_cast<void*>(stream.key);
    auto hooked = find_hooked(key);
    if (hooked == nullptr) {
        release_at_exit();
        hooked = std::make_shared<backend::HookedStream>(
            *selected_.transport, selected_.probe, mapping_, holds_, key, stream.birth,
            direct_calls(key, const_cast<void*>(stream.handle), device));
        const std::lock_guard lock(hooked_mutex_);
        hooked = hooked_.try_emplace(key, hooked).first->second;
    }
    if (hooked->birth() != stream.birth)
        return fail(EBUSY, Op::call_hip);
    return hooked;
}

void Library::release_at_exit() {
    used_.store(true);
    // HIP goes down in its turn among the functions of atexit(), so it needs one behind HIP's.
    std::call_once(exit_registered_[hip::is_runtime_loaded() ? 1 : 0], [] {
        std::atexit([] {
            if (!forked())
                instance().let_everything_run();
        });
    });
}

void Library::let_everything_run() {
    if (ended_.exchange(true))
        return;
    const CallerState state;
    const auto deadline = std::chrono::steady_clock::now() + patience_at_exit;
    abandon_control(); // first: a client could stop a queue that runs again
    try_until(deadline, [this] { gates_.shut(); });
    order_.shut();
    // Nothing is held from here on. A launch in progress may wait for a held queue, and what
    // follows waits for launch functions and for work on the GPU.
    try_until(deadline, [&] { holds_.release_all(deadline); });
    try_until(deadline, [&] {
        within(deadline, [this, exiting = std::this_thread::get_id()] {
            (void)scheduling.stop();
            direct_.join();
            for (const auto& [handle, xqueue] : xqueues.entries()) {
                if (xqueue->launches_in(exiting))
                    continue; // that function doesn't return
                (void)xqueue->drop();
                while (xqueue->state().suspends > 0 && xqueue->resume()) {
                }
            }
        });
    });
    try_until(deadline, [&] { (void)gates_.wait_for_calls(deadline); });
    // HIP must not go down while one of our threads is in it.
    try_until(deadline, [&] { gates_.captures().end_waits(nullptr, deadline); });
}

} // namespace xpreempt::capi
