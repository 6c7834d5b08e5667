// SPDX-License-Identifier: MIT
// Finds which of several HIP runtimes, or ROCr's, the code that calls us is bound to.
#pragma once

#include <cstdint>

namespace xpreempt::hook {

enum class Rocm : std::uint8_t { hip, hsa };

// A wheel brings a runtime of its own; two of them in one process are usual, more aren't. Those
// behind the last are taken for the first.
constexpr unsigned max_providers = 4;
constexpr unsigned no_provider = max_providers;

// The provider, by number, that the linker would have bound a call of that symbol to without us:
// the next in the global order, else one that the caller's object is linked to, else the first that
// is mapped. no_provider: none is. caller: an address in the calling code, or null.
// No library is ever loaded. Cheap for callers that were seen before.
unsigned provider_for(const void* caller, Rocm rocm, const char* symbol);

bool is_mapped(Rocm rocm); // a runtime is loaded

// In the child of a fork: another thread may have been in one of these.
void unlock_providers();

// Null: that one doesn't have it.
void* in_provider(unsigned provider, Rocm rocm, const char* symbol);

} // namespace xpreempt::hook
