// SPDX-License-Identifier: MIT
// Each function of libxpreempt.map with arguments that are right, in an order in which each works.
// tests/abi/documented checks that none is missing.
#pragma once

#include <xpreempt/xpreempt.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

extern "C" {
int hipMemsetAsync(void* to, int value, std::size_t bytes, void* stream);
}

namespace test {

// The arguments of the calls of the table.
struct Objects {
    void* plain = nullptr;
    void* own = nullptr;
    void* found = nullptr;
    xp_xqueue_t xqueue{}, found_xqueue{};
    xp_hint_t hint{};
    xp_stream_info on{};
    xp_guardian_t guardian{};
    std::uint64_t ticket = 0;
    std::int32_t priority = 0;
    std::uint32_t answer = 0;
    std::size_t count = 0;
    std::uint64_t dropped = 0;
};

template <typename Struct> Struct sized() {
    Struct made{};
    made.sz = sizeof made;
    return made;
}

template <typename Struct> int ask(int (*call)(Struct*)) {
    auto answer = sized<Struct>();
    return call(&answer);
}

template <typename Of, typename Struct> int ask(int (*call)(Of, Struct*), Of of) {
    auto answer = sized<Struct>();
    return call(of, &answer);
}

inline int put_packet(void* stream, void*) {
    return hipMemsetAsync(nullptr, 0, 4, stream);
}

struct Call {
    const char* name;
    std::function<int()> call;
    int answer = 0; // of the call, in this order of calls
};
using Calls = std::vector<Call>;

constexpr int any_answer = 1;

inline void add_process(Calls& calls, Objects& o) {
    calls.insert(
        calls.end(),
        {{"xp_start", [] { return xp_start(); }},
         {"xp_probe", [] { return ask(xp_probe); }},
         {"xp_version", [] { return xp_version() == nullptr ? 1 : 0; }},
         {"xp_last_detail", [] { return xp_last_detail() == nullptr ? 1 : 0; }},
         {"xp_last_hip_error", [] { return xp_last_hip_error(); }, any_answer},
         {"xp_set_log_fn", [] { return xp_set_log_fn(nullptr, XP_LOG_NONE, nullptr); }},
         {"xp_set_lost_fn", [] { return xp_set_lost_fn(nullptr, nullptr); }},
         {"xp_control_open", [] { return xp_control_open(nullptr); }},
         {"xp_control_close", [] { return xp_control_close(); }},
         {"xp_hint_open", [&o] { return xp_hint_open(nullptr, &o.hint); }},
         {"xp_hint_begin", [&o] { return xp_hint_begin(o.hint, 0); }, -ENOENT},
         {"xp_hint_end", [&o] { return xp_hint_end(o.hint); }, -ENOENT},
         {"xp_hint_soon", [&o] { return xp_hint_soon(o.hint, 1); }, -ENOENT},
         {"xp_hint_set_band", [&o] { return xp_hint_set_band(o.hint, XP_BAND_HIGH); }, -ENOENT},
         {"xp_hint_set_priority", [&o] { return xp_hint_set_priority(o.hint, 1); }, -ENOENT},
         {"xp_hint_close", [&o] { return xp_hint_close(o.hint); }}});
}

inline void add_streams(Calls& calls, Objects& o) {
    calls.insert(
        calls.end(),
        {{"xp_stream_create", [&o] { return xp_stream_create(&o.own); }},
         {"xp_stream_touch", [&o] { return xp_stream_touch(o.plain); }},
         {"xp_stream_query", [&o] { return ask(xp_stream_query, o.plain); }},
         {"xp_stream_predict", [&o] { return ask(xp_stream_predict, o.plain); }, any_answer},
         {"xp_stream_sharing", [&o] { return xp_stream_sharing(o.plain, nullptr, 0, &o.count); }},
         {"xp_stream_set_name", [&o] { return xp_stream_set_name(o.plain, "plain"); }},
         {"xp_stream_set_priority", [&o] { return xp_stream_set_priority(o.plain, 1); }},
         {"xp_stream_get_priority", [&o] { return xp_stream_get_priority(o.plain, &o.priority); }},
         {"xp_stream_get_attributes", [&o] { return ask(xp_stream_get_attributes, o.plain); }},
         {"xp_stream_set_attributes",
          [&o] {
              const auto attributes = sized<xp_sched_attributes>();
              return xp_stream_set_attributes(o.plain, &attributes);
          }},
         {"xp_stream_is_idle", [&o] { return xp_stream_is_idle(o.plain, &o.answer); }},
         {"xp_stream_wait", [&o] { return xp_stream_wait(o.plain); }},
         {"xp_stream_hold", [&o] { return xp_stream_hold(o.plain, 0, &o.answer); }},
         {"xp_stream_release", [&o] { return xp_stream_release(o.plain); }},
         {"xp_stream_destroy", [&o] { return xp_stream_destroy(o.own); }},
         {"xp_streams_hold", [&o] { return xp_streams_hold(&o.plain, 1, 0, nullptr); }},
         {"xp_streams_release", [&o] { return xp_streams_release(&o.plain, 1); }}});
}

inline void add_queues(Calls& calls, Objects& o) {
    const auto queue = [&o] { return xp_queue_t{o.on.kfd_queue_id, o.on.generation}; };
    calls.insert(calls.end(), {{"xp_stream_query",
                                [&o] {
                                    o.on = sized<xp_stream_info>();
                                    return xp_stream_query(o.plain, &o.on);
                                }},
                               {"xp_queue_of_id",
                                [&o] {
                                    xp_queue_t found{};
                                    return xp_queue_of_id(o.on.kfd_queue_id, &found);
                                }},
                               {"xp_queue_of_hsa",
                                [&o] {
                                    xp_queue_t found{};
                                    return xp_queue_of_hsa(&o, &found);
                                },
                                -ENOENT},
                               {"xp_queue_hold", [=] { return xp_queue_hold(queue(), 0, 0); }},
                               {"xp_queue_release", [=] { return xp_queue_release(queue()); }}});
}

inline void add_scheduler(Calls& calls) {
    calls.insert(calls.end(),
                 {{"xp_sched_start", [] { return xp_sched_start(XP_POLICY_DAEMON); }, any_answer},
                  {"xp_sched_start_with",
                   [] {
                       const auto parameters = sized<xp_sched_parameters>();
                       return xp_sched_start_with(XP_POLICY_HIGHEST_PRIORITY_FIRST, &parameters);
                   }},
                  {"xp_sched_query", [] { return ask(xp_sched_query); }},
                  {"xp_sched_stop", [] { return xp_sched_stop(); }},
                  {"xp_sched_start_policy",
                   [] {
                       return xp_sched_start_policy([](const xp_sched_source*, std::size_t,
                                                       std::uint64_t, std::uint8_t*,
                                                       void*) { return std::uint64_t{0}; },
                                                    nullptr);
                   }},
                  {"xp_sched_stop", [] { return xp_sched_stop(); }}});
}

inline void add_xqueues(Calls& calls, Objects& o) {
    calls.insert(
        calls.end(),
        {{"xp_xqueue_create", [&o] { return xp_xqueue_create(o.plain, nullptr, &o.xqueue); }},
         {"xp_xqueue_stream", [&o] { return xp_xqueue_stream(o.xqueue, &o.found); }},
         {"xp_stream_xqueue", [&o] { return xp_stream_xqueue(o.plain, &o.found_xqueue); }},
         {"xp_xqueue_set_name", [&o] { return xp_xqueue_set_name(o.xqueue, "xqueue"); }},
         {"xp_xqueue_submit",
          [&o] { return xp_xqueue_submit(o.xqueue, put_packet, nullptr, &o.ticket); }},
         {"xp_xqueue_submit_command",
          [&o] {
              auto command = sized<xp_command>();
              command.flags = XP_COMMAND_GUARDED;
              command.launch = [](void* stream, void* guardian) {
                  errno = ENOTTY;
                  (void)xp_guardian_of_launch(static_cast<xp_guardian_t*>(guardian));
                  return put_packet(stream, nullptr);
              };
              command.argument = &o.guardian;
              return xp_xqueue_submit_command(o.xqueue, &command, &o.ticket);
          }},
         {"xp_guardian_of_launch", [&o] { return xp_guardian_of_launch(&o.guardian); }, any_answer},
         {"xp_xqueue_notify",
          [&o] { return xp_xqueue_notify(o.xqueue, o.ticket, [](int, void*) {}, nullptr); }},
         {"xp_xqueue_notify_fd", [&o] { return xp_xqueue_notify_fd(o.xqueue, 1, -1); }, -EBADF},
         {"xp_xqueue_wait", [&o] { return xp_xqueue_wait(o.xqueue, o.ticket); }},
         {"xp_xqueue_wait_for",
          [&o] { return xp_xqueue_wait_for(o.xqueue, o.ticket, 1000000000); }},
         {"xp_xqueue_wait_all", [&o] { return xp_xqueue_wait_all(o.xqueue); }},
         {"xp_xqueue_suspend", [&o] { return xp_xqueue_suspend(o.xqueue, 0, &o.answer); }},
         {"xp_xqueue_drop", [&o] { return xp_xqueue_drop(o.xqueue, &o.dropped); }},
         {"xp_xqueue_resume", [&o] { return xp_xqueue_resume(o.xqueue); }},
         {"xp_xqueue_set_launch_config",
          [&o] { return xp_xqueue_set_launch_config(o.xqueue, 8, 4); }},
         {"xp_xqueue_set_max_level",
          [&o] { return xp_xqueue_set_max_level(o.xqueue, XP_LEVEL_BLOCK); }},
         {"xp_xqueue_set_latency_budget",
          [&o] { return xp_xqueue_set_latency_budget(o.xqueue, 40000); }},
         {"xp_xqueue_set_priority", [&o] { return xp_xqueue_set_priority(o.xqueue, 1); }},
         {"xp_xqueue_get_priority", [&o] { return xp_xqueue_get_priority(o.xqueue, &o.priority); }},
         {"xp_xqueue_get_attributes", [&o] { return ask(xp_xqueue_get_attributes, o.xqueue); }},
         {"xp_xqueue_set_attributes",
          [&o] {
              const auto attributes = sized<xp_sched_attributes>();
              return xp_xqueue_set_attributes(o.xqueue, &attributes);
          }},
         {"xp_xqueue_query", [&o] { return ask(xp_xqueue_query, o.xqueue); }},
         {"xp_xqueue_get_stats", [&o] { return ask(xp_xqueue_get_stats, o.xqueue); }},
         {"xp_xqueue_destroy", [&o] { return xp_xqueue_destroy(o.xqueue); }}});
}

// Needs a stream with packets, and no daemon at XPREEMPTD_SOCKET.
inline Calls every_call(Objects& objects) {
    Calls calls;
    add_process(calls, objects);
    add_streams(calls, objects);
    add_queues(calls, objects);
    add_scheduler(calls);
    add_xqueues(calls, objects);
    return calls;
}

} // namespace test
