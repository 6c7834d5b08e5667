// SPDX-License-Identifier: MIT
// Each wrapper sends exactly its struct, and hands every errno of the ABI up unchanged.
#include "kfd/device.hpp"

#include "kfd/queue_ioctls.hpp"
#include "unit/scripted_ioctl.hpp"

#include <cerrno>
#include <ostream>
#include <string>

namespace {

using xpreempt::Op;
using xpreempt::UniqueFd;
using xpreempt::kfd::Device;

// All that kfd_preempt.h gives a meaning; EINTR isn't among them, it is repeated.
constexpr int abi_errnos[] = {EALREADY, EBADF,      EBUSY,  E2BIG,  EFAULT, EINVAL,
                              EIO,      ENODEV,     ENOENT, ENOMEM, ENOSPC, ENOTTY,
                              EPERM,    EOPNOTSUPP, ESRCH,  ESTALE, ETIME};

struct Verb {
    const char* name;
    unsigned long request;
    Op op;
    void (*expect)(test::ScriptedIoctl&, unsigned long request, int answer);
    xpreempt::Result<void> (*call)(const Device&);
};

template <typename T> xpreempt::Result<void> without_value(const xpreempt::Result<T>& result) {
    if (!result)
        return tl::make_unexpected(result.error());
    return {};
}

const Verb verbs[] = {
    {"query", 0xc0404bf0, Op::query,
     [](test::ScriptedIoctl& script, unsigned long request, int answer) {
         kfd_ioctl_preempt_query_args args{};
         args.gpu_id = 5;
         script.expect(request, answer, args);
     },
     [](const Device& device) { return without_value(device.query(5)); }},
    {"status", 0xc0c84bf2, Op::queue_status,
     [](test::ScriptedIoctl& script, unsigned long request, int answer) {
         kfd_ioctl_preempt_status_args args{};
         args.queue_id = 5;
         script.expect(request, answer, args);
     },
     [](const Device& device) { return without_value(device.status(5)); }},
    {"update_queue", 0x40184b07, Op::update_queue,
     [](test::ScriptedIoctl& script, unsigned long request, int answer) {
         script.expect(request, answer,
                       xpreempt::kfd::UpdateQueueArgs{0x7f0000001000, 5, 4096, 100, 9});
     },
     [](const Device& device) { return device.update_queue({0x7f0000001000, 5, 4096, 100, 9}); }},
};

void PrintTo(const Verb& verb, std::ostream* out) {
    *out << verb.name;
}

class EveryVerb : public ::testing::TestWithParam<Verb> {};

TEST_P(EveryVerb, sends_its_struct_and_succeeds) {
    test::ScriptedIoctl script;
    GetParam().expect(script, GetParam().request, 0);
    EXPECT_TRUE(GetParam().call(Device(UniqueFd(), script.function())));
}

TEST_P(EveryVerb, hands_each_errno_up_with_what_was_tried_on_which_id) {
    for (const int errno_value : abi_errnos) {
        test::ScriptedIoctl script;
        GetParam().expect(script, GetParam().request, -errno_value);
        const auto result = GetParam().call(Device(UniqueFd(), script.function()));
        ASSERT_FALSE(result);
        EXPECT_EQ(errno_value, result.error().errno_value);
        EXPECT_EQ(GetParam().op, result.error().op);
        EXPECT_EQ(5U, result.error().id);
    }
}

TEST_P(EveryVerb, repeats_a_call_that_a_signal_interrupted) {
    test::ScriptedIoctl script;
    GetParam().expect(script, GetParam().request, -EINTR);
    GetParam().expect(script, GetParam().request, -EINTR);
    GetParam().expect(script, GetParam().request, 0);
    EXPECT_TRUE(GetParam().call(Device(UniqueFd(), script.function())));
}

INSTANTIATE_TEST_SUITE_P(device, EveryVerb, ::testing::ValuesIn(verbs),
                         [](const auto& verb) { return std::string(verb.param.name); });

TEST(Device, switch_gives_the_answer_of_each_entry) {
    kfd_preempt_switch_entry entries[2]{};
    entries[0].queue_id = 3;
    entries[0].op = KFD_PREEMPT_OP_PREEMPT;
    entries[0].preempt_type = KFD_PREEMPT_TYPE_SAVE;
    entries[1].queue_id = 4;
    entries[1].op = KFD_PREEMPT_OP_RESUME;
    kfd_ioctl_preempt_switch_args in{};
    in.flags = KFD_PREEMPT_SWITCH_ALL_OR_NOTHING;
    in.entries_ptr = reinterpret_cast<std::uintptr_t>(entries);
    in.num_entries = 2;
    auto out = in;
    out.num_done = 1;
    test::ScriptedIoctl script;
    script.expect(0xc0304bf1, 0, in, out);
    const Device device{UniqueFd(), script.function()};
    const auto done = device.switch_queues(KFD_PREEMPT_SWITCH_ALL_OR_NOTHING, entries);
    ASSERT_TRUE(done);
    EXPECT_EQ(1U, done->num_done);
}

TEST(Device, status_hands_out_the_counters) {
    kfd_ioctl_preempt_status_args in{};
    in.queue_id = 2;
    auto out = in;
    out.preempts = 11;
    out.max_preempt_ns = 12;
    test::ScriptedIoctl script;
    script.expect(AMDKFD_IOC_PREEMPT_STATUS, 0, in, out);
    const Device device{UniqueFd(), script.function()};
    const auto status = device.status(2);
    ASSERT_TRUE(status);
    EXPECT_EQ(11U, status->preempts);
    EXPECT_EQ(12U, status->max_preempt_ns);
}

TEST(Device, a_missing_device_file_is_an_error_and_not_a_crash) {
    const auto device = Device::open("/nonexistent/kfd", xpreempt::kfd::plain_ioctl);
    ASSERT_FALSE(device);
    EXPECT_EQ(ENOENT, device.error().errno_value);
    EXPECT_EQ(Op::open_device, device.error().op);
}

} // namespace
