// SPDX-License-Identifier: MIT
// Remembers in each thread what DirectStreams answers for the streams that the thread uses.
#pragma once

#include "backend/direct_calls.hpp"

#include <array>
#include <cstdint>
#include <memory>

namespace xpreempt::backend {

// A stream that the calling thread used, as of a generation of DirectStreams. So a thread takes a
// lock of all threads for the first call into a stream only.
struct KnownStream {
    const void* key = nullptr;
    std::uint64_t generation = 0;
    std::weak_ptr<DirectCalls> calls;
    bool reported = false; // its work, and nothing more is to be reported
};
inline thread_local std::array<KnownStream, 16> known_here;

inline KnownStream& known(const DirectStreams& direct, const void* key) {
    const auto mixed = reinterpret_cast<std::uintptr_t>(key) * std::uint64_t{0x9e3779b97f4a7c15};
    KnownStream& entry = known_here[mixed >> 60];
    const std::uint64_t generation = direct.generation(); // before find()
    if (entry.key != key || entry.generation != generation)
        entry = {key, generation, direct.find(key), false};
    return entry;
}

} // namespace xpreempt::backend
