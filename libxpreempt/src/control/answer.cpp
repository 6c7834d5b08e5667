// SPDX-License-Identifier: MIT
// Answers of a process that may be hostile.
#include "control/answer.hpp"

#include <cerrno>

namespace xpreempt::control {

namespace {

constexpr std::size_t max_answer_bytes = 8U << 20U;

// False: the payload isn't what it says.
template <typename Record> bool append(std::vector<Record>& to, wire::Bytes payload) {
    const auto records = wire::parse_records<Record>(payload);
    if (!records)
        return false;
    to.insert(to.end(), records->begin(), records->end());
    return true;
}

template <typename Record> bool put(std::optional<Record>& to, wire::Bytes payload) {
    const auto records = wire::parse_records<Record>(payload);
    if (!records || records->size() != 1)
        return false;
    to = records->front();
    return true;
}

} // namespace

std::optional<wire::Broken> AnswerReader::received(wire::Bytes bytes) {
    total_ += bytes.size();
    if (total_ > max_answer_bytes)
        return wire::Broken{EMSGSIZE,
                            "a reply of more than " + std::to_string(max_answer_bytes) + " bytes"};
    input_.insert(input_.end(), bytes.begin(), bytes.end());
    std::size_t used = 0;
    while (!complete_) {
        const wire::Parsed parsed =
            wire::parse_frame(wire::Bytes(input_).subspan(used), wire::max_reply_bytes);
        if (std::holds_alternative<wire::Incomplete>(parsed))
            break;
        if (const auto* broken = std::get_if<wire::Broken>(&parsed))
            return *broken;
        const auto& frame = std::get<wire::Frame>(parsed);
        if (auto broken = take(frame))
            return broken;
        used += frame.header.bytes;
    }
    input_.erase(input_.begin(), input_.begin() + static_cast<std::ptrdiff_t>(used));
    return std::nullopt;
}

std::optional<wire::Broken> AnswerReader::take(const wire::Frame& frame) {
    // Tag 0 with `done` is a refusal of the connection itself.
    const auto kind = wire::Kind{frame.header.kind};
    if (frame.header.tag != tag_ && !(frame.header.tag == 0 && kind == wire::Kind::done))
        return wire::Broken{EPROTO, "a reply to another request"};
    bool good = true;
    switch (kind) {
    case wire::Kind::process: good = put(answer_.process, frame.payload); break;
    case wire::Kind::queues: good = append(answer_.queues, frame.payload); break;
    case wire::Kind::rings: good = append(answer_.rings, frame.payload); break;
    case wire::Kind::streams: good = append(answer_.streams, frame.payload); break;
    case wire::Kind::xqueues: good = append(answer_.xqueues, frame.payload); break;
    case wire::Kind::holders: good = append(answer_.holders, frame.payload); break;
    case wire::Kind::outcome: good = put(answer_.outcome, frame.payload); break;
    case wire::Kind::done: {
        const auto done = wire::parse<wire::Done>(frame.payload);
        good = done.has_value();
        if (good)
            answer_.done = *done;
        complete_ = true;
        break;
    }
    default: break; // of a newer library
    }
    if (!good)
        return wire::Broken{EPROTO, "a record of kind " + std::to_string(frame.header.kind) +
                                        " is too short"};
    return std::nullopt;
}

} // namespace xpreempt::control
