// SPDX-License-Identifier: MIT
// xpreempt/stream.h in C++: streams, owned or not, and holds of a stream.
#pragma once

#include <xpreempt/cxx/owned.hpp>
#include <xpreempt/sched.h>
#include <xpreempt/stream.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

struct ihipStream_t; // what a hipStream_t points to

namespace xpreempt::inline v0_tl {

namespace detail {

// The C functions that take a stream. Self::handle() returns null, or the stream's handle.
template <typename Self> class StreamCalls {
public:
    // xp_stream_touch(): blocks until everything has completed, unless the queue is held.
    Expected<void> touch() const { return call(xp_stream_touch); }

    // xp_stream_wait(): as touch(), without a kernel.
    Expected<void> wait() const { return call(xp_stream_wait); }

    [[nodiscard]] Expected<std::uint32_t> is_idle() const { return get(xp_stream_is_idle); }

    [[nodiscard]] Expected<xp_stream_info> query() const { return get(xp_stream_query); }

    [[nodiscard]] Expected<xp_prediction> predict() const { return get(xp_stream_predict); }

    // xp_stream_sharing(): the streams on this one's queue, itself included.
    [[nodiscard]] Expected<std::vector<void*>> sharing() const {
        return with([](void* stream) -> Expected<std::vector<void*>> {
            std::vector<void*> streams;
            std::size_t count = 0;
            do { // another thread may create one between two calls
                streams.resize(count);
                if (const int answer =
                        xp_stream_sharing(stream, streams.data(), streams.size(), &count);
                    answer != 0)
                    return failed(answer);
            } while (count > streams.size());
            streams.resize(count);
            return streams;
        });
    }

    // xp_stream_set_name(); "" removes the name.
    Expected<void> set_name(const std::string& name) const {
        return call([&](void* stream) { return xp_stream_set_name(stream, name.c_str()); });
    }

    Expected<void> set_priority(std::int32_t priority) const {
        return call([=](void* stream) { return xp_stream_set_priority(stream, priority); });
    }

    [[nodiscard]] Expected<std::int32_t> get_priority() const {
        return get(xp_stream_get_priority);
    }

    // xp_stream_set_attributes(): sets all; 0 is the default. sz is set here.
    Expected<void> set_attributes(xp_sched_attributes attributes) const {
        attributes.sz = sizeof attributes;
        return call([&](void* stream) { return xp_stream_set_attributes(stream, &attributes); });
    }

    [[nodiscard]] Expected<xp_sched_attributes> get_attributes() const {
        return get(xp_stream_get_attributes);
    }

    // xp_stream_hold(): returns the level reached. Lasts until as many release(); see Held.
    Expected<xp_level> hold(std::uint32_t flags = 0) const {
        return with([=](void* stream) {
            return level_of(
                [=](std::uint32_t* level) { return xp_stream_hold(stream, flags, level); });
        });
    }

    Expected<void> release() const { return call(xp_stream_release); }

private:
    friend Self;
    StreamCalls() = default;

    template <typename Body> auto with(Body body) const -> decltype(body(nullptr)) {
        void* const* const stream = static_cast<const Self&>(*this).handle();
        if (stream == nullptr)
            return failed(EBADF, "the stream was destroyed or moved from");
        return body(*stream);
    }
    template <typename Call> Expected<void> call(Call function) const {
        return with([&](void* stream) { return as_expected(function(stream)); });
    }
    template <typename Value> Expected<Value> get(int (*function)(void*, Value*)) const {
        return with([=](void* stream) {
            return value_of<Value>([=](Value* value) { return function(stream, value); });
        });
    }
};

} // namespace detail

// A non-owning view of a hipStream_t; nullptr is the null stream. HIP functions accept
// it as a hipStream_t.
class StreamRef : public detail::StreamCalls<StreamRef> {
public:
    StreamRef(void* stream) noexcept : stream_(stream) {}

    [[nodiscard]] void* get() const noexcept { return stream_; }
    operator void*() const noexcept { return stream_; }
    operator ihipStream_t*() const noexcept { return static_cast<ihipStream_t*>(stream_); }

private:
    friend detail::StreamCalls<StreamRef>;
    void* const* handle() const noexcept { return &stream_; }
    void* stream_;
};

// Owner of a stream with a queue of its own. An XQueue on it must be closed before it is
// destroyed: declare the stream first.
class Stream : public detail::StreamCalls<Stream> {
public:
    [[nodiscard]] static Expected<Stream> create() {
        return detail::value_of<void*>(xp_stream_create).map([](void* stream) {
            return Stream(stream);
        });
    }

    // xp_stream_destroy(), as the destructor does, with its error.
    Expected<void> destroy() { return stream_.end(); }

    // Null, which HIP takes for the null stream, if it was destroyed or moved from.
    [[nodiscard]] void* get() const noexcept { return stream_.get() ? *stream_.get() : nullptr; }
    operator StreamRef() const noexcept { return get(); }
    operator void*() const noexcept { return get(); }
    operator ihipStream_t*() const noexcept { return static_cast<ihipStream_t*>(get()); }

private:
    explicit Stream(void* stream) : stream_(stream) {}
    friend detail::StreamCalls<Stream>;
    void* const* handle() const noexcept { return stream_.get(); }
    detail::Owned<void*, xp_stream_destroy> stream_;
};

// One hold of one or several streams, released at the end of its scope.
class Held {
public:
    // xp_stream_hold(). With XP_HOLD_LEAST(level) it is an error if that level cannot be reached.
    [[nodiscard]] static Expected<Held> hold(StreamRef stream, std::uint32_t flags = 0) {
        return hold(std::vector{stream}, flags);
    }
    // xp_streams_hold(): all of them or none.
    [[nodiscard]] static Expected<Held> hold(const std::vector<StreamRef>& streams,
                                             std::uint32_t flags = 0) {
        Handles handles(streams.begin(), streams.end());
        const auto level = detail::level_of([&](std::uint32_t* reached) {
            return xp_streams_hold(handles.data(), handles.size(), flags, reached);
        });
        return level.map([&](xp_level reached) { return Held(std::move(handles), reached); });
    }

    // The level that this hold found or reached, the lowest of several.
    [[nodiscard]] xp_level level() const noexcept { return level_; }

    // xp_streams_release(), as the destructor does, with its error.
    Expected<void> release() { return streams_.end(); }

private:
    using Handles = std::vector<void*>;

    Held(Handles streams, xp_level level) : streams_(std::move(streams)), level_(level) {}
    static int release_all(const Handles& streams) noexcept {
        return xp_streams_release(streams.data(), streams.size());
    }
    detail::Owned<Handles, release_all> streams_;
    xp_level level_;
};

} // namespace xpreempt::inline v0_tl
