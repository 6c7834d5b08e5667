// SPDX-License-Identifier: MIT
// Programs that capture, launch, wait and are held at random: no capture is ended, and each call
// returns.
//
// Run with FAKE_DRIVER=patched or FAKE_DRIVER=stock.
#include "unit/gates_fixture.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace {

using namespace std::chrono_literals;

using Clock = std::chrono::steady_clock;
constexpr unsigned num_programs = 6;
constexpr auto longest = 60s;

// Fails for some commands, as if HIP refused the kernel.
int launch(void* stream, void* fails) {
    return fails != nullptr ? -EIO : hipMemsetAsync(nullptr, 0, 4, stream);
}

class Program {
public:
    Program(unsigned seed, int priority) : random_(seed) {
        EXPECT_EQ(0, hipStreamCreate(&stream_));
        EXPECT_EQ(0, hipStreamCreate(&side_));
        EXPECT_EQ(0, hipEventCreateWithFlags(&event_, 0));
        for (void* used : {stream_, side_})
            EXPECT_EQ(0, hipMemsetAsync(nullptr, 0, 4, used));
        xp_xqueue_options options = XP_XQUEUE_OPTIONS_INIT;
        options.threshold = 4;
        options.batch = 2;
        EXPECT_EQ(0, xp_xqueue_create(stream_, &options, &xqueue_)) << xp_last_detail();
        EXPECT_EQ(0, xp_stream_set_priority(stream_, priority)) << xp_last_detail();
    }
    void run(Clock::time_point end) {
        int mode = 2;
        EXPECT_EQ(0, hipThreadExchangeStreamCaptureMode(&mode));
        while (Clock::now() < end)
            step();
        does_ = "wait all";
        EXPECT_EQ(0, xp_xqueue_wait_all(xqueue_));
        does_ = nullptr;
    }
    void end() const { EXPECT_EQ(0, xp_xqueue_destroy(xqueue_)) << xp_last_detail(); }
    [[nodiscard]] bool has_ended() const { return does_ == nullptr; }
    [[nodiscard]] void* stream() const { return stream_; }
    [[nodiscard]] void* side() const { return side_; }
    void report() const {
        const char* const does = does_;
        xp_xqueue_state state{};
        state.sz = sizeof state;
        (void)xp_xqueue_query(xqueue_, &state);
        std::cerr << steps_ << " steps: " << (does != nullptr ? does : "ended") << "; "
                  << state.suspends << " suspends, " << state.pending << " pending, "
                  << state.in_flight << " in flight\n";
    }

private:
    unsigned random(unsigned below) { return static_cast<unsigned>(random_() % below); }
    void submit() {
        static char fails;
        for (unsigned i = random(12); i > 0; --i) {
            const bool bad = random(16) == 0;
            const int answer = xp_xqueue_submit(xqueue_, launch, bad ? &fails : nullptr, &ticket_);
            if (answer != 0) {
                EXPECT_TRUE(bad) << xp_last_detail();
            }
        }
    }
    void step() {
        ++steps_;
        switch (random(10)) {
        case 0:
        case 1: does_ = "submit"; return submit();
        case 2:
            does_ = "wait";
            EXPECT_EQ(0, xp_xqueue_wait_all(xqueue_)) << xp_last_detail();
            return;
        case 3:
            does_ = "notify";
            if (ticket_ != 0) {
                EXPECT_EQ(0, xp_xqueue_notify(xqueue_, ticket_, [](int, void*) {}, nullptr));
            }
            return;
        case 4:
            does_ = "hold";
            if (xp_stream_hold(side_, XP_HOLD_SHARED, nullptr) == 0) {
                std::this_thread::sleep_for(std::chrono::microseconds(random(300)));
                does_ = "release";
                EXPECT_EQ(0, xp_stream_release(side_)) << xp_last_detail();
            }
            return;
        case 5:
            does_ = "suspend";
            EXPECT_EQ(0, xp_xqueue_suspend(xqueue_, 0, nullptr)) << xp_last_detail();
            does_ = "resume";
            EXPECT_EQ(0, xp_xqueue_resume(xqueue_)) << xp_last_detail();
            return;
        case 6:
            does_ = "synchronize";
            EXPECT_EQ(0, hipStreamSynchronize(random(2) == 0 ? side_ : stream_));
            return;
        default: return capture();
        }
    }
    void capture() {
        does_ = "begin capture";
        ASSERT_EQ(0, hipStreamBeginCapture(stream_, 0));
        does_ = "submit into capture";
        submit();
        if (random(2) == 0) {
            does_ = "join";
            ASSERT_EQ(0, hipEventRecord(event_, stream_));
            ASSERT_EQ(0, hipStreamWaitEvent(side_, event_, 0));
            does_ = "launch in joined";
            ASSERT_EQ(0, hipMemsetAsync(nullptr, 0, 4, side_));
        }
        if (random(2) == 0) {
            does_ = "wait in capture";
            if (const int answer = xp_xqueue_wait_all(xqueue_); answer != 0) {
                EXPECT_EQ(-EBUSY, answer) << xp_last_detail();
            }
        }
        does_ = "end capture";
        ASSERT_EQ(0, hipStreamEndCapture(stream_, nullptr));
    }

    std::minstd_rand random_;
    std::atomic<const char*> does_{""};
    std::atomic<unsigned> steps_{0};
    void *stream_ = nullptr, *side_ = nullptr, *event_ = nullptr;
    xp_xqueue_t xqueue_{};
    std::uint64_t ticket_ = 0;
};

// As an operator does.
void hold_any(const std::vector<std::unique_ptr<Program>>& programs, unsigned seed,
              Clock::time_point end) {
    std::minstd_rand random(seed);
    while (Clock::now() < end) {
        const auto& program = programs[random() % num_programs];
        void* const stream = random() % 2 == 0 ? program->stream() : program->side();
        if (xp_stream_hold(stream, XP_HOLD_SHARED, nullptr) != 0)
            continue;
        std::this_thread::sleep_for(std::chrono::microseconds(random() % 2000));
        EXPECT_EQ(0, xp_stream_release(stream)) << xp_last_detail();
    }
}

unsigned from_environment(const char* name, unsigned usual) {
    const char* const value = std::getenv(name);
    return value != nullptr ? static_cast<unsigned>(std::stoul(value)) : usual;
}

// SEED=N repeats a run as far as the threads allow, SECONDS=N makes it longer.
TEST(CapturesRandomTest, no_capture_ends_and_each_call_returns) {
    fake_choose_driver();
    ASSERT_EQ(0, xp_start());
    ASSERT_EQ(0, xp_sched_start(XP_POLICY_HIGHEST_PRIORITY_FIRST)) << xp_last_detail();
    const unsigned seed = from_environment("SEED", std::random_device()());
    SCOPED_TRACE("SEED=" + std::to_string(seed));
    std::vector<std::unique_ptr<Program>> programs;
    for (unsigned i = 0; i < num_programs; ++i)
        programs.push_back(std::make_unique<Program>(seed + i, static_cast<int>(i / 2)));
    const auto end = Clock::now() + std::chrono::seconds(from_environment("SECONDS", 1));
    std::vector<std::thread> threads;
    for (const auto& program : programs)
        threads.emplace_back([&program, end] { program->run(end); });
    threads.emplace_back([&] { hold_any(programs, seed, end); });
    // The work of one stream after the other takes a while.
    for (unsigned i = 0; Clock::now() < end; ++i) {
        fake_hip()->running[0] = programs[i % num_programs]->stream();
        std::this_thread::sleep_for(3ms);
    }
    fake_hip()->running[0] = nullptr;
    const auto all_ended = [&] { return std::ranges::all_of(programs, &Program::has_ended); };
    while (!all_ended() && Clock::now() < end + longest)
        std::this_thread::sleep_for(10ms);
    if (!all_ended()) {
        std::cerr << "SEED=" << seed << ": a call does not return\n";
        for (const auto& program : programs)
            program->report();
        std::abort(); // the threads can't be joined
    }
    for (std::thread& thread : threads)
        thread.join();
    for (const auto& program : programs)
        program->end();
    EXPECT_FALSE(fake_hip()->captures_ended);
    EXPECT_EQ(0, xp_sched_stop());
}

} // namespace
