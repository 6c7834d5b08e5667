// SPDX-License-Identifier: MIT
// Requests at the daemon's socket, as structs and as messages.
//
// THE PROTOCOL. The socket is AF_UNIX SOCK_SEQPACKET, /run/xpreempt/xpreemptd.sock by default. A
// message is one JSON object in UTF-8, at most 64 KiB in either direction. Each request gets one
// reply, in the order of the requests. A client may have several requests under way, but one that
// doesn't read its replies is disconnected. Rights are those of the process that connected
// (SO_PEERCRED), whoever sends later.
//
//   {"do": "jobs"}                   The jobs, by ascending id, as many as one message takes.
//     "from": ID                     Only ids from this one on (0).
//   {"do": "status"}                 Policy, way of sensing, counters.
//   {"do": "trace"}                  What the daemon did: decisions, stops and resumes, and phases
//   of
//     "from": N                      jobs, from record N on; without it none, but "next".
//   {"do": "adopt"}                  The process that connected and what it starts from now on
//     "band" "weight" "deadline_us"  become a job. All of these may be left out.
//     "priority" "utilization" "lax_us"
//   {"do": "set"}                    Changes the attributes of a job: that of process "pid", or
//     "pid": PID or "job": "NAME"    the one of that name. At least one attribute is needed.
//     "band" "weight" "deadline_us"
//     "priority" "utilization" "lax_us"
//   {"do": "policy", "name": NAME}   Schedules by another policy.
//   {"do": "focus", "pid": PID}      The job of that process has the focus of its user until it
//                                    ends; null: no job of the caller has it, or no job at all if
//                                    the caller is root. For policy AWF.
//   {"do": "hint", "is": KIND}       Concerns the job of the process that connected, and lasts
//                                    until the connection ends, or the next hint of its KIND:
//     "begin"  "deadline_us"         a request begins; the deadline may be left out
//     "end"                          it has ended, and no work follows soon
//     "soon"   "us": TIME            work follows within that time
//     "band"   "band"                the job's band; left out: that of its attributes again
//     "priority" "priority": NUMBER  its priority, -255 to 255; left out: that of its attributes
//     "attributes" "weight"          its other attributes, all of them: one that is left out is
//     "deadline_us" "utilization"    that of its attributes again, and so is one that the user
//     "lax_us"                       may not choose: the others are taken, and the error names
//                                    the first that is not
//
//   "band": "realtime", "high", "normal" or "idle". "weight": 1 to 10000. "deadline_us": 1 to
//   3600000000, which is an hour. "lax_us": the same. "priority": -255 to 255. "utilization": 0 to
//   100, percent. "us": 1 to 100000. All numbers are whole.
//
// Each reply has "schema": 1 and "ok": true or false. Keys are added, never renamed; clients ignore
// those they don't know. The daemon doesn't: an unknown key may be a wish it wouldn't fulfil.
//   refused     "error": name of an errno, "text": what is wrong with which key, and what to do
//   jobs        "jobs": [{"id", "name", "band", "weight", "deadline_us" (null: none),
//               "priority", "utilization", "lax_us" (null: none), "state"
//               ("idle", "running", "held", "held_by_others", "not_schedulable"), "reason" (of
//               not_schedulable), "processes", "pids" (the first 1000 of them), "gpu_ids",
//               "compute_queues" (on each of "gpu_ids"), "queues", "ready_edges", "ready_ns",
//               "run_ns", "held_ns", "added_wait_ns", "preemptions", "accounted_ns" (that all the
//               times are of), "resident_bytes" (in VRAM), "yielded_bytes" (out of it),
//               "missing_bytes" (that must be free there before they can return), "focused"}, ...]
//               "next": ID             more jobs follow: ask again with "from": ID
//   status      "policy", "ejected" (null: is in force), "plugin" (path of the plug-in that is the
//               policy; null: a built-in one is), "sensing", "decisions", "switches",
//               "refusals", "edges", "edges_found_late", "ring_to_switch" and "ring_to_stopped":
//               {"count", "sum_ns", and of the last 1024 of them "p50_ns", "p99_ns", "max_ns"},
//               "switch_cost_ns" (of a stop and a resume; 0: none yet),
//               "moves" (calls that moved memory), "moved_out_bytes", "moved_back_bytes"
//   trace       "now_ns" (CLOCK_MONOTONIC), "first" and "next" (numbers of the first record here,
//               and of the first one to ask for), "lost" (records between the one asked for and
//               "first": the daemon keeps the last 8192), "records": [{"at_ns", "what", ...}, ...]
//               of "what" "decision": "cause" ("ring", "change", "poll", "timer", "retry",
//               "request", "policy", "ejected", "moved"), "job" (that rang, or 0)
//               "stop" and "resume": "job", "queues", "failed", "took_ns" (the call of the driver),
//               "for_job" (of a stop: that runs instead, or 0)
//               "phase": "job", "phase" ("idle", "running", "waiting" for the daemon, "held" by
//               somebody else, "gone"), "gpu_ids"
//   others      nothing more
// Names that are no UTF-8 have U+FFFD in the place of what is none; "pid" selects such a job.
//
// Errors of the protocol: EBADMSG (not JSON, not UTF-8), EMSGSIZE (longer than 64 KiB), EOPNOTSUPP
// (unknown "do" or "is"), EINVAL (a key is unknown, missing, given twice, or has a wrong value),
// ESRCH (the process that connected has ended), EUSERS (too many clients; the connection is
// closed). Others come from the work itself: EPERM, ESRCH (no such job) and what their texts
// explain. An empty message ends the connection, as closing it does.
#pragma once

#include "protocol/control.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

namespace xpreemptd {

constexpr std::size_t max_message_bytes = 65536;
constexpr std::chrono::microseconds max_deadline = attribute::longest_time;

struct JobsRequest {
    std::uint64_t from = 0;
    bool operator==(const JobsRequest&) const = default;
};
struct StatusRequest {
    bool operator==(const StatusRequest&) const = default;
};
struct TraceRequest {
    std::optional<std::uint64_t> from = {};
    bool operator==(const TraceRequest&) const = default;
};
struct AdoptRequest {
    AttributeChange change;
    bool operator==(const AdoptRequest&) const = default;
};
struct SetRequest {
    JobSelector job;
    AttributeChange change;
    bool operator==(const SetRequest&) const = default;
};
struct PolicyRequest {
    std::string name;
    bool operator==(const PolicyRequest&) const = default;
};
struct FocusRequest {
    std::optional<pid_t> pid = {}; // nothing: no job
    bool operator==(const FocusRequest&) const = default;
};
struct HintRequest {
    Hint hint;
    bool operator==(const HintRequest&) const = default;
};
using Request = std::variant<JobsRequest, StatusRequest, TraceRequest, AdoptRequest, SetRequest,
                             PolicyRequest, FocusRequest, HintRequest>;

// Takes any bytes. The refusal is what the client gets.
[[nodiscard]] Answer<Request> parse_request(std::string_view message);

[[nodiscard]] std::string text_of(const Request& request);

} // namespace xpreemptd
