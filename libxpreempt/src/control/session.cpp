// SPDX-License-Identifier: MIT
// Requests to answers.
#include "control/session.hpp"

namespace xpreempt::control {

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
    const auto request = wire::parse_request(frame);
    if (request && request->kind == wire::Kind::list)
        return list(tag);
    const auto answer =
        request.and_then([this](const wire::Request& asked) { return book_.serve(owner_, asked); });
    if (!answer)
        return done(tag, answer.error().error, answer.error().text);
    wire::append_records(output_, wire::Kind::outcome, tag, std::span(&*answer, 1));
    done(tag, 0, "");
}

void Session::list(std::uint32_t tag) {
    Snapshot snapshot = host_.snapshot();
    const std::vector<wire::Holder> holders = book_.reconcile(snapshot);
    wire::append_records(output_, wire::Kind::process, tag, std::span(&snapshot.process, 1));
    wire::append_records(output_, wire::Kind::queues, tag, snapshot.queues);
    wire::append_records(output_, wire::Kind::rings, tag, snapshot.rings);
    wire::append_records(output_, wire::Kind::streams, tag, snapshot.streams);
    wire::append_records(output_, wire::Kind::xqueues, tag, snapshot.xqueues);
    wire::append_records(output_, wire::Kind::holders, tag, holders);
    done(tag, 0, "");
}

void Session::done(std::uint32_t tag, int error, std::string_view text) {
    const auto bytes = wire::done_frame(tag, error, text);
    output_.insert(output_.end(), bytes.begin(), bytes.end());
}

} // namespace xpreempt::control
