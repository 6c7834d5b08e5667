// SPDX-License-Identifier: MIT
// The ioctls that a verb is expected to send, in order, with the answers they get.
#include "scripted_driver.hpp"

#include "kfd/queue_ioctls.hpp"

#include <cstring>
#include <gtest/gtest.h>

namespace test {

namespace {

int answer_query(const ExpectedCall& expected, void* argument) {
    auto* args = static_cast<kfd_ioctl_preempt_query_args*>(argument);
    EXPECT_EQ(args->gpu_id, expected.query.gpu_id);
    EXPECT_EQ(args->flags, 0U);
    if (expected.answer == 0)
        *args = expected.query;
    return expected.answer;
}

int answer_status(const ExpectedCall& expected, void* argument) {
    auto* args = static_cast<kfd_ioctl_preempt_status_args*>(argument);
    EXPECT_EQ(args->target_pid, expected.status.target_pid);
    EXPECT_EQ(args->queue_id, expected.status.queue_id);
    EXPECT_EQ(args->flags, expected.status.flags);
    EXPECT_EQ(args->target_fd, 0);
    if (expected.answer == 0)
        *args = expected.status;
    return expected.answer;
}

int answer_switch(const ExpectedCall& expected, void* argument) {
    auto* args = static_cast<kfd_ioctl_preempt_switch_args*>(argument);
    EXPECT_EQ(args->flags, expected.switch_in.flags);
    EXPECT_EQ(args->target_pid, expected.switch_in.target_pid);
    EXPECT_EQ(args->target_fd, 0);
    EXPECT_EQ(args->timeout_ms, expected.switch_in.timeout_ms);
    EXPECT_EQ(args->reserved, 0U);
    EXPECT_EQ(args->num_done, 0U);
    EXPECT_EQ(args->num_entries, expected.entries_in.size());
    if (args->num_entries != expected.entries_in.size())
        return -EINVAL;
    auto* entries = reinterpret_cast<kfd_preempt_switch_entry*>(args->entries_ptr);
    for (std::size_t i = 0; i < expected.entries_in.size(); ++i) {
        EXPECT_EQ(std::memcmp(&entries[i], &expected.entries_in[i], sizeof(entries[i])), 0)
            << "entry " << i << " for queue " << entries[i].queue_id;
        if (expected.answer != 0)
            continue;
        entries[i].result = expected.entries_out[i].result;
        entries[i].state = expected.entries_out[i].state;
        entries[i].holds = expected.entries_out[i].holds;
        entries[i].latency_ns = expected.entries_out[i].latency_ns;
    }
    return expected.answer;
}

} // namespace

Script::~Script() {
    EXPECT_TRUE(calls_.empty()) << calls_.size() << " expected ioctls were not sent";
}

void Script::expect_query(std::uint32_t gpu_id, int answer, std::uint64_t caps,
                          std::uint32_t type_mask, std::uint32_t abi_major,
                          std::uint32_t degraded) {
    ExpectedCall call{AMDKFD_IOC_PREEMPT_QUERY, answer};
    call.query.gpu_id = gpu_id;
    call.query.caps = caps;
    call.query.type_mask = type_mask;
    call.query.abi_major = abi_major;
    call.query.degraded = degraded;
    call.query.max_batch = max_batch;
    call.query.num_xcc = gpu_id == 0 ? 0 : 1;
    calls_.push_back(std::move(call));
}

void Script::expect_status(pid_t pid, std::uint32_t queue_id, int answer, std::uint32_t state,
                           std::uint32_t holds) {
    ExpectedCall call{AMDKFD_IOC_PREEMPT_STATUS, answer};
    call.status.target_pid = pid;
    call.status.flags = KFD_PREEMPT_SWITCH_TARGET_PID;
    call.status.queue_id = queue_id;
    call.status.state = state;
    call.status.holds = holds;
    call.status.preempts = 3;
    call.status.held_ns = 1500;
    calls_.push_back(std::move(call));
}

void Script::expect_memory(pid_t pid, std::uint32_t queue_id, std::uint64_t vram_bytes,
                           std::uint64_t yielded_bytes, std::uint64_t shared_bytes) {
    expect_status(pid, queue_id, 0, KFD_PREEMPT_STATE_HELD, KFD_PREEMPT_HOLD_STICKY);
    calls_.back().status.flags |= KFD_PREEMPT_STATUS_COUNT_MEMORY;
    calls_.back().status.vram_bytes = vram_bytes;
    calls_.back().status.yielded_bytes = yielded_bytes;
    calls_.back().status.shared_bytes = shared_bytes;
    calls_.back().status.yield_ns = 2'000'000'000;
    calls_.back().status.reclaim_ns = 1'000'000'000;
}

void Script::expect_available(std::uint64_t bytes) {
    ExpectedCall call{cli::kfd::ioc_available_memory, 0};
    call.available_bytes = bytes;
    calls_.push_back(std::move(call));
}

void Script::expect_switch(pid_t pid, std::uint32_t flags, std::uint16_t op,
                           const std::vector<std::uint32_t>& queue_ids,
                           std::vector<EntryAnswer> answers, int answer) {
    ExpectedCall call{AMDKFD_IOC_PREEMPT_SWITCH, answer};
    call.switch_in.flags = flags | KFD_PREEMPT_SWITCH_TARGET_PID;
    call.switch_in.target_pid = pid;
    for (const std::uint32_t queue_id : queue_ids) {
        kfd_preempt_switch_entry entry{};
        entry.queue_id = queue_id;
        entry.op = op;
        entry.preempt_type = op == KFD_PREEMPT_OP_PREEMPT ? KFD_PREEMPT_TYPE_SAVE : 0;
        call.entries_in.push_back(entry);
    }
    call.entries_out = std::move(answers);
    calls_.push_back(std::move(call));
}

void Script::expect_status_uid(pid_t pid, std::uint32_t queue_id, std::uint64_t uid,
                               std::uint32_t state, std::uint32_t holds) {
    expect_status(pid, queue_id, 0, state, holds);
    calls_.back().status.queue_uid = uid;
}

void Script::expect_group_switch(std::uint16_t op, const std::vector<GroupEntry>& queues,
                                 std::vector<GroupAnswer> answers, int answer) {
    ExpectedCall call{AMDKFD_IOC_PREEMPT_SWITCH, answer};
    call.switch_in.flags = KFD_PREEMPT_SWITCH_STICKY | KFD_PREEMPT_SWITCH_MATCH_UID;
    for (const GroupEntry& queue : queues) {
        kfd_preempt_switch_entry entry{};
        entry.queue_id = queue.queue_id;
        entry.op = op;
        entry.preempt_type = op == KFD_PREEMPT_OP_PREEMPT ? KFD_PREEMPT_TYPE_SAVE : 0;
        entry.target_pid = queue.pid;
        entry.queue_uid = queue.uid;
        call.entries_in.push_back(entry);
    }
    call.entries_out = std::move(answers);
    calls_.push_back(std::move(call));
}

void Script::change_last_switch(std::uint16_t preempt_type, std::uint32_t timeout_ms) {
    calls_.back().switch_in.timeout_ms = timeout_ms;
    for (kfd_preempt_switch_entry& entry : calls_.back().entries_in)
        entry.preempt_type = preempt_type;
}

int Script::call(unsigned long request, void* argument) {
    if (calls_.empty() || calls_.front().request != request) {
        ADD_FAILURE() << "unexpected ioctl " << std::hex << request;
        return -ENOSYS;
    }
    const ExpectedCall expected = std::move(calls_.front());
    calls_.pop_front();
    switch (request) {
    case AMDKFD_IOC_PREEMPT_QUERY: return answer_query(expected, argument);
    case AMDKFD_IOC_PREEMPT_STATUS: return answer_status(expected, argument);
    case cli::kfd::ioc_available_memory:
        static_cast<cli::kfd::AvailableMemoryArgs*>(argument)->bytes = expected.available_bytes;
        return expected.answer;
    default:
        if (before_switch)
            before_switch();
        return answer_switch(expected, argument);
    }
}

void attach(cli::Context& context, const std::shared_ptr<Script>& script) {
    context.open_device = [script]() -> cli::Result<cli::kfd::Device> {
        return cli::kfd::Device(xpreempt::UniqueFd(),
                                [script](int, unsigned long request, void* argument) {
                                    return script->call(request, argument);
                                });
    };
}

} // namespace test
