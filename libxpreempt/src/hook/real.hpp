// SPDX-License-Identifier: MIT
// The functions of ROCm behind our interposers, looked up at first use.
#pragma once

#include "hook/companion.hpp"
#include "hook/providers.hpp"

#include <atomic>

namespace xpreempt::hook {

// dlsym itself, past our interposer; for the hook's own lookups.
void* real_dlsym(void* handle, const char* name);

bool is_of_rocm(void* function); // one of a HIP or HSA runtime

const char* file_of(const char* path); // its last part; "" of null
bool starts_with(const char* text, const char* beginning);

// There may be several runtimes. Constant-initialised, so that a function-local static of it needs
// no guard and no allocation. begins: the program uses HIP from this call on.
template <Rocm rocm, typename Function, bool begins = true> class RocmNext {
public:
    constexpr explicit RocmNext(const char* symbol) : symbol_(symbol) {}

    // Null: there is none yet. caller: an address in the code that called the interposer.
    Function* operator()(const void* caller) {
        const unsigned provider = provider_for(caller, rocm, symbol_);
        if (provider == no_provider)
            return nullptr;
        Function* function = functions_[provider].load(std::memory_order_acquire);
        if (function == nullptr) [[unlikely]]
            function = look_up(provider);
        if constexpr (rocm == Rocm::hip)
            note_runtime(provider);
        return function;
    }

    const char* name() const { return symbol_; }

private:
    Function* look_up(unsigned provider) {
        if constexpr (rocm == Rocm::hip) {
            note_runtime(provider); // before the library calls HIP
            if constexpr (begins)
                load_companion(); // a thread of the program, and not in HIP
        }
        auto* function = reinterpret_cast<Function*>(in_provider(provider, rocm, symbol_));
        functions_[provider].store(function, std::memory_order_release);
        return function;
    }

    const char* symbol_;
    std::atomic<Function*> functions_[max_providers]{};
};

// Straight to the next ioctl; 0 or a negative errno.
int real_kfd_ioctl(int fd, unsigned long request, void* argument);

} // namespace xpreempt::hook
