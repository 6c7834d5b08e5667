// SPDX-License-Identifier: MIT
// Random holds of every class, on a driver that refuses, is late and loses answers: at the end no
// queue is held, and no owner believes that it holds one.
//
// Run with FAKE_DRIVER=patched or FAKE_DRIVER=stock. SEED of the random numbers (default: 1).
#include <xpreempt/xpreempt.h>

#include "fake/fake_rocm.hpp"
#include "unit/until.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <gtest/gtest.h>
#include <random>
#include <set>
#include <vector>

extern "C" {
int hipMemsetAsync(void* to, int value, std::size_t bytes, void* stream);
int hipStreamCreate(void** stream);
int hipStreamDestroy(void* stream);
}

namespace {

constexpr unsigned steps = 2000;
constexpr std::uint32_t mid_kernel = XP_HOLD_LEAST(XP_LEVEL_INTERRUPT) | XP_HOLD_SHARED;

int put_packet(void* stream, void*) {
    return hipMemsetAsync(nullptr, 0, 4, stream);
}

// The KFD ids of all queues that were used.
std::set<std::uint32_t> used;

bool all_run() {
    return std::ranges::all_of(used, [](std::uint32_t id) {
        const fake::Queue& queue = fake_driver()->queues[id];
        return !queue.held && queue.percentage == 100;
    });
}

// A stream, and its owners.
class Target {
public:
    explicit Target(bool own_queue) : own_queue_(own_queue) { create(); }

    void act(unsigned what) {
        switch (what % 8) {
        case 0: holds_ += xp_stream_hold(stream_, 0, nullptr) == 0 ? 1U : 0U; break;
        case 1: holds_ += xp_stream_hold(stream_, mid_kernel, nullptr) == 0 ? 1U : 0U; break;
        case 2:
        case 3: release(); break;
        case 4: make_xqueue(); break;
        case 5:
            suspends_ += xqueue_.handle != 0 && xp_xqueue_suspend(xqueue_, 0, nullptr) == 0;
            break;
        case 6: resume(); break;
        default: destroy_xqueue(); break;
        }
    }
    void set_priority(std::int32_t priority) const {
        EXPECT_EQ(0, xp_stream_set_priority(stream_, priority)) << xp_last_detail();
    }
    // Ends every hold of the stream: hipStreamDestroy() waits for its work. The fake HIP has few
    // queues.
    void replace() {
        if (own_queue_)
            return;
        destroy_xqueue();
        EXPECT_EQ(0, hipStreamDestroy(stream_));
        holds_ = 0;
        create();
    }
    void end() {
        while (holds_ > 0)
            release();
        while (suspends_ > 0)
            resume();
        EXPECT_EQ(-ENOENT, xp_stream_release(stream_)); // also none of an xqueue
        destroy_xqueue();
        EXPECT_EQ(-ENOENT, xp_stream_release(stream_));
    }
    [[nodiscard]] void* stream() const { return stream_; }
    void note_hold() { ++holds_; }

private:
    void create() {
        if (own_queue_) {
            ASSERT_EQ(0, xp_stream_create(&stream_)) << xp_last_detail();
        } else {
            ASSERT_EQ(0, hipStreamCreate(&stream_));
        }
        ASSERT_EQ(0, hipMemsetAsync(nullptr, 0, 4, stream_));
        xp_stream_info info{};
        info.sz = sizeof info;
        ASSERT_EQ(0, xp_stream_query(stream_, &info)) << xp_last_detail();
        used.insert(info.kfd_queue_id);
    }
    void release() {
        if (holds_ == 0)
            return;
        EXPECT_EQ(0, xp_stream_release(stream_)) << xp_last_detail();
        --holds_;
    }
    void make_xqueue() {
        if (xqueue_.handle != 0)
            return;
        xp_xqueue_options options = XP_XQUEUE_OPTIONS_INIT;
        options.flags = XP_ALLOW_SHARED;
        EXPECT_EQ(0, xp_xqueue_create(stream_, &options, &xqueue_)) << xp_last_detail();
        EXPECT_EQ(0, xp_xqueue_submit(xqueue_, put_packet, nullptr, nullptr));
    }
    void resume() {
        if (suspends_ == 0)
            return;
        EXPECT_EQ(0, xp_xqueue_resume(xqueue_)) << xp_last_detail();
        --suspends_;
    }
    // The holds of its stream end with it.
    void destroy_xqueue() {
        if (xqueue_.handle != 0) {
            EXPECT_EQ(0, xp_xqueue_destroy(xqueue_)) << xp_last_detail();
            holds_ = 0;
        }
        xqueue_ = {};
        suspends_ = 0;
    }

    const bool own_queue_;
    void* stream_ = nullptr;
    unsigned holds_ = 0, suspends_ = 0;
    xp_xqueue_t xqueue_{};
};

TEST(OwnersPropertyTest, at_the_end_of_random_holds_nothing_is_held) {
    fake_choose_driver();
    const char* given = std::getenv("SEED");
    const auto seed = static_cast<std::uint32_t>(given != nullptr ? std::atoi(given) : 1);
    std::printf("SEED=%u\n", seed);
    std::mt19937 random(seed);
    fake_hip()->reuse_handles = true;
    std::vector<Target> targets;
    for (const bool own_queue : {true, true, false, false, false})
        targets.emplace_back(own_queue);
    fake_driver()->faults = seed | 1;
    for (unsigned step = 0; step < steps && !testing::Test::HasFailure(); ++step) {
        Target& one = targets[random() % targets.size()];
        switch (random() % 24) {
        case 0: (void)xp_sched_start(XP_POLICY_HIGHEST_PRIORITY_FIRST); break;
        case 1: (void)xp_sched_stop(); break;
        case 2: one.set_priority(static_cast<std::int32_t>(random() % 5)); break;
        case 3: one.replace(); break;
        case 4: {
            Target& other = targets[random() % targets.size()];
            const std::array both{one.stream(), other.stream()};
            if (xp_streams_hold(both.data(), both.size(), mid_kernel, nullptr) != 0)
                break;
            one.note_hold();
            other.note_hold();
            break;
        }
        default: one.act(static_cast<unsigned>(random() % 100)); break;
        }
    }
    (void)xp_sched_stop();
    for (Target& target : targets)
        target.end();
    fake_driver()->faults = 0;
    for (fake::Queue& queue : fake_driver()->queues)
        queue.pending = false;
    test::until(all_run);
}

} // namespace
