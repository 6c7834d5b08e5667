// SPDX-License-Identifier: MIT
// The functions behind our interposers, looked up at first use.
#pragma once

#include <atomic>

namespace xpreempt::hook {

enum class Library { c, hip, hsa };

// The next definition after ours; for HIP and HSA, whose libraries may have been loaded with
// RTLD_LOCAL so that the global order ends before them, else the one of the library that is mapped.
// No library is ever loaded. Null: there is none yet.
void* find_behind(const char* symbol, Library library);

// dlsym itself, past our interposer; for the hook's own lookups.
void* real_dlsym(void* handle, const char* name);

bool is_of_rocm(void* function); // one of a HIP or HSA runtime

// Constant-initialised, so that a function-local static of it needs no guard and no allocation.
template <typename Function> class Next {
public:
    constexpr Next(const char* symbol, Library library) : symbol_(symbol), library_(library) {}

    Function* operator()() {
        Function* function = function_.load(std::memory_order_acquire);
        if (function != nullptr)
            return function;
        function = reinterpret_cast<Function*>(find_behind(symbol_, library_));
        function_.store(function, std::memory_order_release);
        return function;
    }

private:
    const char* symbol_;
    Library library_;
    std::atomic<Function*> function_{nullptr};
};

// Straight to the next ioctl; 0 or a negative errno.
int real_kfd_ioctl(int fd, unsigned long request, void* argument);

} // namespace xpreempt::hook
