// SPDX-License-Identifier: MIT
// The last entries of a stream of what happened, for readers that come when they like.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace xpreemptd {

// A ring: append() never allocates, and a reader that is too late learns how much it lost.
// Entry: copyable, with a default.
template <class Entry> class Journal {
public:
    explicit Journal(std::size_t capacity) : ring_(std::max<std::size_t>(capacity, 1)) {}

    void append(const Entry& entry) { ring_[next_++ % ring_.size()] = entry; }

    // Entries are numbered from 0 on. Those below first() are lost, next() is that of the next one.
    [[nodiscard]] std::uint64_t next() const { return next_; }
    [[nodiscard]] std::uint64_t first() const {
        return next_ - std::min<std::uint64_t>(next_, ring_.size());
    }
    // From first() to below next().
    [[nodiscard]] const Entry& at(std::uint64_t number) const {
        return ring_[number % ring_.size()];
    }

private:
    std::vector<Entry> ring_;
    std::uint64_t next_ = 0;
};

} // namespace xpreemptd
