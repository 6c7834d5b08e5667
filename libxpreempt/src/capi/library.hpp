// SPDX-License-Identifier: MIT
// Composition root: what one process has of everything below the C interface.
#pragma once

#include "backend/direct_calls.hpp"
#include "backend/gates.hpp"
#include "backend/hooked_stream.hpp"
#include "backend/queue_order.hpp"
#include "backend/stream_queue.hpp"
#include "backend/together.hpp"
#include "backend/transport.hpp"
#include "base/handle_table.hpp"
#include "capi/automatic.hpp"
#include "capi/global.hpp"
#include "capi/labels.hpp"
#include "hip/mapping.hpp"
#include "hip/runtime.hpp"
#include "sched/local.hpp"
#include "xqueue/xqueue.hpp"

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

namespace xpreempt::capi {

class Library {
public:
    using Hooked = std::shared_ptr<backend::HookedStream>;

    // Made at first use, and never destroyed: handles may be used by other libraries' destructors.
    static Library& instance();

    // True in a child of a process with a HIP runtime, or that made something of the library's.
    [[nodiscard]] static bool forked();

    [[nodiscard]] const hip::Mapping& mapping() const { return mapping_; }
    [[nodiscard]] const backend::Probe& probe() const { return selected_.probe; }
    [[nodiscard]] backend::Transport& transport() const { return *selected_.transport; }
    [[nodiscard]] const kfd::Device* device() const { return selected_.device.get(); }
    backend::Holds& holds() { return holds_; }
    backend::GuardianPool& guardians() { return guardians_; }
    backend::QueueOrder& order() { return order_; }
    backend::Gates& gates() { return gates_; }
    xqueue::Together& together() { return together_; }

    // HIP may be loaded later than we are, so it is looked for until it is found.
    Result<const hip::Functions*> hip();

    // Returns the calls by which the program itself puts work into the stream, or null without the
    // hook, because only the hook sees them. device: the stream's; nullopt: ask HIP when it is
    // needed. The handle of a null stream doesn't name its device.
    std::shared_ptr<backend::DirectCalls> direct_calls(hip::Stream key, hip::Stream handle,
                                                       std::optional<int> device);

    // Null: nobody has held the stream, set its priority or made an xqueue of it.
    Hooked find_hooked(hip::Stream key);
    // The stream as an object that can be held and scheduled, made if it is not there yet. EBUSY:
    // it was destroyed, and another one has its key.
    Result<Hooked> make_hooked(const hook::StreamRecord& stream, std::optional<int> device);
    // The object that holds and ranks a stream: its xqueue if it has one, else its hooked stream.
    struct Owner {
        std::uint64_t id = 0; // in QueueOrder: the handle of an xqueue, or hooked_bit and more
        hip::Stream key = nullptr;
        std::shared_ptr<xqueue::Holdable> stream; // null: neither
        Hooked hooked;                            // null: found by a handle
        [[nodiscard]] bool is_xqueue() const { return stream != nullptr && (id & hooked_bit) == 0; }
    };
    static Owner owner_of(const Hooked& hooked, hip::Stream key);
    Owner owner_of(hip::Stream stream);
    // Makes a hooked stream where there is neither. ENOSYS: no hook.
    Result<Owner> ensure_owner(hip::Stream stream);
    // The same by a key of Mapping::streams(). Calls nothing of HIP: for threads of ours. ENOENT:
    // the hook knows no such stream. EOPNOTSUPP: it is a thread's hipStreamPerThread.
    Result<Owner> ensure_owner_of(hip::Stream key);
    // The xqueue of a handle.
    Result<Owner> find_xqueue(std::uint64_t handle) const;
    // Changes priority or attributes. The schedulers get to know the stream by it.
    void rank(const Owner& found, const std::function<void(xqueue::Holdable&)>& change);
    // An xqueue of the stream takes over its holds and its rank. With owners_mutex. After an error
    // or an exception only the xqueue has changed.
    Result<void> hand_over(const Hooked& hooked, std::uint64_t handle,
                           const std::shared_ptr<xqueue::XQueue>& xqueue);
    // After a change of priorities or attributes: updates xpreemptd, if it schedules this process.
    Result<void> update_daemon(GlobalScheduling::Part set) {
        return global.update(wanted_of_daemon(), set);
    }
    [[nodiscard]] GlobalScheduling::Wanted wanted_of_daemon() const {
        return {scheduling.highest_priority(), scheduling.strongest_attributes()};
    }

    // Opens the socket and starts the scheduling that the environment asks for. Once, after the
    // construction.
    void start_as_environment_says();

    // Threads in HIP calls that wait for the stream, or its queue, outside of HIP.
    [[nodiscard]] std::uint32_t waiters(hip::Stream key, const hip::QueueRecord& queue) const;

    // At exit HIP waits for its streams: what is held must run before. To be called before anything
    // is made that a child of fork() must not use.
    void release_at_exit();

    std::mutex owners_mutex; // who owns a stream, and is scheduled; before the schedulers' locks
    HandleTable<xqueue::XQueue> xqueues;
    Labels labels{mapping_};
    sched::LocalScheduling scheduling{together_};
    GlobalScheduling global;

private:
    static constexpr std::uint64_t hooked_bit = std::uint64_t{1} << 63; // no handle is that large

    Library();
    static void before_fork();
    static void after_fork();
    static const int watches_forks;
    void let_everything_run();
    void begin_capture(hip::Stream key, bool surely);
    void forget(const Hooked& hooked);
    void schedule(const Owner& owner, hip::Stream name);

    hip::Mapping mapping_;
    backend::Selected selected_;
    backend::Holds holds_;
    backend::GuardianPool guardians_;
    backend::QueueOrder order_;
    backend::KfdTogether together_{mapping_, holds_};
    backend::DirectStreams direct_;
    AutomaticStreams automatic_{*this};
    std::atomic<bool> used_{false}; // for more than to look what there is
    std::mutex hip_mutex_;
    std::optional<hip::Functions> hip_;
    std::mutex hooked_mutex_;
    std::map<hip::Stream, Hooked> hooked_;
    std::once_flag exit_registered_[2]; // before HIP was loaded, and since
    std::once_flag slots_reported_;
    std::atomic<bool> ended_{false}; // the process is about to end
    backend::Gates gates_;           // last: the program's threads come by it from then on
};

} // namespace xpreempt::capi
