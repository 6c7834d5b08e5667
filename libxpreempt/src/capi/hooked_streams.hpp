// SPDX-License-Identifier: MIT
// The streams without an xqueue that are held or have a priority.
#pragma once

#include "backend/hooked_stream.hpp"
#include "hip/mapping.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>

namespace xpreempt::capi {

// Thread-safe.
class HookedStreams {
public:
    using Pointer = std::shared_ptr<backend::HookedStream>;
    using Gone = std::function<void(const Pointer&)>;
    // gone: called for one whose stream was destroyed, or got an xqueue.
    HookedStreams(const hip::Mapping& mapping, Gone gone)
        : mapping_(mapping), gone_(std::move(gone)) {}

    Pointer find(hip::Stream key);
    // The one that is there already, or this one.
    Pointer insert(hip::Stream key, Pointer made);
    // The one that was there, or null.
    Pointer remove(hip::Stream key);

private:
    struct Known {
        std::uint64_t birth; // of the stream: another one may get its address
        Pointer stream;
    };
    void forget_dead();

    const hip::Mapping& mapping_;
    const Gone gone_;
    std::mutex mutex_;
    std::map<hip::Stream, Known> known_;
};

} // namespace xpreempt::capi
