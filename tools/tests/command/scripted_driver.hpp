// SPDX-License-Identifier: MIT
// The ioctls that a verb is expected to send, in order, with the answers they get.
#pragma once

#include "output/context.hpp"

#include <deque>
#include <functional>
#include <memory>
#include <vector>

namespace test {

// The answer to one entry of a SWITCH.
struct EntryAnswer {
    int result;
    std::uint32_t state;
    std::uint32_t holds;
    std::uint64_t latency_ns = 0;
};

// One entry of a SWITCH on several processes, and what it is answered with.
struct GroupEntry {
    pid_t pid;
    std::uint32_t queue_id;
    std::uint64_t uid;
};
using GroupAnswer = EntryAnswer;

struct ExpectedCall {
    unsigned long request;
    int answer; // 0 or a negative errno

    // Inputs that must be found, and outputs, of the struct that belongs to the request.
    kfd_ioctl_preempt_query_args query{};
    kfd_ioctl_preempt_status_args status{};
    kfd_ioctl_preempt_switch_args switch_in{};
    std::vector<kfd_preempt_switch_entry> entries_in{};
    std::vector<EntryAnswer> entries_out{};
    std::uint64_t available_bytes = 0;
};

// Shared with the device, because it outlives that. A call that isn't the
// next one expected, and a call that was expected and didn't come, fail the test.
class Script {
public:
    ~Script();
    Script() = default;
    Script(const Script&) = delete;
    Script& operator=(const Script&) = delete;
    Script(Script&&) = delete;
    Script& operator=(Script&&) = delete;

    void expect_query(std::uint32_t gpu_id, int answer = 0, std::uint64_t caps = all_caps,
                      std::uint32_t type_mask = 1U << KFD_PREEMPT_TYPE_SAVE,
                      std::uint32_t abi_major = KFD_PREEMPT_ABI_MAJOR, std::uint32_t degraded = 0);
    void expect_status(pid_t pid, std::uint32_t queue_id, int answer, std::uint32_t state = 0,
                       std::uint32_t holds = 0);
    // The process has so much VRAM on the GPU of that queue.
    void expect_memory(pid_t pid, std::uint32_t queue_id, std::uint64_t vram_bytes,
                       std::uint64_t yielded_bytes, std::uint64_t shared_bytes = 0);
    void expect_available(std::uint64_t bytes);
    void expect_switch(pid_t pid, std::uint32_t flags, std::uint16_t op,
                       const std::vector<std::uint32_t>& queue_ids,
                       std::vector<EntryAnswer> answers, int answer = 0);

    // The SWITCH that was expected last has these instead of SAVE and the driver's timeout.
    void change_last_switch(std::uint16_t preempt_type, std::uint32_t timeout_ms);

    void expect_status_uid(pid_t pid, std::uint32_t queue_id, std::uint64_t uid,
                           std::uint32_t state, std::uint32_t holds);
    // With STICKY and MATCH_UID, as freeze and thaw send it.
    void expect_group_switch(std::uint16_t op, const std::vector<GroupEntry>& queues,
                             std::vector<GroupAnswer> answers, int answer = 0);

    int call(unsigned long request, void* argument);

    static constexpr std::uint64_t all_caps =
        KFD_PREEMPT_CAP_SAVE | KFD_PREEMPT_CAP_BATCH | KFD_PREEMPT_CAP_OPERATOR;
    std::function<void()> before_switch;             // what happens meanwhile
    std::uint32_t max_batch = KFD_PREEMPT_MAX_BATCH; // of the queries that are expected next

private:
    std::deque<ExpectedCall> calls_;
};

// context's open_device then gives devices that follow the script.
void attach(cli::Context& context, const std::shared_ptr<Script>& script);

} // namespace test
