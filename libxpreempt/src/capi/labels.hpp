// SPDX-License-Identifier: MIT
// Names that the program gave to streams and xqueues, and which stream an xqueue is in front of.
#pragma once

#include "base/error.hpp"
#include "hip/mapping.hpp"

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace xpreempt::capi {

// Thread-safe.
class Labels {
public:
    explicit Labels(const hip::Mapping& mapping) : mapping_(mapping) {}

    // At most 63 bytes, none of them a control character, and the first no digit: "0x10" on a
    // command line is a handle.
    static Result<std::string_view> check(std::string_view name);

    // Streams are keys, those of Mapping::key_of(). Empty: no name. A name ends with its stream, as
    // far as the hook sees streams.
    void name_stream(hip::Stream stream, std::string_view name);
    void forget_stream(hip::Stream stream); // With nullptr, forgets all that ended unseen.
    std::string of_stream(hip::Stream stream);
    std::vector<hip::Stream> named_streams();

    struct Xqueue {
        hip::Stream stream; // key
        std::string name;
        hip::Stream given; // as the program calls it
    };
    void add_xqueue(std::uint64_t handle, hip::Stream stream, hip::Stream given);
    void name_xqueue(std::uint64_t handle, std::string_view name);
    void forget_xqueue(std::uint64_t handle);
    Xqueue of_xqueue(std::uint64_t handle);

private:
    struct Named {
        mutable std::uint64_t birth; // 0: named before its first packet, until that is seen
        std::string name;
    };
    bool is_current(hip::Stream stream, const Named& named) const;

    const hip::Mapping& mapping_;
    std::mutex mutex_;
    std::map<hip::Stream, Named> streams_;
    std::map<std::uint64_t, Xqueue> xqueues_;
};

} // namespace xpreempt::capi
