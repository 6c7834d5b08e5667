// SPDX-License-Identifier: MIT
// The callables of one xqueue's commands, each from its submit until its command has completed or
// was dropped. The C interface does not report either, so it is learned from waits, drops and, once
// in a while, a question by a submit.
#pragma once

#include <xpreempt/cxx/callable.hpp>
#include <xpreempt/xqueue.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <iterator>
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
    Commands(Commands&&) = delete;
    Commands& operator=(Commands&&) = delete;
    ~Commands() = default;

    template <typename Function>
    Expected<std::uint64_t> submit(xp_xqueue_t xqueue, Function&& function, std::uint32_t flags) {
        List mine = take_slot();
        Command& command = mine.front();
        command.callable.emplace(std::forward<Function>(function));
        command.owner = this;
        command.flags = flags;
        xp_command given = XP_COMMAND_INIT;
        given.launch = launch_command;
        given.argument = &command;
        given.flags = flags;
        std::uint64_t ticket = 0;
        if (const int answer = xp_xqueue_submit_command(xqueue, &given, &ticket); answer != 0) {
            Error error = explained(Error::of(answer), command.thrown);
            recycle(mine);
            return tl::unexpected<Error>(std::move(error));
        }
        const bool is_time = keep(mine, ticket);
        recycle(mine);
        if (is_time)
            collect(xqueue);
        return ticket;
    }

    // Every command up to that one has completed or was dropped.
    void completed(std::uint64_t ticket) {
        List done;
        {
            const std::lock_guard lock(mutex_);
            completed_ = std::max(completed_, ticket);
            const auto end = std::find_if(kept_.begin(), kept_.end(), [&](const Command& command) {
                return command.ticket > completed_;
            });
            done.splice(done.end(), kept_, kept_.begin(), end);
        }
        recycle(done);
    }

    // The newest command of a submit that has returned.
    [[nodiscard]] std::uint64_t newest() {
        const std::lock_guard lock(mutex_);
        return kept_.empty() ? completed_ : kept_.back().ticket;
    }

    // After a drop. Commands behind `newest` were submitted later. Launches are in order, so of the
    // others those were dropped that no launch has come to, and those that were taken back.
    void dropped(xp_xqueue_t xqueue, std::uint64_t newest) {
        while (const std::uint64_t taken_back = discard_unlaunched(newest)) {
            if (xp_xqueue_wait_for(xqueue, taken_back, 0) != -ECANCELED)
                return;
            discard(taken_back);
        }
    }

    // The xqueue was destroyed: nothing is launched any more.
    void finish() {
        List done;
        {
            const std::lock_guard lock(mutex_);
            finished_ = true;
            done.swap(kept_);
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
    enum class State : std::uint8_t { waiting, launched, failed };

    struct Command {
        CallableSlot callable;
        Commands* owner = nullptr;
        std::uint32_t flags = 0;
        std::atomic<State> state{State::waiting};
        std::uint64_t ticket = 0; // 0: its submit has not returned
        std::string thrown;       // the text of an exception, until the ticket is known

        [[nodiscard]] bool is_launched() const {
            return state.load(std::memory_order_acquire) == State::launched;
        }
        [[nodiscard]] bool has_failed() const {
            return state.load(std::memory_order_acquire) == State::failed;
        }
    };
    using List = std::list<Command>; // a command keeps its address from list to list

    static constexpr std::size_t collect_least = 64;
    static constexpr std::size_t max_spare = 256;
    static constexpr std::size_t max_thrown = 1024; // for a program that never waits

    static int launch_command(void* stream, void* argument) {
        Command& command = *static_cast<Command*>(argument);
        const int answer = command.owner->launch(command, StreamRef(stream));
        // A failed command may be gone from here on.
        command.state.store(answer == 0 ? State::launched : State::failed,
                            std::memory_order_release);
        return answer;
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

    // Takes the command, in the order of tickets, unless it is over. Returns true if there are so
    // many that some should be collected.
    bool keep(List& mine, std::uint64_t ticket) {
        const std::lock_guard lock(mutex_);
        Command& command = mine.front();
        command.ticket = ticket;
        if (!command.thrown.empty())
            remember(ticket, std::move(command.thrown));
        if (finished_ || ticket <= completed_ || command.has_failed())
            return false;
        auto behind = kept_.end();
        while (behind != kept_.begin() && std::prev(behind)->ticket > ticket)
            --behind;
        kept_.splice(behind, mine);
        return kept_.size() >= collect_at_;
    }

    // For a program that submits and never waits. Asks for the command in the middle, so that the
    // cost for each command becomes nothing in the long run.
    void collect(xp_xqueue_t xqueue) {
        discard_failed();
        std::uint64_t ticket = middle();
        while (ticket != 0 && xp_xqueue_wait_for(xqueue, ticket, 0) == 0) {
            completed(ticket);
            ticket = middle();
        }
        const std::lock_guard lock(mutex_);
        collect_at_ = std::max(collect_least, 2 * kept_.size());
    }

    // 0: there are few, or none in the first half was launched.
    std::uint64_t middle() {
        const std::lock_guard lock(mutex_);
        if (kept_.size() < collect_least)
            return 0;
        auto command = std::next(kept_.begin(), static_cast<std::ptrdiff_t>(kept_.size() / 2));
        while (command != kept_.begin())
            if ((--command)->is_launched())
                return command->ticket;
        return 0;
    }

    void discard_failed() {
        List done;
        {
            const std::lock_guard lock(mutex_);
            for (auto command = kept_.begin(); command != kept_.end();) {
                const auto next = std::next(command);
                if (command->has_failed())
                    done.splice(done.end(), kept_, command);
                command = next;
            }
        }
        recycle(done);
    }

    // From the newest on, until one that was launched. Returns its ticket if it may have been taken
    // back and dropped since, else 0.
    std::uint64_t discard_unlaunched(std::uint64_t newest) {
        List done;
        std::uint64_t launched = 0;
        {
            const std::lock_guard lock(mutex_);
            for (auto behind = kept_.end(); behind != kept_.begin() && launched == 0;) {
                const auto command = std::prev(behind);
                if (command->ticket > newest) {
                    behind = command;
                } else if (!command->is_launched()) {
                    done.splice(done.begin(), kept_, command);
                } else {
                    launched = command->flags != 0 ? command->ticket : 0;
                    break;
                }
            }
        }
        recycle(done);
        return launched;
    }

    void discard(std::uint64_t ticket) {
        List done;
        {
            const std::lock_guard lock(mutex_);
            const auto found =
                std::find_if(kept_.begin(), kept_.end(),
                             [&](const Command& command) { return command.ticket == ticket; });
            if (found != kept_.end())
                done.splice(done.end(), kept_, found);
        }
        recycle(done);
    }

    // Destroys the callables, and keeps some of the memory for others.
    void recycle(List& done) {
        if (done.empty())
            return;
        for (Command& command : done) {
            command.callable.reset();
            command.state.store(State::waiting, std::memory_order_relaxed);
            command.ticket = 0;
            command.thrown.clear();
        }
        const std::lock_guard lock(mutex_);
        while (!done.empty() && spare_.size() < max_spare)
            spare_.splice(spare_.end(), done, done.begin());
    }

    std::mutex mutex_; // all below, and the tickets and texts of commands
    List kept_;        // by ticket
    List spare_;       // empty slots
    std::map<std::uint64_t, std::string> thrown_;
    std::uint64_t completed_ = 0;
    std::size_t collect_at_ = collect_least;
    bool finished_ = false;
};

} // namespace xpreempt::inline v0_tl::detail
