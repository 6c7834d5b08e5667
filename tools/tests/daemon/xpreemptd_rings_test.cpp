// SPDX-License-Identifier: MIT
// Rings without work: armed again at once, and not at everybody's cost.
#include "daemon_fixture.hpp"

namespace {

using namespace xpreemptd;
using std::chrono::microseconds;
using std::chrono::milliseconds;

using RingsTest = test::DaemonFixture;
using test::batch;
using test::server;

// A short kernel, and a long one right after it. A scan took long, so polls rest.
TEST_F(RingsTest, work_right_after_a_ring_without_work_is_seen_while_polls_rest) {
    start_two();
    gpu.read_takes = milliseconds{3};
    pass(milliseconds{200});
    gpu.read_takes = microseconds{10};
    for (int i = 0; i < 3; ++i) {
        gpu.ring(server, 1);
        events();
        pass(microseconds{50});
    }
    gpu.submit(server, 1);
    pass(microseconds{500});
    EXPECT_TRUE(gpu.held(batch));
}

TEST_F(RingsTest, rings_with_work_ask_for_no_rest_of_rings) {
    start_two();
    gpu.read_takes = microseconds{100};
    for (int i = 0; i < 1000; ++i) {
        gpu.submit(server, 1);
        events();
        gpu.finish(server, 1);
        pass(milliseconds{2});
    }
    gpu.read_takes = milliseconds{3}; // a scan takes long, so polls rest
    pass(milliseconds{200});
    gpu.read_takes = microseconds{10};
    for (int i = 0; i < 3; ++i) {
        gpu.ring(server, 1);
        events();
        pass(microseconds{300});
    }
    gpu.submit(server, 1);
    pass(microseconds{500});
    EXPECT_TRUE(gpu.held(batch));
}

TEST_F(RingsTest, rings_in_a_loop_without_work_do_not_keep_us_busy) {
    start_two();
    const std::uint64_t before = gpu.reads;
    for (int i = 0; i < 1000; ++i) {
        gpu.ring(server, 1);
        events();
    }
    EXPECT_LT(gpu.reads - before, 10U);
}

TEST_F(RingsTest, rings_in_a_loop_take_little_of_a_cpu_however_slow_a_look_is) {
    start_two();
    gpu.read_takes = gpu.arm_takes = microseconds{100};
    const Time begin = gpu.now;
    const std::uint64_t before = gpu.reads + gpu.arms;
    for (int i = 0; i < 100'000; ++i) {
        gpu.ring(server, 1);
        pass(microseconds{10});
    }
    // A tenth, and a twentieth for scans and polls.
    const auto busy = (gpu.reads + gpu.arms - before) * microseconds{100};
    EXPECT_LE(busy * 20 / 3, gpu.now - begin + milliseconds{10});
}

} // namespace
