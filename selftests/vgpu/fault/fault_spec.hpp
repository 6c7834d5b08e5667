// SPDX-License-Identifier: MIT
// Text of a --fault option, taken apart.
#pragma once

#include "model/base/result.hpp"

#include <cstdint>
#include <optional>
#include <string_view>

namespace vgpu::fault {

enum class Kind : std::uint8_t { dequeue_late, dequeue_never, drop_fence };

struct Spec {
    Kind kind = Kind::dequeue_never;
    std::uint64_t count = 1;               // how many times it strikes
    std::optional<std::uint64_t> delay_ms; // dequeue-late by time
    std::optional<std::uint64_t> polls;    // dequeue-late by reads of CP_HQD_ACTIVE
    std::uint64_t nth = 1;                 // drop-fence: the first that is dropped
};

// "name" or "name:key=value,key=value". The error says what is wrong and what is right.
Result<Spec> parse_spec(std::string_view text);

// The accepted specs, one a line, for --help and error messages.
std::string_view spec_help();

} // namespace vgpu::fault
