// SPDX-License-Identifier: MIT
// Text of a --fault option, taken apart.
#pragma once

#include "model/base/result.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace vgpu::fault {

enum class Kind : std::uint8_t {
    dequeue_late,
    dequeue_never,
    unmap_late,
    unmap_never,
    unmap_skipped,
    doorbell_lost,
    grace_lost,
    hung_wave,
    queue_reset_never,
    drop_fence,
    slow_fence,
    early_fence,
    lost_interrupt,
    lost_msi,
    sdma_stuck,
    kernel_sdma_stuck,
    vm_fault,
    device_hang,
};

struct Spec {
    Kind kind = Kind::dequeue_never;
    std::string text;                      // as it was given
    std::uint64_t count = 1;               // how many times it strikes
    std::uint64_t nth = 1;                 // the first matching occasion that it strikes at
    std::optional<std::uint64_t> delay_ms; // how late, by time
    std::optional<std::uint64_t> polls;    // how late, by reads of CP_HQD_ACTIVE
    // An occasion matches if it has every value that is set here.
    std::optional<std::uint64_t> doorbell;
    std::optional<std::uint64_t> vmid;
    std::optional<std::uint64_t> pasid;
    std::optional<std::uint64_t> xcc;
    std::optional<std::uint64_t> engine;
    std::optional<std::uint64_t> source;
};

// "name" or "name:key=value,key=value". The error says what is wrong and what is right.
Result<Spec> parse_spec(std::string_view text);

// The accepted specs, one a line, for --help and error messages.
std::string_view spec_help();

} // namespace vgpu::fault
