// SPDX-License-Identifier: MIT
// XQueues know of the others that keep their GPU busy, whether the process has one or several.
#include <xpreempt/xpreempt.h>

#include "fake/fake_rocm.hpp"

#include <gtest/gtest.h>
#include <vector>

extern "C" int hipStreamCreate(void** stream);

namespace {

int succeed(void*, void*) {
    return 0;
}

class DeviceLoadTest : public ::testing::TestWithParam<int> {
protected:
    DeviceLoadTest() {
        fake_choose_driver();
        fake_hip()->devices = GetParam();
    }
    ~DeviceLoadTest() override {
        fake_hip()->running[0] = nullptr;
        for (const xp_xqueue_t xqueue : xqueues_)
            EXPECT_EQ(0, xp_xqueue_destroy(xqueue));
        fake_hip()->devices = fake::max_devices;
    }

    // With a budget that never has room: only a device that ran dry gets more than two commands.
    xp_xqueue_t create(void*& stream) {
        EXPECT_EQ(0, hipStreamCreate(&stream));
        xp_xqueue_options options = XP_XQUEUE_OPTIONS_INIT;
        options.max_level = XP_LEVEL_BLOCK;
        options.latency_budget_ns = 1;
        xp_xqueue_t xqueue{};
        EXPECT_EQ(0, xp_xqueue_create(stream, &options, &xqueue)) << xp_last_detail();
        xqueues_.push_back(xqueue);
        return xqueue;
    }
    // Commands that end at once: each refill finds none of them in flight.
    static void run_commands(xp_xqueue_t xqueue) {
        EXPECT_EQ(0, xp_xqueue_suspend(xqueue, 0, nullptr));
        for (int i = 0; i < 200; ++i)
            EXPECT_EQ(0, xp_xqueue_submit(xqueue, succeed, nullptr, nullptr));
        EXPECT_EQ(0, xp_xqueue_resume(xqueue));
        EXPECT_EQ(0, xp_xqueue_wait_all(xqueue));
    }
    static std::uint32_t threshold(xp_xqueue_t xqueue) {
        xp_xqueue_state state{};
        state.sz = sizeof state;
        EXPECT_EQ(0, xp_xqueue_query(xqueue, &state));
        return state.threshold;
    }

    std::vector<xp_xqueue_t> xqueues_;
};

TEST_P(DeviceLoadTest, an_xqueue_beside_a_busy_one_does_not_take_the_device_for_dry) {
    void *busy_stream = nullptr, *stream = nullptr;
    const xp_xqueue_t busy = create(busy_stream), xqueue = create(stream);
    fake_hip()->running[0] = fake_stream(busy_stream);
    ASSERT_EQ(0, xp_xqueue_submit(busy, succeed, nullptr, nullptr));
    run_commands(xqueue);
    EXPECT_EQ(2U, threshold(xqueue));
}

TEST_P(DeviceLoadTest, an_xqueue_that_is_alone_keeps_more_in_flight_on_a_dry_device) {
    void *idle_stream = nullptr, *stream = nullptr;
    (void)create(idle_stream);
    const xp_xqueue_t xqueue = create(stream);
    run_commands(xqueue);
    EXPECT_LT(2U, threshold(xqueue));
}

INSTANTIATE_TEST_SUITE_P(devices, DeviceLoadTest, ::testing::Values(1, 2),
                         [](const auto& devices) { return std::to_string(devices.param); });

} // namespace
