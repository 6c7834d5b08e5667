// SPDX-License-Identifier: MIT
// Remembers in each thread what DirectStreams answers for the streams that the thread uses.
#pragma once

#include "backend/direct_calls.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <utility>

namespace xpreempt::backend {

// A stream that the calling thread used, as of a generation of DirectStreams. So a thread takes a
// lock of all threads for the first call into a stream only.
struct KnownStream {
    const void* key = nullptr;
    std::uint64_t generation = 0;
    std::weak_ptr<DirectCalls> calls;
    bool reported = false; // its work, and nothing more is to be reported
};
using KnownStreams = std::array<KnownStream, 16>;

// A pointer, because destructors of the program may call HIP after ours; what they use then stays.
inline thread_local KnownStreams* known_here = nullptr;
struct KnownEnd {
    KnownEnd() = default;
    KnownEnd(const KnownEnd&) = delete;
    KnownEnd& operator=(const KnownEnd&) = delete;
    bool armed = false;
    ~KnownEnd() { delete std::exchange(known_here, nullptr); }
};
inline thread_local KnownEnd known_end;

inline KnownStream& known(const DirectStreams& direct, const void* key) {
    const auto mixed = reinterpret_cast<std::uintptr_t>(key) * std::uint64_t{0x9e3779b97f4a7c15};
    if (known_here == nullptr) {
        known_here = new KnownStreams;
        known_end.armed = true; // its first use registers its destructor
    }
    KnownStream& entry = (*known_here)[mixed >> 60];
    const std::uint64_t generation = direct.generation(); // before find()
    if (entry.key != key || entry.generation != generation)
        entry = {key, generation, direct.find(key), false};
    return entry;
}

} // namespace xpreempt::backend
