// SPDX-License-Identifier: MIT
// xpreempt/xqueue.h, sched.h and stats.h in C++: xqueues, their commands, and suspends.
#pragma once

#include <xpreempt/cxx/callable.hpp>
#include <xpreempt/cxx/commands.hpp>
#include <xpreempt/guardian.h>
#include <xpreempt/notify.h>
#include <xpreempt/sched.h>
#include <xpreempt/stats.h>
#include <xpreempt/xqueue.h>

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace xpreempt::inline v0_tl {

// struct xp_xqueue_options
struct XQueueOptions {
    std::uint32_t threshold = 0;
    std::uint32_t batch = 0;
    std::uint32_t capacity = 0;
    std::uint32_t max_level = 0;         // XP_LEVEL_*
    std::uint32_t flags = 0;             // XP_ALLOW_SHARED, XP_STOP_FOR_OWN_LAUNCH, XP_DEFERRED
    std::uint32_t deactivate_method = 0; // XP_METHOD_*
    std::chrono::nanoseconds latency_budget{0};
};

// Owner of an xqueue. Any number of threads may call, except that nothing else may happen during a
// move, and nothing during or after the destructor.
//
// The destructor and the move assignment resume the xqueue, launch what waits and block until all
// of it has completed on the GPU, as xp_xqueue_destroy(). Call drop() before to forget what waits,
// and close() to get the error. An XQueue that is destroyed in a launch of its own leaves the
// xqueue behind.
class XQueue {
public:
    // xp_xqueue_create(). The stream must outlive the xqueue.
    [[nodiscard]] static Expected<XQueue> create(StreamRef stream,
                                                 const XQueueOptions& options = {}) {
        const auto budget = budget_of(options.latency_budget);
        if (!budget)
            return tl::unexpected<Error>(budget.error());
        xp_xqueue_options given = XP_XQUEUE_OPTIONS_INIT;
        given.threshold = options.threshold;
        given.batch = options.batch;
        given.capacity = options.capacity;
        given.max_level = options.max_level;
        given.flags = options.flags;
        given.deactivate_method = options.deactivate_method;
        given.latency_budget_ns = *budget;
        XQueue made(std::make_unique<detail::Commands>());
        if (const int answer = xp_xqueue_create(stream.get(), &given, &made.xqueue_); answer != 0)
            return detail::failed(answer);
        return made;
    }

    XQueue(XQueue&& other) noexcept
        : commands_(std::move(other.commands_)),
          xqueue_(std::exchange(other.xqueue_, xp_xqueue_t{})) {}
    XQueue& operator=(XQueue&& other) noexcept {
        if (this != &other) {
            destroy();
            commands_ = std::move(other.commands_);
            xqueue_ = std::exchange(other.xqueue_, xp_xqueue_t{});
        }
        return *this;
    }
    XQueue(const XQueue&) = delete;
    XQueue& operator=(const XQueue&) = delete;
    ~XQueue() { destroy(); }

    // Does what the destructor does, and returns the error. Afterwards every call returns EBADF.
    Expected<void> close() {
        return recycled(xp_xqueue_destroy(xqueue_));
    }

    // For the C functions. Not for xp_xqueue_destroy(), and callables that are dropped by
    // xp_xqueue_drop() are destroyed late. Handle 0, EBADF in every call, if it was moved from.
    [[nodiscard]] xp_xqueue_t get() const noexcept { return xqueue_; }

    // Submits a callable (LaunchCallable): xqueue.submit([=](hipStream_t stream) { ... }). Returns
    // the ticket. flags: XP_COMMAND_*.
    //
    // The callable is copied or moved in, and destroyed after its command has completed or was
    // dropped: by a later submit, wait, drop or close, in the thread that calls it, or by the
    // destructor. So what it captures by value may be used by its kernels. If its command fails,
    // it is destroyed at once or later, and no work that uses it may be left in the stream.
    //
    // An exception out of it is EIO, with its what() as the detail, from submit() or wait().
    //
    // Costs no allocation for a callable that has at most the size of a pointer, is trivially
    // copyable and noexcept: a function pointer, or a lambda that captures one reference. Any other
    // one of up to 64 bytes is put into memory that is used again; a larger one is allocated.
    template <LaunchCallable Function>
    Expected<std::uint64_t> submit(Function&& function, std::uint32_t flags = 0) {
        using Stored = std::decay_t<Function>;
        if constexpr (detail::PackedCallable<Stored>) {
            xp_command command = XP_COMMAND_INIT;
            command.launch = detail::launch_packed<Stored>;
            command.argument = detail::pack<Stored>(function);
            command.flags = flags;
            return submit(command);
        } else {
            if (commands_ == nullptr)
                return detail::failed(EBADF, "the XQueue was moved from");
            return commands_->submit(xqueue_, std::forward<Function>(function), flags);
        }
    }

    // xp_xqueue_submit(): the argument is the caller's to keep.
    Expected<std::uint64_t> submit(xp_launch_fn launch, void* argument) {
        return detail::value_of<std::uint64_t>([&](std::uint64_t* ticket) {
            return xp_xqueue_submit(xqueue_, launch, argument, ticket);
        });
    }
    Expected<std::uint64_t> submit(const xp_command& command) {
        return detail::value_of<std::uint64_t>([&](std::uint64_t* ticket) {
            return xp_xqueue_submit_command(xqueue_, &command, ticket);
        });
    }

    Expected<void> wait(std::uint64_t ticket) {
        return waited(ticket, xp_xqueue_wait(xqueue_, ticket));
    }

    // xp_xqueue_wait_for(): std::errc::timed_out if it has not completed by then. 0 or less asks
    // and does not wait.
    Expected<void> wait_for(std::uint64_t ticket, std::chrono::nanoseconds timeout) {
        const auto timeout_ns = static_cast<std::uint64_t>(std::max(timeout.count(), {}));
        return waited(ticket, xp_xqueue_wait_for(xqueue_, ticket, timeout_ns));
    }

    Expected<void> wait_all() {
        return recycled(xp_xqueue_wait_all(xqueue_));
    }

    // xp_xqueue_notify(): calls the callable once with what wait(ticket) would return, in a thread
    // of the xqueue, in one that drops, or now. It is copied or moved in, and destroyed after the
    // call.
    template <typename Function>
        requires std::invocable<std::decay_t<Function>&, Expected<void>>
    Expected<void> notify(std::uint64_t ticket, Function&& function) {
        using Stored = std::decay_t<Function>;
        auto kept = std::make_unique<Stored>(std::forward<Function>(function));
        const auto call = [](int status, void* argument) {
            const std::unique_ptr<Stored> owned(static_cast<Stored*>(argument));
            if (status == 0)
                (*owned)(Expected<void>());
            else
                (*owned)(Expected<void>(detail::failed(
                    -status, status == -ECANCELED ? "the command was dropped"
                                                  : "the launch of the command failed")));
        };
        if (const int answer = xp_xqueue_notify(xqueue_, ticket, call, kept.get()); answer != 0)
            return detail::failed(answer);
        (void)kept.release(); // the call destroys it, or has
        return {};
    }

    Expected<void> notify_fd(std::uint64_t ticket, int eventfd) {
        return detail::as_expected(xp_xqueue_notify_fd(xqueue_, ticket, eventfd));
    }

    [[nodiscard]] Expected<StreamRef> stream() const {
        return get(xp_xqueue_stream).map([](void* stream) { return StreamRef(stream); });
    }

    // xp_xqueue_drop(): returns how many. Their callables are destroyed, unless a submit in another
    // thread has not returned yet.
    Expected<std::uint64_t> drop() {
        auto count = get(xp_xqueue_drop);
        if (count)
            commands_->recycle_ended();
        return count;
    }

    // xp_xqueue_suspend(): returns the level reached. Lasts until as many resume(); see Suspended.
    // flags: XP_SUSPEND_*.
    Expected<xp_level> suspend(std::uint32_t flags = 0) {
        return detail::level_of(
            [=, this](std::uint32_t* level) { return xp_xqueue_suspend(xqueue_, flags, level); });
    }

    Expected<void> resume() { return detail::as_expected(xp_xqueue_resume(xqueue_)); }

    [[nodiscard]] Expected<xp_xqueue_state> query() const { return get(xp_xqueue_query); }

    [[nodiscard]] Expected<xp_xqueue_stats> get_stats() const { return get(xp_xqueue_get_stats); }

    Expected<void> set_priority(std::int32_t priority) {
        return detail::as_expected(xp_xqueue_set_priority(xqueue_, priority));
    }

    [[nodiscard]] Expected<std::int32_t> get_priority() const {
        return get(xp_xqueue_get_priority);
    }

    // xp_xqueue_set_attributes(): sets all; 0 is the default. sz is set here.
    Expected<void> set_attributes(xp_sched_attributes attributes) {
        attributes.sz = sizeof attributes;
        return detail::as_expected(xp_xqueue_set_attributes(xqueue_, &attributes));
    }

    [[nodiscard]] Expected<xp_sched_attributes> get_attributes() const {
        return get(xp_xqueue_get_attributes);
    }

    // xp_xqueue_set_name(); "" removes the name.
    Expected<void> set_name(const std::string& name) {
        return detail::as_expected(xp_xqueue_set_name(xqueue_, name.c_str()));
    }

    // xp_xqueue_set_launch_config(): 0 keeps a value.
    Expected<void> set_launch_config(std::uint32_t threshold, std::uint32_t batch = 0) {
        return detail::as_expected(xp_xqueue_set_launch_config(xqueue_, threshold, batch));
    }

    // xp_xqueue_set_max_level(): XP_LEVEL_*; 0: as much as possible.
    Expected<void> set_max_level(std::uint32_t level) {
        return detail::as_expected(xp_xqueue_set_max_level(xqueue_, level));
    }

    // xp_xqueue_set_latency_budget(); 0: none.
    Expected<void> set_latency_budget(std::chrono::nanoseconds latency_budget) {
        return budget_of(latency_budget).and_then([this](std::uint64_t budget) {
            return detail::as_expected(xp_xqueue_set_latency_budget(xqueue_, budget));
        });
    }

private:
    explicit XQueue(std::unique_ptr<detail::Commands> commands) : commands_(std::move(commands)) {}

    template <typename Value>
    [[nodiscard]] Expected<Value> get(int (*function)(xp_xqueue_t, Value*)) const {
        return detail::value_of<Value>([&](Value* value) { return function(xqueue_, value); });
    }

    static Expected<std::uint64_t> budget_of(std::chrono::nanoseconds budget) {
        if (budget.count() < 0)
            return detail::failed(EINVAL, "latency_budget is " + std::to_string(budget.count()) +
                                              " ns: it must not be negative");
        return static_cast<std::uint64_t>(budget.count());
    }

    Expected<void> recycled(int answer) {
        if (answer != 0)
            return detail::failed(answer);
        commands_->recycle_ended();
        return {};
    }
    Expected<void> waited(std::uint64_t ticket, int answer) {
        if (answer == 0)
            return recycled(answer);
        Error error = Error::of(answer);
        if (commands_ != nullptr)
            error = commands_->explained(ticket, std::move(error));
        return tl::unexpected<Error>(std::move(error));
    }

    void destroy() noexcept {
        // The xqueue stays in a launch of its own and in a capture, and so must the callables that
        // it launches.
        const int answer = xqueue_.handle != 0 ? xp_xqueue_destroy(xqueue_) : 0;
        if (answer == -EDEADLK || answer == -EBUSY)
            (void)commands_.release();
    }

    std::unique_ptr<detail::Commands> commands_; // null: moved from
    xp_xqueue_t xqueue_{};
};

// One suspend of an xqueue, resumed at the end of its scope. The XQueue may be moved meanwhile.
class Suspended {
public:
    // xp_xqueue_suspend(). With XP_SUSPEND_LEAST(level) it is an error if that level cannot be
    // reached.
    [[nodiscard]] static Expected<Suspended> suspend(XQueue& xqueue, std::uint32_t flags = 0) {
        return xqueue.suspend(flags).map(
            [&](xp_level level) { return Suspended(xqueue.get(), level); });
    }

    // The level that this suspend found or reached.
    [[nodiscard]] xp_level level() const noexcept { return level_; }

    // xp_xqueue_resume(), as the destructor does, with its error. After an error that can pass the
    // xqueue is still suspended, and resume() can be called again.
    Expected<void> resume() { return xqueue_.end(); }

private:
    Suspended(xp_xqueue_t xqueue, xp_level level) : xqueue_(xqueue), level_(level) {}
    detail::Owned<xp_xqueue_t, xp_xqueue_resume> xqueue_;
    xp_level level_;
};

// xp_guardian_of_launch(), for a callable whose command has XP_COMMAND_GUARDED.
inline Expected<xp_guardian_t> guardian_of_launch() {
    return detail::value_of<xp_guardian_t>(xp_guardian_of_launch);
}

} // namespace xpreempt::inline v0_tl
