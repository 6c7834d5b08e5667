// SPDX-License-Identifier: MIT
// Any bytes at the control socket, from both sides: a session must answer each whole request with
// what the other side's reader takes, must leave no hold behind, and must not store without bound.
#include "../unit/fake_control_host.hpp"
#include "control/answer.hpp"
#include "control/session.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace {

namespace control = xpreempt::control;
namespace wire = xpreempt::control::wire;

void require(bool holds, const char* what) {
    if (holds)
        return;
    std::fprintf(stderr, "control_fuzz: %s\n", what);
    std::abort();
}

// Reads frames as they come, without knowing which requests there were.
class Reader {
public:
    void take(wire::Bytes bytes) {
        input_.insert(input_.end(), bytes.begin(), bytes.end());
        for (;;) {
            const wire::Parsed parsed = wire::parse_frame(input_, wire::max_reply_bytes);
            if (std::holds_alternative<wire::Incomplete>(parsed))
                return;
            const auto* frame = std::get_if<wire::Frame>(&parsed);
            require(frame != nullptr, "the session sent a frame that is none");
            control::AnswerReader reader(frame->header.tag);
            const auto whole = wire::Bytes(input_).first(frame->header.bytes);
            require(!reader.received(whole), "the session sent a record that its reader refuses");
            input_.erase(input_.begin(), input_.begin() + frame->header.bytes);
        }
    }
    [[nodiscard]] bool between_frames() const { return input_.empty(); }

private:
    std::vector<std::byte> input_;
};

// The first byte of the input says how large the pieces are in which the rest comes.
void as_requests(wire::Bytes bytes, std::size_t piece) {
    test::FakeControlHost host;
    control::HoldBook book(host);
    {
        control::Session session(host, book, {1, 2, 3});
        Reader reader;
        while (!bytes.empty() && session.wants() > 0) {
            const std::size_t part = std::min({piece, bytes.size(), session.wants()});
            session.received(bytes.first(part));
            bytes = bytes.subspan(part);
            while (!session.to_send().empty()) {
                const std::size_t out = std::min(piece * 7, session.to_send().size());
                reader.take(session.to_send().first(out));
                session.sent(out);
            }
        }
        require(reader.between_frames(), "the session sent half a frame");
    }
    // Only what was to be kept is held now, and at most once each.
    std::uint32_t left = host.holds(wire::Object::xqueue, 0x100000000);
    for (std::uint64_t i = 0; i < host.num_streams; ++i)
        left += host.holds(wire::Object::stream, 0x1000 + i);
    require(left <= host.num_streams + 1, "an object was kept more than once");
    control::Snapshot snapshot = host.snapshot();
    require(book.reconcile(snapshot).size() == left, "a hold is in no book");
    book.release_all();
    require(host.holds(wire::Object::stream, 0x1000) == 0, "a hold was left behind");
}

void as_answer(wire::Bytes bytes, std::size_t piece) {
    control::AnswerReader reader(1);
    while (!bytes.empty() && !reader.complete()) {
        const std::size_t part = std::min(piece, bytes.size());
        if (reader.received(bytes.first(part)))
            return;
        bytes = bytes.subspan(part);
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0)
        return 0;
    const auto bytes = std::as_bytes(std::span(data, size)).subspan(1);
    const std::size_t piece = 1U + data[0] % 61U * 9U;
    as_requests(bytes, piece);
    as_answer(bytes, piece);
    return 0;
}
