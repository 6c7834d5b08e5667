// SPDX-License-Identifier: MIT
// Requests to answers.
#include "control/session.hpp"

#include <cerrno>

namespace xpreempt::control {

namespace {

template <typename Record>
void append(std::vector<std::byte>& to, wire::Kind kind, std::uint32_t tag,
            const std::vector<Record>& records) {
    wire::append_records(to, kind, tag, std::span<const Record>(records));
}

} // namespace

std::size_t Session::wants() const {
    return broken_ || !to_send().empty() ? 0 : wire::max_request_bytes - input_.size();
}

void Session::received(wire::Bytes bytes) {
    input_.insert(input_.end(), bytes.begin(), bytes.end());
    step();
}

void Session::sent(std::size_t bytes) {
    sent_ += bytes;
    if (sent_ < output_.size())
        return;
    output_.clear();
    sent_ = 0;
    step();
}

void Session::step() {
    if (broken_ || !output_.empty())
        return;
    const wire::Parsed parsed = wire::parse_frame(input_, wire::max_request_bytes);
    if (const auto* broken = std::get_if<wire::Broken>(&parsed)) {
        done(0, broken->error, broken->text);
        broken_ = true;
        input_.clear();
    } else if (const auto* frame = std::get_if<wire::Frame>(&parsed)) {
        const std::size_t bytes = frame->header.bytes;
        answer(*frame);
        input_.erase(input_.begin(), input_.begin() + static_cast<std::ptrdiff_t>(bytes));
    }
}

void Session::answer(const wire::Frame& frame) {
    const std::uint32_t tag = frame.header.tag;
    const auto parsed = wire::parse_request(frame);
    if (const auto* refused = std::get_if<wire::Refused>(&parsed))
        return done(tag, refused->error, refused->text);
    const auto& request = std::get<wire::Request>(parsed);
    if (request.kind == wire::Kind::list)
        return list(tag);
    if (host_.is_read_only())
        return done(tag, EACCES, "the program opened its control socket for reading only");
    const HoldBook::Answer answer = request.kind == wire::Kind::suspend
                                        ? book_.suspend(owner_, request.target)
                                        : book_.resume(owner_, request.target);
    if (const auto* refused = std::get_if<wire::Refused>(&answer))
        return done(tag, refused->error, refused->text);
    append(output_, wire::Kind::outcome, tag,
           std::vector<wire::Outcome>{std::get<wire::Outcome>(answer)});
    done(tag, 0, "");
}

void Session::list(std::uint32_t tag) {
    Snapshot snapshot = host_.snapshot();
    const std::vector<wire::Holder> holders = book_.reconcile(snapshot);
    append(output_, wire::Kind::process, tag, std::vector<wire::Process>{snapshot.process});
    append(output_, wire::Kind::queues, tag, snapshot.queues);
    append(output_, wire::Kind::rings, tag, snapshot.rings);
    append(output_, wire::Kind::streams, tag, snapshot.streams);
    append(output_, wire::Kind::xqueues, tag, snapshot.xqueues);
    append(output_, wire::Kind::holders, tag, holders);
    done(tag, 0, "");
}

void Session::done(std::uint32_t tag, int error, std::string_view text) {
    wire::Done record{};
    record.error = error;
    wire::put_text(record.text, text);
    const auto bytes = wire::frame(wire::Kind::done, tag, std::as_bytes(std::span(&record, 1)));
    output_.insert(output_.end(), bytes.begin(), bytes.end());
}

} // namespace xpreempt::control
