// SPDX-License-Identifier: MIT
// Attributes of a source that policies read beside its priority.
#pragma once

#include "base/attributes.hpp"

#include <atomic>

namespace xpreempt::xqueue {

struct Attributes {
    static constexpr auto none = attribute::Time::Seen::max();

#define ATTRIBUTE(kind, name, least, most, initial, view, ...)                                     \
    attribute::kind::Seen view = attribute::kind::seen(initial);
#include "base/attributes.def"

    bool operator==(const Attributes&) const = default;
};

// Thread-safe: each attribute by itself.
class SharedAttributes {
public:
    void set(const Attributes& attributes) {
#define ATTRIBUTE(kind, name, least, most, initial, view, ...)                                     \
    view##_.store(attributes.view, std::memory_order_relaxed);
#include "base/attributes.def"
    }
    [[nodiscard]] Attributes get() const {
        Attributes attributes;
#define ATTRIBUTE(kind, name, least, most, initial, view, ...)                                     \
    attributes.view = view##_.load(std::memory_order_relaxed);
#include "base/attributes.def"
        return attributes;
    }

private:
#define ATTRIBUTE(kind, name, least, most, initial, view, ...)                                     \
    std::atomic<attribute::kind::Seen> view##_{attribute::kind::seen(initial)};
#include "base/attributes.def"
};

} // namespace xpreempt::xqueue
