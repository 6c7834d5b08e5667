// SPDX-License-Identifier: MIT
// Streams and xqueues of other processes: shown, suspended and resumed through control sockets.
#pragma once

#include "output/output.hpp"
#include "streams/sockets.hpp"

#include <string>
#include <vector>

namespace cli {

struct ObjectSelection {
    pid_t pid;
    wire::Object object;
    std::vector<std::string> words; // names or handles
};

struct ObjectSwitch {
    bool suspend = false;
    bool attach = false;       // suspend: only as long as this command lives
    bool allow_shared = false; // suspend: other streams of the queue may stop
    bool force = false;        // resume: undo everybody's
};

Report switch_objects(const Context& context, const ObjectSelection& selection,
                      const ObjectSwitch& how);
// Those named, or all of that kind.
Report status_of_objects(const Context& context, const ObjectSelection& selection);

// The answers of several processes as tables for people, empty where there is nothing to show.
class StreamTables {
public:
    void add(const Target& target, const control::Answer& answer);
    [[nodiscard]] std::string text() const;

private:
    Table streams_{{"PID", "COMM", "STREAM", "HANDLE", "QUEUE", "GPU", "SHARING", "LEVEL", "STATE",
                    "HOLDS", "BY-SOCKET"}};
    Table xqueues_{{"PID", "COMM", "XQUEUE", "HANDLE", "STREAM", "STATE", "WAITING", "IN-FLIGHT",
                    "DONE", "SUSPENDS", "LAST", "MAX"}};
    std::vector<std::string> holders_;
    bool any_stream_ = false, any_xqueue_ = false;
};

// {"streams", "xqueues", "queues", "holders", ...} of one process.
Json json_of(const control::Answer& answer);

std::string hex(std::uint64_t handle);

} // namespace cli
