// SPDX-License-Identifier: MIT
// Finds the variable that a misspelled one was meant to be. Allocates nothing.
#include "hook/unknown_variables.hpp"

#include "base/edit_distance.hpp"

#include <algorithm>
#include <cstdio>
#include <string_view>
#include <sys/auxv.h>
#include <unistd.h>

namespace xpreempt::hook {

namespace {

constexpr std::string_view prefix = "XSCHED_";
constexpr std::string_view policy_variable = "XSCHED_POLICY";
constexpr std::string_view scheduler_variable = "XSCHED_SCHEDULER";

// Those that libxpreempt reads: capi/automatic.cpp.
constexpr std::string_view used[] = {
    policy_variable,
    scheduler_variable,
    "XSCHED_AUTO_XQUEUE",
    "XSCHED_AUTO_XQUEUE_LEVEL",
    "XSCHED_AUTO_XQUEUE_THRESHOLD",
    "XSCHED_AUTO_XQUEUE_BATCH_SIZE",
    "XSCHED_AUTO_XQUEUE_PRIORITY",
    "XSCHED_AUTO_XQUEUE_UTILIZATION",
    "XSCHED_AUTO_XQUEUE_TIMESLICE",
    "XSCHED_AUTO_XQUEUE_DEADLINE",
    "XSCHED_AUTO_XQUEUE_KDEADLINE",
    "XSCHED_AUTO_XQUEUE_LAXITY",
};

// Paths to what its shims replace, other platforms, and how its own scheduler waits.
constexpr std::string_view ignored[] = {
    "XSCHED_ACL_CBLAS_LIB",
    "XSCHED_ACL_NNOP_BASE_LIB",
    "XSCHED_ACL_OP_API_LIB",
    "XSCHED_ACL_OP_COMPILER_LIB",
    "XSCHED_ASCEND_LIB",
    "XSCHED_COREX_LIB",
    "XSCHED_COREX_RT_LIB",
    "XSCHED_CUDA_LIB",
    "XSCHED_CUDART_LIB",
    "XSCHED_CUDLA_LIB",
    "XSCHED_CUPTI_LIB",
    "XSCHED_HIP_COMGR_LIB",
    "XSCHED_HIP_LIB",
    "XSCHED_LEVELZERO_LIB",
    "XSCHED_OPENCL_LIB",
    "XSCHED_VPI_LIB",
    "XSCHED_CUDA_LV3_IMPL",
    "XSCHED_CUDA_SINGLE_STREAM_PER_PROCESS",
    "XSCHED_LEVELZERO_SLICE_CNT",
    "XSCHED_SCHEDULER_SUSPEND_SYNC_HWQ",
    "XSCHED_SCHEDULER_SUSPEND_WAIT_ALL",
    "XSCHED_SCHEDULER_SUSPEND_WAIT_IDLE",
};

constexpr std::string_view policies[] = {"HPF", "HHPF", "FIFO", "RR",  "CFS",
                                         "UP",  "PUP",  "KEDF", "LAX", "MLFQ"};
constexpr std::string_view schedulers[] = {"GLB", "LCL", "APP"};

bool is_one_of(std::string_view word, auto& words) {
    return std::find(std::begin(words), std::end(words), word) != std::end(words);
}

std::string_view nearest(std::string_view name) {
    return *std::min_element(std::begin(used), std::end(used), [name](auto a, auto b) {
        return edits_between(name, a) < edits_between(name, b);
    });
}

// A value that only one variable takes says more than the name, of at most longest_word characters.
std::string_view meant_by(std::string_view name, std::string_view value) {
    if (is_one_of(value, policies))
        return policy_variable;
    if (is_one_of(value, schedulers))
        return scheduler_variable;
    return nearest(name);
}

} // namespace

bool describe_unknown(const char* entry, char* line, std::size_t size) {
    const std::string_view text(entry);
    const std::size_t end = text.find('=');
    if (!text.starts_with(prefix) || end == std::string_view::npos)
        return false;
    const std::string_view name = text.substr(0, end);
    if (is_one_of(name, used) || is_one_of(name, ignored))
        return false;
    const std::string_view shown = name.substr(0, longest_word);
    const std::string_view meant = meant_by(shown, text.substr(end + 1));
    std::snprintf(line, size,
                  "libxpreempt-hook: %.*s has no effect: XSched has no such variable; use %.*s or "
                  "another of xpreempt-xsched(7)\n",
                  static_cast<int>(shown.size()), shown.data(), static_cast<int>(meant.size()),
                  meant.data());
    return true;
}

void report_unknown_variables() {
    if (environ == nullptr || getauxval(AT_SECURE) != 0)
        return;
    char line[256];
    for (char** entry = environ; *entry != nullptr; ++entry)
        if (describe_unknown(*entry, line, sizeof line))
            std::fputs(line, stderr);
}

} // namespace xpreempt::hook
