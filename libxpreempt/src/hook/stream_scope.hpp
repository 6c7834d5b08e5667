// SPDX-License-Identifier: MIT
// Which stream the HIP call that this thread is in works on.
#pragma once

namespace xpreempt::hook {

// Nested calls keep the outer stream: HIP calls some of its own exports, and the packets of the
// inner call belong to what the program asked for.
class StreamScope {
public:
    explicit StreamScope(const void* stream);
    ~StreamScope();
    StreamScope(const StreamScope&) = delete;
    StreamScope& operator=(const StreamScope&) = delete;
    StreamScope(StreamScope&&) = delete;
    StreamScope& operator=(StreamScope&&) = delete;
};

// False outside of any scope.
bool current_stream(const void*& stream);

} // namespace xpreempt::hook
