// SPDX-License-Identifier: MIT
// A POSIX mutex that is held for a scope: std::mutex's constructor may come after the hook's first
// use.
#pragma once

#include <pthread.h>

namespace xpreempt::hook {

class MutexLock {
public:
    explicit MutexLock(pthread_mutex_t& mutex) : mutex_(mutex) { pthread_mutex_lock(&mutex_); }
    ~MutexLock() { pthread_mutex_unlock(&mutex_); }
    MutexLock(const MutexLock&) = delete;
    MutexLock& operator=(const MutexLock&) = delete;

private:
    pthread_mutex_t& mutex_;
};

} // namespace xpreempt::hook
