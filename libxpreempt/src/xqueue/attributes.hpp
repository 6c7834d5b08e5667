// SPDX-License-Identifier: MIT
// Attributes of a source that policies read beside its priority.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace xpreempt::xqueue {

struct Attributes {
    static constexpr auto none = std::chrono::nanoseconds::max();

    std::uint32_t weight = 100;
    std::uint32_t utilization = 100;                   // percent
    std::chrono::nanoseconds relative_deadline = none; // of each request
    std::chrono::nanoseconds lax = none;               // until a request is critical

    bool operator==(const Attributes&) const = default;
};

// Thread-safe: each attribute by itself.
class SharedAttributes {
public:
    void set(const Attributes& attributes) {
        weight_.store(attributes.weight, std::memory_order_relaxed);
        utilization_.store(attributes.utilization, std::memory_order_relaxed);
        relative_deadline_.store(attributes.relative_deadline, std::memory_order_relaxed);
        lax_.store(attributes.lax, std::memory_order_relaxed);
    }
    [[nodiscard]] Attributes get() const {
        return {weight_.load(std::memory_order_relaxed),
                utilization_.load(std::memory_order_relaxed),
                relative_deadline_.load(std::memory_order_relaxed),
                lax_.load(std::memory_order_relaxed)};
    }

private:
    std::atomic<std::uint32_t> weight_{Attributes{}.weight};
    std::atomic<std::uint32_t> utilization_{Attributes{}.utilization};
    std::atomic<std::chrono::nanoseconds> relative_deadline_{Attributes::none};
    std::atomic<std::chrono::nanoseconds> lax_{Attributes::none};
};

} // namespace xpreempt::xqueue
