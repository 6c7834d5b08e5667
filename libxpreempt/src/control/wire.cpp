// SPDX-License-Identifier: MIT
// Decoding of frames from a peer that may send anything.
#include "control/wire.hpp"

#include "base/error.hpp"

#include <cerrno>

namespace xpreempt::control::wire {

namespace {

Answer<void> check(const Target& target, std::uint32_t known_flags) {
    if (target.object != static_cast<std::uint32_t>(Object::stream) &&
        target.object != static_cast<std::uint32_t>(Object::xqueue))
        return refuse(EINVAL, "object " + std::to_string(target.object) +
                                  " is neither a stream (1) nor an xqueue (2)");
    if ((target.flags & ~known_flags) != 0)
        return refuse(EINVAL, "unknown flags " + std::to_string(target.flags & ~known_flags));
    if (text_of(target.name).size() == sizeof target.name)
        return refuse(EINVAL, "the name does not end with NUL");
    return {};
}

} // namespace

Parsed parse_frame(Bytes received, std::size_t max_bytes) {
    const auto header = parse<Header>(received);
    if (!header)
        return Incomplete{};
    if (header->version != version)
        return Broken{EPROTO, "protocol version " + std::to_string(header->version) +
                                  ", expected " + std::to_string(version)};
    if (header->bytes < sizeof *header || header->bytes > max_bytes)
        return Broken{EMSGSIZE, "a frame of " + std::to_string(header->bytes) +
                                    " bytes, expected " + std::to_string(sizeof *header) + " to " +
                                    std::to_string(max_bytes)};
    if (received.size() < header->bytes)
        return Incomplete{};
    return Frame{*header, received.subspan(sizeof *header, header->bytes - sizeof *header)};
}

Answer<Request> parse_request(const Frame& frame) {
    Request request{Kind{frame.header.kind}, frame.header.tag, {}};
    switch (request.kind) {
    case Kind::list:
        if (!frame.payload.empty())
            return refuse(EINVAL, "list takes no payload");
        return request;
    case Kind::suspend:
    case Kind::resume: {
        if (frame.payload.size() != sizeof(Target))
            return refuse(EINVAL, "a target of " + std::to_string(frame.payload.size()) +
                                      " bytes, expected " + std::to_string(sizeof(Target)));
        std::memcpy(&request.target, frame.payload.data(), sizeof(Target));
        TRY(check(request.target, request.kind == Kind::suspend ? suspend_flags : resume_flags));
        return request;
    }
    default: return refuse(ENOSYS, "unknown request " + std::to_string(frame.header.kind));
    }
}

std::vector<std::byte> frame(Kind kind, std::uint32_t tag, Bytes payload) {
    const Header header{static_cast<std::uint32_t>(sizeof(Header) + payload.size()), version,
                        static_cast<std::uint16_t>(kind), tag, 0};
    std::vector<std::byte> bytes(header.bytes);
    std::memcpy(bytes.data(), &header, sizeof header);
    if (!payload.empty())
        std::memcpy(bytes.data() + sizeof header, payload.data(), payload.size());
    return bytes;
}

std::vector<std::byte> done_frame(std::uint32_t tag, int error, std::string_view text) {
    Done done{};
    done.error = error;
    put_text(done.text, text);
    return frame(Kind::done, tag, std::as_bytes(std::span(&done, 1)));
}

} // namespace xpreempt::control::wire
