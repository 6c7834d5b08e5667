// SPDX-License-Identifier: MIT
// One connection: bytes in, bytes out, no file descriptor.
#pragma once

#include "control/hold_book.hpp"

#include <cstddef>
#include <vector>

namespace xpreempt::control {

// Answers one request at a time: what a slow reader hasn't taken is all that is stored for it.
class Session {
public:
    // book and host must outlive it.
    Session(Host& host, HoldBook& book, Owner owner) : host_(host), book_(book), owner_(owner) {}
    ~Session() { book_.end_connection(owner_.connection); }
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    // How many bytes may be received now: 0 while an answer waits to be sent.
    [[nodiscard]] std::size_t wants() const;
    void received(wire::Bytes bytes); // at most wants()
    [[nodiscard]] wire::Bytes to_send() const { return wire::Bytes(output_).subspan(sent_); }
    void sent(std::size_t bytes);

    [[nodiscard]] bool over() const { return broken_ && to_send().empty(); }
    [[nodiscard]] bool in_frame() const { return !input_.empty(); }
    [[nodiscard]] bool holds() const { return book_.holds_any(owner_.connection); }

private:
    void step();
    void answer(const wire::Frame& frame);
    void list(std::uint32_t tag);
    void done(std::uint32_t tag, int error, std::string_view text);

    Host& host_;
    HoldBook& book_;
    const Owner owner_;
    std::vector<std::byte> input_;
    std::vector<std::byte> output_;
    std::size_t sent_ = 0;
    bool broken_ = false;
};

} // namespace xpreempt::control
