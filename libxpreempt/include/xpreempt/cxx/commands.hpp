// SPDX-License-Identifier: MIT
// The callables of one xqueue's commands, each from its submit until its command has completed or
// was dropped.
#pragma once

#include <xpreempt/cxx/callable.hpp>
#include <xpreempt/xqueue.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <list>
#include <map>
#include <mutex>
#include <string>
#include <utility>

namespace xpreempt::inline v0_tl::detail {

// Thread-safe. No callable is destroyed with the mutex locked, or in the xqueue's own thread.
class Commands {
public:
    Commands() = default;
    Commands(const Commands&) = delete;
    Commands& operator=(const Commands&) = delete;
    ~Commands() = default;

    template <typename Function>
    Expected<std::uint64_t> submit(xp_xqueue_t xqueue, Function&& function, std::uint32_t flags) {
        List taken = take_slot();
        Command& command = taken.front();
        command.callable.emplace(std::forward<Function>(function));
        command.owner = this;
        command.place = taken.begin();
        {
            const std::lock_guard lock(mutex_);
            kept_.splice(kept_.end(), taken);
        }
        xp_command given = XP_COMMAND_INIT;
        given.launch = launch_command;
        given.argument = &command;
        given.flags = flags;
        given.over = note_over;
        std::uint64_t ticket = 0;
        const int answer = xp_xqueue_submit_command(xqueue, &given, &ticket);
        if (answer != 0) {
            Error error = explained(Error::of(answer), command.thrown);
            end(command);
            recycle_ended();
            return tl::unexpected<Error>(std::move(error));
        }
        accept(command, ticket);
        recycle_ended();
        return ticket;
    }

    // Destroys the callables of the commands that are over.
    void recycle_ended() {
        List done;
        {
            const std::lock_guard lock(mutex_);
            done.swap(ended_);
        }
        recycle(done);
    }

    // The error of a wait for that command, with the text of the exception if it threw one.
    [[nodiscard]] Error explained(std::uint64_t ticket, Error error) {
        const std::lock_guard lock(mutex_);
        const auto found = thrown_.find(ticket);
        if (found == thrown_.end())
            return error;
        const auto text = thrown_.extract(found);
        return explained(error, text.mapped());
    }

private:
    struct Command;
    using List = std::list<Command>; // a command keeps its address from list to list

    struct Command {
        CallableSlot callable;
        Commands* owner = nullptr;
        List::iterator place;
        bool is_over = false;
        std::uint64_t ticket = 0; // 0: its submit has not returned
        std::string thrown;       // the text of an exception, until the ticket is known
    };

    static constexpr std::size_t max_spare = 256;
    static constexpr std::size_t max_thrown = 1024; // for a program that never waits

    static int launch_command(void* stream, void* argument) {
        Command& command = *static_cast<Command*>(argument);
        return command.owner->launch(command, StreamRef(stream));
    }

    // Called by the xqueue with a lock: the callable is destroyed by a later call.
    static void note_over(void* argument) {
        Command& command = *static_cast<Command*>(argument);
        Commands& owner = *command.owner;
        const std::lock_guard lock(owner.mutex_);
        command.is_over = true;
        if (command.ticket != 0) // else the submit still uses it
            owner.ended_.splice(owner.ended_.end(), owner.kept_, command.place);
    }

    void accept(Command& command, std::uint64_t ticket) {
        const std::lock_guard lock(mutex_);
        command.ticket = ticket;
        if (!command.thrown.empty())
            remember(ticket, std::move(command.thrown));
        if (command.is_over)
            ended_.splice(ended_.end(), kept_, command.place);
    }

    void end(Command& command) {
        const std::lock_guard lock(mutex_);
        ended_.splice(ended_.end(), kept_, command.place);
    }

    int launch(Command& command, StreamRef stream) {
#ifdef __cpp_exceptions
        try {
            return command.callable(stream);
        } catch (const std::exception& exception) {
            return threw(command, exception.what());
        } catch (...) {
            return threw(command, "an object that is no std::exception");
        }
#else
        return command.callable(stream);
#endif
    }

#ifdef __cpp_exceptions
    int threw(Command& command, const char* what) noexcept {
        try {
            std::string text = std::string("the callable of a command threw: ") + what;
            const std::lock_guard lock(mutex_);
            if (command.ticket != 0)
                remember(command.ticket, std::move(text));
            else
                command.thrown = std::move(text);
        } catch (...) { // NOLINT(bugprone-empty-catch): no memory for the text
        }
        return -EIO;
    }
#endif

    static Error explained(const Error& error, const std::string& text) {
        return text.empty() ? error : Error(error.errno_value(), text);
    }

    void remember(std::uint64_t ticket, std::string text) {
        thrown_.insert_or_assign(ticket, std::move(text));
        if (thrown_.size() > max_thrown)
            thrown_.erase(thrown_.begin());
    }

    // A list of one.
    List take_slot() {
        List taken;
        {
            const std::lock_guard lock(mutex_);
            if (!spare_.empty())
                taken.splice(taken.end(), spare_, spare_.begin());
        }
        if (taken.empty())
            taken.emplace_back();
        return taken;
    }

    // Destroys the callables, and keeps some of the memory for others.
    void recycle(List& done) {
        if (done.empty())
            return;
        for (Command& command : done) {
            command.callable.reset();
            command.is_over = false;
            command.ticket = 0;
            command.thrown.clear();
        }
        const std::lock_guard lock(mutex_);
        while (!done.empty() && spare_.size() < max_spare)
            spare_.splice(spare_.end(), done, done.begin());
    }

    std::mutex mutex_; // all below, and all of commands but the callables
    List kept_;        // submitted, or about to be
    List ended_;       // over: their callables are to be destroyed
    List spare_;       // empty slots
    std::map<std::uint64_t, std::string> thrown_;
};

} // namespace xpreempt::inline v0_tl::detail
