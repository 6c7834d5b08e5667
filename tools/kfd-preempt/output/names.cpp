// SPDX-License-Identifier: MIT
// Words for the numbers of kfd_preempt.h, and how things are written for people.
#include "output/names.hpp"

#include <array>
#include <cstring>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <kfd_preempt.h>
#include <utility>

namespace cli {

namespace {

template <typename Bits> struct BitName {
    Bits bit;
    const char* name;
};

template <typename Bits, std::size_t N>
std::vector<std::string> bit_names(Bits bits, const BitName<Bits> (&table)[N]) {
    std::vector<std::string> names;
    for (const BitName<Bits>& entry : table) {
        if ((bits & entry.bit) != 0)
            names.emplace_back(entry.name);
        bits &= ~entry.bit;
    }
    if (bits != 0)
        names.push_back(fmt::format("{:#x}", bits));
    return names;
}

} // namespace

std::string state_name(std::uint32_t state) {
    switch (state) {
    case KFD_PREEMPT_STATE_RUNNING: return "RUNNING";
    case KFD_PREEMPT_STATE_HELD: return "HELD";
    case KFD_PREEMPT_STATE_PENDING: return "PENDING";
    case KFD_PREEMPT_STATE_INACTIVE: return "INACTIVE";
    case KFD_PREEMPT_STATE_DEAD: return "DEAD";
    default: return fmt::format("STATE-{}", state);
    }
}

std::string sched_mode_name(std::uint32_t sched_mode) {
    switch (sched_mode) {
    case KFD_PREEMPT_SCHED_HWS: return "HWS";
    case KFD_PREEMPT_SCHED_HWS_NO_OVERSUB: return "HWS_NO_OVERSUB";
    case KFD_PREEMPT_SCHED_NO_HWS: return "NO_HWS";
    case KFD_PREEMPT_SCHED_MES: return "MES";
    default: return fmt::format("MODE-{}", sched_mode);
    }
}

std::vector<std::string> hold_names(std::uint32_t holds) {
    static constexpr BitName<std::uint32_t> table[] = {
        {KFD_PREEMPT_HOLD_SELF, "SELF"},
        {KFD_PREEMPT_HOLD_OPERATOR, "OPERATOR"},
        {KFD_PREEMPT_HOLD_STICKY, "STICKY"},
        {KFD_PREEMPT_HOLD_DEAD, "DEAD"},
    };
    return bit_names(holds, table);
}

std::vector<std::string> status_names(std::uint32_t status) {
    static constexpr BitName<std::uint32_t> table[] = {
        {KFD_PREEMPT_STATUS_EVICTED, "EVICTED"},
        {KFD_PREEMPT_STATUS_DBG_SUSPENDED, "DBG_SUSPENDED"},
        {KFD_PREEMPT_STATUS_HW_PENDING, "HW_PENDING"},
        {KFD_PREEMPT_STATUS_CHECKPOINTED, "CHECKPOINTED"},
        {KFD_PREEMPT_STATUS_DEGRADED, "DEGRADED"},
        {KFD_PREEMPT_STATUS_YIELDED, "YIELDED"},
    };
    return bit_names(status, table);
}

std::vector<std::string> cap_names(std::uint64_t caps) {
    static constexpr BitName<std::uint64_t> table[] = {
        {KFD_PREEMPT_CAP_SAVE, "SAVE"},
        {KFD_PREEMPT_CAP_DRAIN, "DRAIN"},
        {KFD_PREEMPT_CAP_RESET, "RESET"},
        {KFD_PREEMPT_CAP_CHECKPOINT, "CHECKPOINT"},
        {KFD_PREEMPT_CAP_FAST, "FAST"},
        {KFD_PREEMPT_CAP_BATCH, "BATCH"},
        {KFD_PREEMPT_CAP_OPERATOR, "OPERATOR"},
        {KFD_PREEMPT_CAP_OPERATOR_FD, "OPERATOR_FD"},
        {KFD_PREEMPT_CAP_STOP_IS_PER_QUEUE, "STOP_IS_PER_QUEUE"},
        {KFD_PREEMPT_CAP_RESUME_IS_ASYNC, "RESUME_IS_ASYNC"},
        {KFD_PREEMPT_CAP_TIMEOUT_BOUNDS_STOP, "TIMEOUT_BOUNDS_STOP"},
        {KFD_PREEMPT_CAP_SWITCH_ONLY, "SWITCH_ONLY"},
        {KFD_PREEMPT_CAP_WATCH, "WATCH"},
        {KFD_PREEMPT_CAP_YIELD_MEMORY, "YIELD_MEMORY"},
        {KFD_PREEMPT_CAP_GIVE_MEMORY, "GIVE_MEMORY"},
        {KFD_PREEMPT_CAP_PROCESS, "PROCESS"},
    };
    return bit_names(caps, table);
}

std::vector<std::string> degraded_names(std::uint32_t degraded) {
    static constexpr BitName<std::uint32_t> table[] = {
        {KFD_PREEMPT_DEGRADED_FENCE, "unmaps of the runlist were late or failed"},
        {KFD_PREEMPT_DEGRADED_STILL_ACTIVE, "an unmap left a queue running"},
        {KFD_PREEMPT_DEGRADED_GRACE, "FAST does not reach every XCC"},
        {KFD_PREEMPT_DEGRADED_MES, "a call of the MES failed"},
    };
    return bit_names(degraded, table);
}

std::vector<std::string> preempt_type_names(std::uint32_t type_mask) {
    static constexpr BitName<std::uint32_t> table[] = {
        {1U << KFD_PREEMPT_TYPE_DRAIN, "DRAIN"},
        {1U << KFD_PREEMPT_TYPE_RESET, "RESET"},
        {1U << KFD_PREEMPT_TYPE_SAVE, "SAVE"},
    };
    return bit_names(type_mask, table);
}

std::string words_or_dash(const std::vector<std::string>& words) {
    return words.empty() ? "-" : fmt::format("{}", fmt::join(words, " "));
}

std::string errno_name(int errno_value) {
    const char* name = ::strerrorname_np(errno_value);
    return name != nullptr ? name : fmt::format("errno {}", errno_value);
}

std::string duration_text(std::uint64_t ns) {
    static constexpr std::array<const char*, 4> units = {"ns", "us", "ms", "s"};
    auto value = static_cast<double>(ns);
    std::size_t unit = 0;
    // 999.5 would be printed as 1e+03 by three digits: go on to the next unit before.
    while (value >= 999.5 && unit + 1 < units.size()) {
        value /= 1000;
        ++unit;
    }
    if (value >= 999.5)
        return fmt::format("{:.0f} {}", value, units[unit]);
    return fmt::format("{:.3g} {}", value, units[unit]);
}

std::string size_text(std::uint64_t bytes) {
    static constexpr std::array<const char*, 5> units = {"B", "KiB", "MiB", "GiB", "TiB"};
    std::size_t unit = 0;
    while (bytes != 0 && bytes % 1024 == 0 && unit + 1 < units.size()) {
        bytes /= 1024;
        ++unit;
    }
    return fmt::format("{} {}", bytes, units[unit]);
}

std::string rounded_size_text(std::uint64_t bytes) {
    static constexpr std::array<const char*, 5> units = {"B", "KiB", "MiB", "GiB", "TiB"};
    auto value = static_cast<double>(bytes);
    std::size_t unit = 0;
    while (value >= 999.5 && unit + 1 < units.size()) {
        value /= 1024;
        ++unit;
    }
    return fmt::format("{:.3g} {}", value, units[unit]);
}

} // namespace cli
