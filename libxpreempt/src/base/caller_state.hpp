// SPDX-License-Identifier: MIT
// Leaves errno as it was, and the calling thread as open to pthread_cancel() as it was.
#pragma once

#include <cerrno>
#include <pthread.h>

namespace xpreempt {

class KeptErrno {
public:
    KeptErrno() = default;
    ~KeptErrno() { here_ = errno_; }
    KeptErrno(const KeptErrno&) = delete;
    KeptErrno& operator=(const KeptErrno&) = delete;

private:
    int& here_ = errno; // asks for its place once
    const int errno_ = here_;
};

// Also keeps the thread from being cancelled while it lives: glibc cancels a thread by an exception
// that must not be swallowed, and the border to C swallows each.
class CallerState {
public:
    CallerState() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state_); }
    ~CallerState() { pthread_setcancelstate(cancel_state_, nullptr); }
    CallerState(const CallerState&) = delete;
    CallerState& operator=(const CallerState&) = delete;

private:
    const KeptErrno errno_;
    int cancel_state_ = PTHREAD_CANCEL_ENABLE;
};

} // namespace xpreempt
