// SPDX-License-Identifier: MIT
// The other end's view: bytes of an answer to records, with no I/O.
#pragma once

#include "control/wire.hpp"

#include <optional>
#include <vector>

namespace xpreempt::control {

struct Answer {
    std::optional<wire::Process> process;
    std::vector<wire::Queue> queues;
    std::vector<wire::Ring> rings; // none from an older library
    std::vector<wire::Stream> streams;
    std::vector<wire::Xqueue> xqueues;
    std::vector<wire::Holder> holders;
    std::optional<wire::Outcome> outcome;
    wire::Done done{};
};

// Collects the answer to one request. Rejects an answer that is too long.
class AnswerReader {
public:
    explicit AnswerReader(std::uint32_t tag) : tag_(tag) {}

    // Returns nullopt if all is valid so far, or an error if the peer violates the protocol.
    std::optional<wire::Broken> received(wire::Bytes bytes);
    [[nodiscard]] bool complete() const { return complete_; }
    [[nodiscard]] const Answer& answer() const { return answer_; }

private:
    std::optional<wire::Broken> take(const wire::Frame& frame);

    const std::uint32_t tag_;
    std::vector<std::byte> input_;
    std::size_t total_ = 0;
    bool complete_ = false;
    Answer answer_;
};

} // namespace xpreempt::control
