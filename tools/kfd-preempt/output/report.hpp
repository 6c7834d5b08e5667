// SPDX-License-Identifier: MIT
// Result of a verb: the same facts for people, for programs, and as an exit code.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace cli {

using Json = nlohmann::ordered_json;

enum class Exit : std::uint8_t {
    ok = 0,
    failed = 1,
    usage = 2,
    unsupported = 3, // this kernel or driver has no preemption
    permission = 4,
    not_started = 125, // of run, as env(1): these tell its failure from that of the command
    cannot_execute = 126,
    no_command = 127,
};

// Why a whole verb couldn't do its work. The message names the thing and the fix.
struct Failure {
    Exit exit;
    int errno_value; // 0 when no errno is behind it
    std::string message;
};

// `what` must stay open as long as the command holds something; `fd` becomes readable when the hold
// is lost; -1: none.
struct Attached {
    std::shared_ptr<void> what;
    int fd = -1;
};

struct Report {
    Json json = Json::object();
    std::string text;                  // stdout
    std::vector<std::string> messages; // stderr, one sentence each; parts that failed
    Exit exit = Exit::ok;
    Attached attached; // of suspend --attach
};

Report report_of(const Failure& failure);

} // namespace cli
