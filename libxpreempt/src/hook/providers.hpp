// SPDX-License-Identifier: MIT
// Finds which of several HIP runtimes, or ROCr's, the code that calls us is bound to.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace xpreempt::hook {

enum class Rocm : std::uint8_t { hip, hsa };

// A wheel brings a runtime of its own; two of them in one process are usual, more aren't. Those
// behind the last are taken for the first.
constexpr unsigned max_providers = 4;
constexpr unsigned no_provider = max_providers;

constexpr std::size_t index_of(Rocm rocm) {
    return static_cast<std::size_t>(rocm);
}

// An object that calls ROCm. Another one in its place is taken for it, see libxpreempt(7).
struct CallerObject {
    std::uintptr_t begin, end;
    unsigned provider;
};
extern constinit thread_local CallerObject last_callers[2]; // in this thread, by Rocm

// The provider, by number, that the linker would have bound a call of that symbol to without us:
// the next in the global order, else one that the caller's object is linked to, else the first that
// is mapped. no_provider: none is. caller: an address in the calling code; null: the library, as
// its own code. It has the runtime that was called first. No library is ever loaded. Cheap for
// callers that were seen before.
unsigned find_provider(const void* caller, Rocm rocm, const char* symbol);

inline unsigned provider_for(const void* caller, Rocm rocm, const char* symbol) {
    const auto address = reinterpret_cast<std::uintptr_t>(caller);
    const CallerObject& last = last_callers[index_of(rocm)];
    if (address >= last.begin && address < last.end) [[likely]]
        return last.provider;
    return find_provider(caller, rocm, symbol);
}

// The library works with the HIP runtime that is called first. Calls of others are not noted:
// their streams, devices and null streams would be taken for those of the first.
extern std::atomic<unsigned> first_called;
extern constinit thread_local bool is_other_runtime; // of the thread's last HIP call

inline void note_runtime(unsigned provider) {
    unsigned first = first_called.load(std::memory_order_relaxed);
    if (first == no_provider) [[unlikely]]
        if (first_called.compare_exchange_strong(first, provider))
            first = provider;
    is_other_runtime = provider != first;
}

// The runtime that is called first, for dlsym(); null: none is loaded.
void* library_runtime();

bool is_mapped(Rocm rocm); // a runtime is loaded

// In the child of a fork: another thread may have been in one of these.
void unlock_providers();

// Null: that one doesn't have it.
void* in_provider(unsigned provider, Rocm rocm, const char* symbol);

} // namespace xpreempt::hook
