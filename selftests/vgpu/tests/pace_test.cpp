// SPDX-License-Identifier: MIT
// The guest's time, and the GPU that is tied to it.
#include "test_gpu.hpp"

#include "pace/guest_time.hpp"
#include "pace/pace.hpp"
#include "pace/process_state.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace vgpu::pace {
namespace {

constexpr std::uint64_t ms = 1'000'000;

TEST(GuestTime, a_cpu_that_executes_takes_cpu_time) {
    GuestTime time({.wall_ns = 5 * ms, .cpu_ns = 7 * ms});
    time.advance({.wall_ns = 6 * ms, .cpu_ns = 8 * ms, .runnable = true}, false);
    EXPECT_EQ(time.ns(), 1 * ms);
}

TEST(GuestTime, a_guest_that_waits_for_a_cpu_of_the_host_does_not_proceed) {
    GuestTime time({});
    time.advance({.wall_ns = 50 * ms, .cpu_ns = 1 * ms, .runnable = true}, false);
    EXPECT_EQ(time.ns(), 1 * ms);
}

TEST(GuestTime, a_guest_that_waits_for_an_answer_does_not_proceed) {
    GuestTime time({});
    time.advance({.wall_ns = 50 * ms, .cpu_ns = 1 * ms}, true);
    EXPECT_EQ(time.ns(), 1 * ms);
    time.skip({.wall_ns = 60 * ms, .cpu_ns = 2 * ms});
    EXPECT_EQ(time.ns(), 1 * ms);
}

TEST(GuestTime, a_guest_that_sleeps_proceeds_with_the_wall_clock) {
    GuestTime time({});
    for (std::uint64_t now = 1; now <= 100; ++now)
        time.advance({.wall_ns = now * ms}, false);
    EXPECT_EQ(time.ns(), 100 * ms);
}

TEST(GuestTime, a_sleep_counts_two_milliseconds_when_we_had_no_cpu_ourselves) {
    GuestTime time({});
    time.advance({.wall_ns = 100 * ms}, false);
    EXPECT_EQ(time.ns(), 2 * ms);
    time.advance({.wall_ns = 110 * ms, .cpu_ns = 6 * ms}, false);
    EXPECT_EQ(time.ns(), 8 * ms);
}

TEST(GuestTime, two_threads_at_a_time_are_no_more_than_the_wall_clock) {
    GuestTime time({});
    time.advance({.wall_ns = 10 * ms, .cpu_ns = 17 * ms, .runnable = true}, false);
    EXPECT_EQ(time.ns(), 10 * ms);
}

// A child that works or sleeps, and how it looks from outside.
class Child {
public:
    explicit Child(bool works) : pid_(::fork()) {
        if (pid_ != 0)
            return;
        for (volatile bool forever = true; forever;)
            if (!works)
                ::pause();
        ::_exit(0);
    }
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;
    ~Child() {
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
    }
    pid_t pid() const { return pid_; }

private:
    pid_t pid_;
};

TEST(ObservedProcess, one_that_works_is_runnable_and_takes_cpu_time) {
    const Child child(true);
    const auto process = ObservedProcess::open(child.pid());
    ASSERT_TRUE(process);
    while (process->state(false).cpu_ns < 20 * ms)
        ::usleep(1000);
    EXPECT_TRUE(process->state(true).runnable);
    EXPECT_FALSE(process->state(false).runnable);
}

TEST(ObservedProcess, one_that_sleeps_is_not_runnable_and_takes_none) {
    const Child child(false);
    const auto process = ObservedProcess::open(child.pid());
    ASSERT_TRUE(process);
    while (process->state(true).runnable)
        ::usleep(1000);
    const ProcessState before = process->state(false);
    ::usleep(20'000);
    const ProcessState after = process->state(true);
    EXPECT_FALSE(after.runnable);
    EXPECT_EQ(after.cpu_ns, before.cpu_ns);
    EXPECT_GE(after.wall_ns - before.wall_ns, 20 * ms);
}

TEST(ObservedProcess, no_process_is_refused) {
    EXPECT_FALSE(ObservedProcess::open(0));
}

class Paced : public ::testing::Test {
protected:
    std::uint64_t gpu_clock() { return gpu.observer.counters["gpu_clock"]; }
    void sleep_ms(std::uint64_t count) {
        for (; count != 0; --count) {
            now.wall_ns += ms;
            pace.run(false);
        }
    }

    test::TestGpu gpu;
    ProcessState now;
    Pace pace{gpu.device, 2000, [this](bool) { return now; }};
};

TEST_F(Paced, the_clock_of_an_idle_gpu_passes_with_the_time_of_the_guest) {
    pace.set_rate(5000);
    sleep_ms(3);
    EXPECT_EQ(gpu_clock(), 15'000U);
    now.wall_ns += 40 * ms; // the guest waits for a CPU of the host
    now.runnable = true;
    pace.run(false);
    EXPECT_EQ(gpu_clock(), 15'000U);
}

TEST_F(Paced, no_time_passes_while_the_guest_waits_for_an_answer) {
    pace.set_rate(5000);
    now.wall_ns += 30 * ms;
    pace.run(true);
    now.wall_ns += 30 * ms;
    pace.answered();
    pace.run(false);
    EXPECT_EQ(gpu_clock(), 0U);
    sleep_ms(1);
    EXPECT_EQ(gpu_clock(), 5000U);
}

TEST_F(Paced, without_a_rate_the_clock_counts_what_waves_execute) {
    sleep_ms(3);
    EXPECT_EQ(gpu_clock(), 0U);
    pace.set_rate(1);
    sleep_ms(3);
    pace.set_rate(0);
    sleep_ms(3);
    EXPECT_EQ(gpu_clock(), 3U);
}

} // namespace
} // namespace vgpu::pace
