// SPDX-License-Identifier: MIT
// The threads of the process: as many as a test allows.
#include "fake/fake_rocm.hpp"

#include <cerrno>
#include <dlfcn.h>
#include <pthread.h>

// At the pids limit of a container. Not with ThreadSanitizer, whose own function comes first.
extern "C" __attribute__((visibility("default"))) int
pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*body)(void*),
               void* argument) {
    using Create = int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
    static auto* const create = reinterpret_cast<Create*>(dlsym(RTLD_NEXT, "pthread_create"));
    std::atomic<int>& allowed = fake_hip()->threads_left;
    int left = allowed;
    while (left > 0 && !allowed.compare_exchange_weak(left, left - 1)) {
    }
    return left == 0 ? EAGAIN : create(thread, attributes, body, argument);
}
