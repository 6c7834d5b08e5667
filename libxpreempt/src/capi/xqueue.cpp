// SPDX-License-Identifier: MIT
// xpreempt/xqueue.h and stats.h
#include "base/log.hpp"
#include "capi/c_boundary.hpp"

#include <chrono>
#include <string>
#include <xpreempt/stats.h>

using namespace xpreempt;
using namespace xpreempt::capi;

namespace {

Result<void> check_batch(const xqueue::LaunchConfig& config) {
    if (config.batch <= config.threshold)
        return {};
    return refuse("batch", config.batch,
                  "at most threshold, which is " + std::to_string(config.threshold));
}

Result<xqueue::LaunchConfig> launch_config(const struct xp_xqueue_options& options) {
    xqueue::LaunchConfig config;
    if (options.threshold != 0)
        config.threshold = options.threshold;
    config.batch = options.batch != 0 ? options.batch : std::min(config.batch, config.threshold);
    if (options.capacity != 0)
        config.capacity = options.capacity;
    config.latency_budget_ns = options.latency_budget_ns;
    config.deferred = (options.flags & XP_DEFERRED) != 0;
    TRY(check_batch(config));
    return config;
}

Result<struct xp_xqueue_options> known_options(const struct xp_xqueue_options* given) {
    struct xp_xqueue_options options{};
    if (given == nullptr)
        return options;
    TRY(copy_in(options, given, "xp_xqueue_options"));
    TRY(check_range("max_level", options.max_level, 0, XP_LEVEL_INTERRUPT));
    TRY(check_range("deactivate_method", options.deactivate_method, 0, XP_METHOD_FLUSH));
    TRY(check_flags("flags", options.flags,
                    XP_ALLOW_SHARED | XP_STOP_FOR_OWN_LAUNCH | XP_DEFERRED));
    return options;
}

int submit(xp_xqueue_t xqueue, const xqueue::Command& command, uint64_t* ticket) {
    return quick_c_call([&]() -> Result<void> {
        const auto found = TRY(Library::instance().xqueues.find(xqueue.handle));
        if (command.launch == nullptr)
            return check_given("launch", false);
        const auto submitted = TRY(found->submit(command));
        if (ticket != nullptr)
            *ticket = submitted;
        return {};
    });
}

static_assert(XP_COMMAND_IDEMPOTENT == xqueue::command_idempotent);
static_assert(XP_COMMAND_GUARDED == xqueue::command_guarded);
static_assert(XP_METHOD_NONE == static_cast<int>(xqueue::DeactivateMethod::none));
static_assert(XP_METHOD_HARDWARE == static_cast<int>(xqueue::DeactivateMethod::hardware));
static_assert(XP_METHOD_GUARDIAN == static_cast<int>(xqueue::DeactivateMethod::guardian));
static_assert(XP_METHOD_FLUSH == static_cast<int>(xqueue::DeactivateMethod::flush));

// Undoes the creation of an xqueue that is in no table, or any part of it.
Result<void> end(Library& library, std::uint64_t handle, xqueue::XQueue& xqueue) {
    library.labels.forget_xqueue(handle);
    library.scheduling.destroyed(xqueue);
    const auto closed = xqueue.close();
    library.order().forget_owner(handle);
    return closed;
}

constexpr std::uint32_t suspend_flags = XP_SUSPEND_EXACT | XP_SUSPEND_FINISH_SUBMITTED |
                                        XP_SUSPEND_FINISH_LAUNCHED |
                                        XP_SUSPEND_LEAST(XP_LEVEL_INTERRUPT);
constexpr std::uint32_t least_shift = 8;
static_assert(XP_SUSPEND_LEAST(1) == 1U << least_shift);

} // namespace

extern "C" {

int xp_xqueue_create(void* stream, const struct xp_xqueue_options* options, xp_xqueue_t* xqueue) {
    return c_call([&](Library& library) -> Result<void> {
        TRY(check_given("xqueue", xqueue != nullptr));
        // The xqueue's thread launches as well.
        if (hip::is_per_thread(stream))
            return fail(EOPNOTSUPP, Op::thread_stream);
        const auto known = TRY(known_options(options));
        const auto config = TRY(launch_config(known));
        const auto hip = TRY(library.hip());
        const auto [named, device] = TRY(library.gates().identify(stream));
        auto* const key = const_cast<void*>(named.key);
        library.release_at_exit();
        const backend::Environment environment{*hip,
                                               library.mapping(),
                                               library.probe(),
                                               library.transport(),
                                               library.holds(),
                                               library.guardians(),
                                               library.gates().captures()};
        const backend::StopRules rules{
            (known.flags & XP_ALLOW_SHARED) != 0,
            static_cast<xqueue::DeactivateMethod>(known.deactivate_method),
            (known.flags & XP_STOP_FOR_OWN_LAUNCH) != 0};
        const auto highest =
            known.max_level == 0 ? xqueue::Level::interrupt : xqueue::Level(known.max_level);
        const std::lock_guard lock(library.owners_mutex);
        const auto hooked = TRY(library.make_hooked(named, device));
        // A second xqueue would share the direct calls of the first. One of a stream that the hook
        // doesn't see may be left behind, with the address of this one.
        if (hooked->xqueue().handle != 0 && named.birth != 0)
            return fail(EBUSY, Op::second_xqueue);
        const auto created = std::make_shared<xqueue::XQueue>(
            std::make_unique<backend::StreamQueue>(environment, stream, device, rules,
                                                   library.direct_calls(key, stream, device)),
            config, highest);
        const std::uint64_t handle = library.xqueues.insert(created);
        const auto undo = [&](xqueue::XQueue* made) {
            (void)library.xqueues.remove(handle);
            (void)end(library, handle, *made);
        };
        std::unique_ptr<xqueue::XQueue, decltype(undo)> unfinished(created.get(), undo);
        library.labels.add_xqueue(handle, key, stream);
        TRY(library.hand_over(hooked, handle, created));
        (void)unfinished.release();
        xqueue->handle = handle;
        if (const auto level = created->level(); level.level < highest)
            log::report(log::Level::warning,
                        "a suspend of the xqueue of stream %p reaches level %u, not %u: %s", stream,
                        static_cast<unsigned>(level.level), static_cast<unsigned>(highest),
                        level.reason.c_str());
        return {};
    });
}

int xp_xqueue_destroy(xp_xqueue_t xqueue) {
    return c_call([&](Library& library) -> Result<void> {
        const auto found = TRY(library.xqueues.find(xqueue.handle));
        TRY(found->may_close());
        auto hooked = library.find_hooked(library.labels.of_xqueue(xqueue.handle).stream);
        if (hooked != nullptr && hooked->xqueue().handle != xqueue.handle)
            hooked = nullptr; // of another stream, which has the address now
        const auto removed = TRY(library.xqueues.remove(xqueue.handle));
        if (hooked != nullptr)
            (void)hooked->pass_to({xqueue.handle, removed, true});
        const auto closed = end(library, xqueue.handle, *removed);
        if (hooked != nullptr)
            (void)hooked->pass_to({});
        return closed;
    });
}

int xp_xqueue_stream(xp_xqueue_t xqueue, void** stream) {
    return with_xqueue(xqueue, [&](Library& library, xqueue::XQueue&) -> Result<void> {
        TRY(check_given("stream", stream != nullptr));
        *stream = library.labels.of_xqueue(xqueue.handle).given;
        return {};
    });
}

int xp_stream_xqueue(void* stream, xp_xqueue_t* xqueue) {
    return c_call([&](Library& library) -> Result<void> {
        TRY(check_given("xqueue", xqueue != nullptr));
        const auto owner = library.owner_of(stream);
        if (!owner.is_xqueue())
            return fail(ENOENT, Op::no_xqueue);
        xqueue->handle = owner.id;
        return {};
    });
}

int xp_xqueue_set_name(xp_xqueue_t xqueue, const char* name) {
    return with_xqueue(xqueue, [&](Library& library, xqueue::XQueue&) -> Result<void> {
        const auto wanted = TRY(Labels::check(name != nullptr ? name : ""));
        library.labels.name_xqueue(xqueue.handle, wanted);
        return {};
    });
}

int xp_xqueue_submit(xp_xqueue_t xqueue, xp_launch_fn launch, void* argument, uint64_t* ticket) {
    return submit(xqueue, {launch, argument}, ticket);
}

int xp_xqueue_submit_command(xp_xqueue_t xqueue, const struct xp_command* command,
                             uint64_t* ticket) {
    // The usual one, without a look at what is wrong.
    if (command == nullptr || command->sz != sizeof *command ||
        (command->flags & ~xqueue::command_flags) != 0 || command->reserved != 0) {
        struct xp_command known{};
        const auto check = [&](Library&) -> Result<void> {
            TRY(copy_in(known, command, "xp_command"));
            if (known.reserved != 0)
                return refuse("reserved", known.reserved, "0");
            return check_flags("flags", known.flags, xqueue::command_flags);
        };
        if (const int error = c_call(check); error != 0)
            return error;
        return submit(xqueue, {known.launch, known.argument, known.flags, known.over}, ticket);
    }
    return submit(xqueue, {command->launch, command->argument, command->flags, command->over},
                  ticket);
}

int xp_xqueue_wait(xp_xqueue_t xqueue, uint64_t ticket) {
    return with_xqueue(xqueue, [&](xqueue::XQueue& found) { return found.wait(ticket); });
}

int xp_xqueue_wait_for(xp_xqueue_t xqueue, uint64_t ticket, uint64_t timeout_ns) {
    return with_xqueue(xqueue, [&](xqueue::XQueue& found) {
        using Clock = std::chrono::steady_clock;
        const auto now = Clock::now();
        const auto most = std::chrono::nanoseconds(Clock::time_point::max() - now).count();
        if (timeout_ns >= static_cast<std::uint64_t>(most))
            return found.wait(ticket);
        return found.wait_until(
            ticket, now + std::chrono::nanoseconds(static_cast<std::int64_t>(timeout_ns)));
    });
}

int xp_xqueue_wait_all(xp_xqueue_t xqueue) {
    return with_xqueue(xqueue, [&](xqueue::XQueue& found) { return found.wait_all(); });
}

int xp_xqueue_suspend(xp_xqueue_t xqueue, uint32_t flags, uint32_t* level) {
    return with_xqueue(xqueue, [&](xqueue::XQueue& found) -> Result<void> {
        TRY(check_flags("flags", flags, suspend_flags));
        const std::uint32_t least = flags >> least_shift;
        const auto suspended =
            found.suspend({.exact = (flags & XP_SUSPEND_EXACT) != 0,
                           .least = least == 0 ? xqueue::Level::block : xqueue::Level(least),
                           .finish_submitted = (flags & XP_SUSPEND_FINISH_SUBMITTED) != 0,
                           .finish_launched = (flags & XP_SUSPEND_FINISH_LAUNCHED) != 0});
        return suspended.map([&](xqueue::Level reached) {
            if (level != nullptr)
                *level = static_cast<std::uint32_t>(reached);
        });
    });
}

int xp_xqueue_resume(xp_xqueue_t xqueue) {
    return with_xqueue(xqueue, [&](xqueue::XQueue& found) { return found.resume(); });
}

int xp_xqueue_drop(xp_xqueue_t xqueue, uint64_t* count) {
    return with_xqueue(xqueue, [&](xqueue::XQueue& found) {
        return found.drop().map([&](std::uint64_t dropped) {
            if (count != nullptr)
                *count = dropped;
        });
    });
}

int xp_xqueue_set_launch_config(xp_xqueue_t xqueue, uint32_t threshold, uint32_t batch) {
    return with_xqueue(xqueue, [&](xqueue::XQueue& found) -> Result<void> {
        xqueue::LaunchConfig config = found.config();
        if (threshold != 0)
            config.threshold = threshold;
        config.batch = batch != 0 ? batch : std::min(config.batch, config.threshold);
        TRY(check_batch(config));
        return found.configure(config);
    });
}

int xp_xqueue_set_max_level(xp_xqueue_t xqueue, uint32_t level) {
    return with_xqueue(xqueue, [&](xqueue::XQueue& found) -> Result<void> {
        TRY(check_range("level", level, 0, XP_LEVEL_INTERRUPT));
        found.limit_level(level == 0 ? xqueue::Level::interrupt : xqueue::Level(level));
        return {};
    });
}

int xp_xqueue_set_latency_budget(xp_xqueue_t xqueue, uint64_t budget_ns) {
    return with_xqueue(xqueue, [&](xqueue::XQueue& found) {
        xqueue::LaunchConfig config = found.config();
        config.latency_budget_ns = budget_ns;
        return found.configure(config);
    });
}

int xp_xqueue_query(xp_xqueue_t xqueue, struct xp_xqueue_state* state) {
    return with_xqueue(xqueue, [&](Library& library, xqueue::XQueue& found) -> Result<void> {
        TRY(check_size(state, "xp_xqueue_state"));
        const xqueue::State now = found.state();
        const xqueue::LevelChoice best = found.level();
        struct xp_xqueue_state ours{};
        ours.suspends = now.suspends;
        ours.held_level = now.suspends > 0 ? static_cast<std::uint32_t>(now.held_level) : 0;
        ours.pending = now.pending;
        ours.in_flight = now.in_flight;
        ours.best_level = static_cast<std::uint32_t>(best.level);
        ours.held_method = static_cast<std::uint32_t>(now.held_method);
        ours.best_method = static_cast<std::uint32_t>(best.method);
        ours.threshold = now.threshold;
        ours.batch = now.batch;
        ours.latency_budget_ns = found.config().latency_budget_ns;
        ours.command_ns = now.command_ns;
        const hip::Stream key = library.labels.of_xqueue(xqueue.handle).stream;
        if (const auto queue = library.mapping().queue_of(key)) {
            ours.waiters = library.waiters(key, *queue);
            ours.lifted = library.order().lifted(hip::ref_of(*queue)) ? 1 : 0;
        }
        put_text(ours.reason, best.reason);
        copy_out(state, ours);
        return {};
    });
}

int xp_xqueue_get_stats(xp_xqueue_t xqueue, struct xp_xqueue_stats* stats) {
    return with_xqueue(xqueue, [&](xqueue::XQueue& found) -> Result<void> {
        TRY(check_size(stats, "xp_xqueue_stats"));
        copy_out(stats, found.statistics());
        return {};
    });
}
}
