// SPDX-License-Identifier: MIT
// A thread for calls of the driver that move memory: they take seconds, and the loop must not.
#pragma once

#include "base/error.hpp"
#include "base/unique_fd.hpp"
#include "driver/provider.hpp"

#include <functional>
#include <memory>
#include <span>

namespace xpreemptd {

class Mover {
public:
    using Call = std::function<void(std::span<Switch>)>; // fills the results
    static Result<Mover> start(Call call);

    void begin(Move move);
    [[nodiscard]] int fd() const; // readable: take() has some
    [[nodiscard]] std::vector<Move> take();

private:
    struct Shared;
    explicit Mover(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}
    static void work(const std::shared_ptr<Shared>& shared);

    // The thread has it, too: it is never joined, as a call ends when the process does, and the
    // driver then brings everything back.
    std::shared_ptr<Shared> shared_;
};

} // namespace xpreemptd
