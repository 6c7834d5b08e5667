// SPDX-License-Identifier: MIT
// Reads the rules beside the loop: names of users may come from a slow name service.
#pragma once

#include "base/unique_fd.hpp"
#include "rules/rules.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tl/expected.hpp>

namespace xpreemptd {

class RulesReader {
public:
    using Answer = tl::expected<Rules, std::string>;
    using Read = std::function<Answer()>;

    // The error is an errno.
    [[nodiscard]] static tl::expected<RulesReader, int> make(Read read);

    // While one reading is under way, the file is read once more after it.
    void begin();
    [[nodiscard]] int fd() const; // readable when a reading has ended
    // The rules that were read last. Nothing if another reading has begun since.
    [[nodiscard]] std::optional<Answer> take();

private:
    struct Shared;
    explicit RulesReader(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}

    std::shared_ptr<Shared> shared_; // also the thread's
    bool reads_ = false, again_ = false;
};

} // namespace xpreemptd
