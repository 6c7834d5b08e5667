// SPDX-License-Identifier: MIT
// The choice of a way to stop queues, the calls that detect it, and the calls that each way sends.
#include "backend/holds.hpp"
#include "backend/transport.hpp"
#include "unit/scripted_ioctl.hpp"

#include <cerrno>

namespace {

using namespace xpreempt;
using backend::StopType;
using backend::TransportKind;

constexpr unsigned long query = 0xc0404bf0;
constexpr unsigned long update = 0x40184b07;

hip::QueueRecord queue_of(std::uint32_t id) {
    hip::QueueRecord queue{};
    queue.kfd_queue_id = id;
    queue.generation = 1;
    queue.fd = -1;
    queue.percentage = 100;
    queue.priority = 7;
    queue.ring_base = 0x7f0000001000;
    queue.ring_bytes = 4096;
    return queue;
}

// A hook that knows queue 5.
std::uint32_t told_held;
hook::Table table_of_5() {
    hook::Table table{};
    table.bytes = sizeof table;
    table.begin_update = [](std::uint32_t id, std::uint32_t, hook::QueueRecord* out) {
        if (id != 5)
            return -ESTALE;
        *out = queue_of(5);
        return 0;
    };
    table.end_update = [](std::uint32_t, std::uint32_t, std::uint32_t held) { told_held = held; };
    return table;
}

class Transports : public ::testing::Test {
protected:
    Transports() {
        inputs.device = std::make_shared<const kfd::Device>(UniqueFd(), script.function());
        inputs.table = &table;
        inputs.module.loaded = true;
    }

    void expect_query(int answer, std::uint32_t abi_major = 1, std::uint32_t type_mask = 4) {
        kfd_ioctl_preempt_query_args in{};
        auto out = in;
        out.abi_major = abi_major;
        out.type_mask = type_mask;
        script.expect(query, answer, in, out);
    }
    test::ScriptedIoctl script;
    hook::Table table = table_of_5();
    backend::ProbeInputs inputs;
};

TEST_F(Transports, a_driver_that_answers_query_is_the_best) {
    expect_query(0);
    const auto selected = backend::select_transport(inputs);
    EXPECT_EQ(TransportKind::patched, selected.probe.kind);
    EXPECT_EQ("", selected.probe.reason);
    EXPECT_TRUE(selected.transport->can(StopType::save));
    EXPECT_FALSE(selected.transport->can(StopType::drain));
}

TEST_F(Transports, several_queues_of_one_file_are_one_switch) {
    kfd_ioctl_preempt_query_args in{};
    auto out = in;
    out.abi_major = 1;
    out.type_mask = 4;
    out.caps = KFD_PREEMPT_CAP_BATCH;
    out.max_batch = 3;
    auto answers = std::make_shared<std::vector<std::string>>();
    inputs.device = std::make_shared<const kfd::Device>(
        UniqueFd(), [=](int fd, unsigned long request, void* argument) {
            if (request == query) {
                *static_cast<kfd_ioctl_preempt_query_args*>(argument) = out;
                return 0;
            }
            EXPECT_EQ(0xc0304bf1U, request);
            const auto& args = *static_cast<kfd_ioctl_preempt_switch_args*>(argument);
            EXPECT_EQ(0U, args.flags);
            auto* entries = reinterpret_cast<kfd_preempt_switch_entry*>(args.entries_ptr);
            std::string text = std::to_string(fd) + ":";
            for (std::uint32_t i = 0; i < args.num_entries; ++i) {
                const bool stops = entries[i].op == KFD_PREEMPT_OP_PREEMPT;
                EXPECT_EQ(stops ? KFD_PREEMPT_TYPE_SAVE : 0, entries[i].preempt_type);
                text += (stops ? " -" : " +") + std::to_string(entries[i].queue_id);
                entries[i].result = entries[i].queue_id == 9 ? -ENOENT : 0;
            }
            answers->push_back(text);
            return 0;
        });
    const auto selected = backend::select_transport(inputs);
    std::vector<hip::QueueRecord> queues;
    for (const std::uint32_t id : {1U, 2U, 3U, 4U, 9U, 6U}) {
        queues.push_back(queue_of(id));
        queues.back().fd = id < 6 ? 20 : 21;
    }
    const auto stopped = selected.transport->switch_all(queues, StopType::save, {}).stopped;
    EXPECT_EQ((std::vector<std::string>{"20: -1 -2 -3", "20: -4", "21: -9 -6"}), *answers);
    ASSERT_EQ(6U, stopped.size());
    EXPECT_TRUE(stopped[3] && stopped[5]);
    EXPECT_EQ(ENOENT, stopped[4].error().errno_value);
    EXPECT_EQ(9U, stopped[4].error().id);
    answers->clear();
    EXPECT_EQ(2U, selected.transport->switch_all({}, StopType::save, std::span(queues).first(2))
                      .started.size());
    EXPECT_EQ((std::vector<std::string>{"20: +1 +2"}), *answers);
}

// Says what it was told, and refuses to stop or start a queue when asked to.
class LoggingTransport final : public backend::Transport {
public:
    [[nodiscard]] TransportKind kind() const override { return TransportKind::update_queue; }
    [[nodiscard]] bool can(StopType) const override { return true; }
    Result<void> stop(const hip::QueueRecord& queue, StopType) override {
        return note(" -", queue.kfd_queue_id);
    }
    Result<void> start(const hip::QueueRecord& queue) override {
        return note(" +", queue.kfd_queue_id);
    }

    std::string log;
    std::uint32_t refused = 0;
    int refusal = EBUSY;

private:
    Result<void> note(const char* what, std::uint32_t id) {
        log += what + std::to_string(id);
        return id == refused ? fail(refusal, Op::update_queue, id) : Result<void>{};
    }
};

TEST(Holds, several_are_all_held_or_none) {
    LoggingTransport transport;
    backend::Holds holds(transport);
    const std::vector<hip::QueueRecord> queues = {queue_of(1), queue_of(2), queue_of(1),
                                                  queue_of(3)};
    transport.refused = 2;
    EXPECT_EQ(2U, holds.hold(queues, StopType::save, nullptr).error().id);
    EXPECT_EQ(" -1 -2 -3 +1 +3", transport.log);
    EXPECT_EQ(0U, holds.count(hip::ref_of(queues[0])));

    transport.refused = 0;
    transport.log.clear();
    ASSERT_TRUE(holds.hold(queue_of(3), StopType::save, nullptr));
    ASSERT_TRUE(holds.hold(queues, StopType::save, nullptr));
    EXPECT_EQ(" -3 -1 -2", transport.log);
    EXPECT_EQ(2U, holds.count(hip::ref_of(queues[0])));
    EXPECT_EQ(2U, holds.count(hip::ref_of(queues[3])));

    transport.log.clear();
    transport.refused = 2;
    holds.release(queues, nullptr);
    EXPECT_EQ(" +1 +2", transport.log); // 3 has the first hold left
    EXPECT_EQ(0U, holds.count(hip::ref_of(queues[1])));
    EXPECT_TRUE(holds.is_due());

    transport.refusal = ENOENT; // destroyed meanwhile: nothing of it is left
    EXPECT_TRUE(holds.retry());

    // Dead: there is nothing to start, now or later.
    transport.refused = 0;
    ASSERT_TRUE(holds.hold(std::span(queues).subspan(1, 1), StopType::save, nullptr));
    transport.refused = 2;
    transport.refusal = EIO;
    holds.release(std::span(queues).subspan(1, 1), nullptr);
    EXPECT_EQ(EIO, holds.hold(queues[1], StopType::save, nullptr).error().errno_value);
}

// The script fails the test on any call but QUERY: other drivers use ioctl 0x87 for something else.
TEST_F(Transports, a_driver_without_query_is_never_asked_to_preempt) {
    for (const char* abi : {"", "0", "0.1", "1.0", "x"}) {
        inputs.module.preempt_abi = abi;
        expect_query(-ENOTTY);
        const auto selected = backend::select_transport(inputs);
        EXPECT_EQ(TransportKind::update_queue, selected.probe.kind) << abi;
        EXPECT_EQ("the driver has no preemption", selected.probe.reason);
    }
}

// ROCm's amdgpu-dkms returns EINVAL for an ioctl that it doesn't know.
TEST_F(Transports, einval_is_another_driver_unless_our_parameters_are_there) {
    expect_query(-EINVAL);
    const auto rocm = backend::select_transport(inputs);
    EXPECT_EQ(TransportKind::update_queue, rocm.probe.kind);
    EXPECT_TRUE(rocm.probe.reason.starts_with("the driver has no preemption")) << rocm.probe.reason;

    inputs.module.preempt_abi = "1.1";
    expect_query(-EINVAL);
    const auto ours = backend::select_transport(inputs);
    EXPECT_EQ(TransportKind::update_queue, ours.probe.kind);
    EXPECT_NE(std::string::npos, ours.probe.reason.find("QUERY: Invalid argument"))
        << ours.probe.reason;

    inputs.module.switched_off = true; // then the call reaches the table of amdgpu-dkms
    expect_query(-EINVAL);
    const auto off = backend::select_transport(inputs);
    EXPECT_TRUE(off.probe.reason.starts_with("the driver has no preemption")) << off.probe.reason;
}

TEST_F(Transports, percentage_0_needs_the_hook_and_keeps_every_property) {
    expect_query(-ENOTTY);
    const auto selected = backend::select_transport(inputs);
    ASSERT_EQ(TransportKind::update_queue, selected.probe.kind);
    script.expect(update, 0, kfd::UpdateQueueArgs{0x7f0000001000, 5, 4096, 0, 7});
    EXPECT_TRUE(selected.transport->stop(queue_of(5), StopType::save));
    EXPECT_EQ(1U, told_held);
    script.expect(update, 0, kfd::UpdateQueueArgs{0x7f0000001000, 5, 4096, 100, 7});
    EXPECT_TRUE(selected.transport->start(queue_of(5)));
    EXPECT_EQ(0U, told_held);
    EXPECT_EQ(ESTALE, selected.transport->stop(queue_of(6), StopType::save).error().errno_value);

    inputs.table = nullptr;
    expect_query(-ENOTTY);
    const auto none = backend::select_transport(inputs);
    EXPECT_EQ(TransportKind::none, none.probe.kind);
    EXPECT_EQ("the driver has no preemption; libxpreempt-hook.so is not loaded, which "
              "UPDATE_QUEUE needs",
              none.probe.reason);
}

TEST_F(Transports, after_a_reset_percentage_0_is_not_tried_again) {
    expect_query(-ENOTTY);
    const auto selected = backend::select_transport(inputs);
    script.expect(update, -EACCES, kfd::UpdateQueueArgs{0x7f0000001000, 5, 4096, 0, 7});
    EXPECT_EQ(EACCES, selected.transport->stop(queue_of(5), StopType::save).error().errno_value);
    EXPECT_EQ(EACCES, selected.transport->stop(queue_of(5), StopType::save).error().errno_value);
}

TEST_F(Transports, one_by_name_is_that_or_none) {
    inputs.wanted = "patched";
    expect_query(-ENOTTY);
    const auto patched = backend::select_transport(inputs);
    EXPECT_EQ(TransportKind::none, patched.probe.kind);
    EXPECT_EQ("XPREEMPT_TRANSPORT is patched; the driver has no preemption", patched.probe.reason);

    inputs.wanted = "update-queue"; // without a QUERY
    EXPECT_EQ(TransportKind::update_queue, backend::select_transport(inputs).probe.kind);

    inputs.wanted = "none";
    EXPECT_EQ(TransportKind::none, backend::select_transport(inputs).probe.kind);

    for (const char* removed : {"patched-v0", "debug-trap"}) {
        inputs.wanted = removed;
        EXPECT_EQ(TransportKind::none, backend::select_transport(inputs).probe.kind) << removed;
    }

    inputs.wanted = "fastest";
    const auto unknown = backend::select_transport(inputs);
    EXPECT_EQ(TransportKind::none, unknown.probe.kind);
    EXPECT_NE(std::string::npos, unknown.probe.reason.find("'fastest'")) << unknown.probe.reason;

    inputs.wanted.clear();
    inputs.device = nullptr;
    inputs.open_errno = EACCES;
    EXPECT_NE(std::string::npos,
              backend::select_transport(inputs).probe.reason.find("Permission denied"));
}

} // namespace
