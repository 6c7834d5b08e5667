// SPDX-License-Identifier: MIT
// The fake driver of these tests answers as the driver does: the table that the guest checks.
#include "fake/fake_rocm.hpp"

#include <cstdint>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <tests/driver_answers.h>
#include <unistd.h>

extern "C" {
int hipMemsetAsync(void* to, int value, std::size_t bytes, void* stream);
int hipStreamCreate(void** stream);
}

namespace {

constexpr std::uint32_t unknown_queue = 63;

class FakeDriverTest : public testing::Test {
protected:
    FakeDriverTest() {
        fake_driver()->patched = true;
        void* stream = nullptr;
        EXPECT_EQ(0, hipStreamCreate(&stream)); // with queue 0
        EXPECT_EQ(0, hipMemsetAsync(nullptr, 0, 4, stream));
    }
    ~FakeDriverTest() override { close(fd_); }

    template <typename Args> int call(unsigned long request, Args& args) const {
        return ioctl(fd_, request, &args) == 0 ? 0 : errno;
    }
    [[nodiscard]] int preempt(std::uint32_t queue, const driver_answer& row) const {
        kfd_ioctl_preempt_queue_args args{queue, row.type, row.timeout_ms, row.flags};
        return call(AMDKFD_IOC_PREEMPT_QUEUE, args);
    }
    [[nodiscard]] int resume(std::uint32_t queue, const driver_answer& row) const {
        kfd_ioctl_resume_queue_args args{queue, row.flags, {row.pad, 0}};
        return call(AMDKFD_IOC_RESUME_QUEUE, args);
    }
    [[nodiscard]] int status(std::uint32_t queue, const driver_answer& row) const {
        kfd_ioctl_preempt_status_args args{};
        args.queue_id = queue;
        args.flags = row.flags;
        return call(AMDKFD_IOC_PREEMPT_STATUS, args);
    }
    [[nodiscard]] int switch_queue(std::uint32_t queue, const driver_answer& row) const {
        kfd_preempt_switch_entry entry{};
        entry.queue_id = queue;
        entry.op = row.call == CALL_OWN_STOP ? KFD_PREEMPT_OP_PREEMPT : KFD_PREEMPT_OP_RESUME;
        entry.preempt_type = static_cast<std::uint16_t>(row.type);
        kfd_ioctl_preempt_switch_args args{};
        args.flags = row.flags;
        args.timeout_ms = row.timeout_ms;
        args.entries_ptr = reinterpret_cast<std::uintptr_t>(&entry);
        args.num_entries = 1;
        const int error = call(AMDKFD_IOC_PREEMPT_SWITCH, args);
        return error != 0 ? error : -entry.result;
    }
    [[nodiscard]] int answer_to(const driver_answer& row) const {
        const std::uint32_t queue = row.state == QUEUE_UNKNOWN ? unknown_queue : 0;
        switch (row.call) {
        case CALL_PREEMPT: return preempt(queue, row);
        case CALL_RESUME: return resume(queue, row);
        case CALL_STATUS: return status(queue, row);
        case CALL_OWN_STOP:
        case CALL_OWN_START: return switch_queue(queue, row);
        default: return -1;
        }
    }

private:
    int fd_ = open("/dev/kfd", O_RDWR | O_CLOEXEC);
};

TEST_F(FakeDriverTest, answers_as_the_driver) {
    int rows = 0;
    for (const driver_answer& row : driver_answers) {
        if (row.call >= CALL_STOP || row.where == NO_FIRMWARE_SCHEDULER)
            continue; // of an operator, whom it does not know
        fake_driver()->queues[0].held = row.state == QUEUE_HELD;
        EXPECT_EQ(row.error, answer_to(row)) << row.name;
        EXPECT_EQ(row.stopped != 0, fake_driver()->queues[0].held) << row.name;
        ++rows;
    }
    EXPECT_EQ(27, rows);
}

} // namespace
