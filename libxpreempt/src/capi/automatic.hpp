// SPDX-License-Identifier: MIT
// Streams that are scheduled although the program asks for nothing: XSched's environment variables.
#pragma once

#include "capi/policies.hpp"
#include "hip/mapping.hpp"
#include "xqueue/attributes.hpp"
#include "xqueue/hw_queue.hpp"

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

namespace xpreempt::capi {

class Library;

// Settings of each stream.
struct StreamDefaults {
    xqueue::Level level = xqueue::Level::block;
    std::uint32_t threshold = 16, batch = 8; // at level 1
    std::int32_t priority = 0;
    xqueue::Attributes attributes;
};

struct AutomaticSettings {
    std::optional<StreamDefaults> streams; // XSCHED_AUTO_XQUEUE and its kin
    // XSCHED_POLICY or XSCHED_SCHEDULER: an XP_POLICY_... of this process. Empty: none schedules.
    std::optional<std::uint32_t> policy;
    PolicySettings of_policy; // XSCHED_AUTO_XQUEUE_TIMESLICE and _KDEADLINE
    bool by_daemon = false;   // XSCHED_SCHEDULER: GLB
};

// Reports a value that can't be honoured on standard error, with the one that is used instead.
using Environment = const char* (*)(const char* name);
AutomaticSettings read_automatic_settings(Environment environment);

// Gives each stream its defaults at the end of the first call that puts work into it. Thread-safe.
class AutomaticStreams {
public:
    explicit AutomaticStreams(Library& library) : library_(library) {}

    void start(const AutomaticSettings& settings);
    bool note_work(hip::Stream key); // false: to be called for its next work, too
    void note_end(hip::Stream key);  // With nullptr, forgets all destroyed streams.

private:
    bool add(hip::Stream key);

    Library& library_;
    StreamDefaults defaults_;
    std::mutex mutex_;
    std::map<hip::Stream, bool> known_; // true: nothing more is to be done for its work
};

} // namespace xpreempt::capi
