// SPDX-License-Identifier: MIT
// The functions behind our interposers, looked up at first use.
#pragma once

#include <atomic>
#include <dlfcn.h>

namespace xpreempt::hook {

// Constant-initialised, so that a function-local static of it needs no guard and no allocation.
template <typename Function> class Next {
public:
    // library: where to look when the caller's library was loaded with RTLD_LOCAL, so that the
    // global order ends before it; null for functions of the C library.
    constexpr Next(const char* symbol, const char* library) : symbol_(symbol), library_(library) {}

    Function* operator()() {
        Function* function = function_.load(std::memory_order_acquire);
        if (function != nullptr)
            return function;
        void* found = dlsym(RTLD_NEXT, symbol_);
        if (found == nullptr && library_ != nullptr)
            if (void* loaded = dlopen(library_, RTLD_LAZY | RTLD_NOLOAD); loaded != nullptr)
                found = dlsym(loaded, symbol_);
        function = reinterpret_cast<Function*>(found);
        function_.store(function, std::memory_order_release);
        return function;
    }

private:
    const char* symbol_;
    const char* library_;
    std::atomic<Function*> function_{nullptr};
};

// Straight to the next ioctl; 0 or a negative errno.
int real_kfd_ioctl(int fd, unsigned long request, void* argument);

} // namespace xpreempt::hook
