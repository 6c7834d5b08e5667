// SPDX-License-Identifier: MIT
// The one function that starts a thread of the library.
#pragma once

#include "base/error.hpp"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <new>
#include <pthread.h>
#include <system_error>
#include <thread>
#include <utility>

namespace xpreempt {

// A thread of the library that finds no memory, or a stream that is captured, tries again after
// this time: it must not end, nor end the process.
constexpr std::chrono::milliseconds retry{1};

// Returns an error if no thread can be started, for example at the pids limit of a container.
// Blocks all signals in the thread but those of faults: a signal of the process must reach a thread
// of the program. name: at most 15 bytes.
template <typename Body> Result<std::thread> start_thread(const char* name, Body body) {
    sigset_t all, before;
    sigfillset(&all);
    for (const int fault : {SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGSYS, SIGTRAP})
        sigdelset(&all, fault);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    Result<std::thread> started;
    try {
        started = std::thread([name, body = std::move(body)]() mutable {
            pthread_setname_np(pthread_self(), name);
            body();
        });
    } catch (const std::system_error& error) {
        started = fail(error.code().value(), Op::start_thread);
    } catch (const std::bad_alloc&) {
        started = fail(ENOMEM, Op::start_thread);
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return started;
}

// The same for a constructor: throws std::system_error.
template <typename Body> std::thread must_start_thread(const char* name, Body body) {
    auto started = start_thread(name, std::move(body));
    if (!started)
        throw std::system_error(started.error().errno_value, std::generic_category());
    return std::move(*started);
}

} // namespace xpreempt
