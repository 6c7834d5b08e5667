// SPDX-License-Identifier: MIT
// Deactivation by guardian and by flush, hook and library as built, on the fake ROCm.
#include <xpreempt/xpreempt.h>

#include "fake/fake_rocm.hpp"

#include <cerrno>
#include <gtest/gtest.h>
#include <string>
#include <unistd.h>
#include <vector>

extern "C" {
int hipStreamCreate(void** stream);
int hipMemsetAsync(void* to, int value, std::size_t bytes, void* stream);
int hipEventRecord(void* event, void* stream);
int hipGraphLaunch(void* graph, void* stream);
std::uint64_t hsa_queue_add_write_index_screlease(const void* queue, std::uint64_t value);
int hipModuleLaunchKernel(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                          unsigned, void* stream, void**, void**);
}

namespace {

struct Work {
    std::vector<xp_guardian_t> guardians; // of each launch
    int answer = 0;
    void (*before)(void* stream) = nullptr; // what else the command does
};

int launch(void* stream, void* argument) {
    auto* work = static_cast<Work*>(argument);
    xp_guardian_t guardian{};
    if (const int error = xp_guardian_of_launch(&guardian); error != 0)
        return error;
    work->guardians.push_back(guardian);
    if (work->before != nullptr)
        work->before(stream);
    return work->answer != 0 ? work->answer : hipMemsetAsync(nullptr, 0, 4, stream);
}

// Four streams on the two queues of the pool, the first with an xqueue.
class DeactivateTest : public ::testing::Test {
protected:
    DeactivateTest() {
        fake_choose_driver();
        for (void*& stream : streams_) {
            EXPECT_EQ(0, hipStreamCreate(&stream));
            EXPECT_EQ(0, hipMemsetAsync(nullptr, 0, 4, stream));
        }
    }
    ~DeactivateTest() override { EXPECT_EQ(0, xp_xqueue_destroy(xqueue_)); }

    void create(std::uint32_t method = XP_METHOD_NONE, std::uint32_t flags = 0,
                void* stream = nullptr) {
        xp_xqueue_options options{};
        options.sz = sizeof options;
        options.deactivate_method = method;
        options.flags = flags;
        options.max_level = XP_LEVEL_DEACTIVATE;
        ASSERT_EQ(0, xp_xqueue_create(stream != nullptr ? stream : streams_[0], &options, &xqueue_))
            << xp_last_detail();
    }
    void submit(std::uint32_t flags) {
        xp_command command{sizeof command, launch, &work_, flags, 0, nullptr};
        ASSERT_EQ(0, xp_xqueue_submit_command(xqueue_, &command, nullptr)) << xp_last_detail();
    }
    std::uint32_t suspend() {
        std::uint32_t level = 0;
        EXPECT_EQ(0, xp_xqueue_suspend(xqueue_, 0, &level)) << xp_last_detail();
        return level;
    }
    xp_xqueue_state state() {
        xp_xqueue_state state{};
        state.sz = sizeof state;
        EXPECT_EQ(0, xp_xqueue_query(xqueue_, &state));
        return state;
    }
    void resume_and_finish() {
        EXPECT_EQ(0, xp_xqueue_resume(xqueue_));
        EXPECT_EQ(0, xp_xqueue_wait_all(xqueue_));
    }
    // Types of the last packets of the stream's queue, oldest first.
    std::vector<std::uint32_t> last_types(std::size_t count) {
        xp_stream_info info{};
        info.sz = sizeof info;
        EXPECT_EQ(0, xp_stream_query(streams_[0], &info));
        const fake::Queue& queue = fake_driver()->queues[info.kfd_queue_id];
        EXPECT_FALSE(queue.held);
        EXPECT_EQ(100U, queue.percentage);
        const auto* ring = reinterpret_cast<const std::uint32_t*>(queue.ring_base);
        std::size_t end = 0;
        while (ring[end * 16] != 0)
            ++end;
        std::vector<std::uint32_t> types;
        for (std::size_t i = end - count; i < end; ++i)
            types.push_back(ring[i * 16] & 0xff);
        return types;
    }
    [[nodiscard]] std::uint32_t decision(std::size_t launched) const {
        return *work_.guardians[launched].decision;
    }

    static constexpr std::uint32_t dispatch = 2, barrier = 3;
    static constexpr auto level_2 = static_cast<std::uint32_t>(XP_LEVEL_DEACTIVATE);
    static constexpr auto level_1 = static_cast<std::uint32_t>(XP_LEVEL_BLOCK);

    void* streams_[4]{};
    xp_xqueue_t xqueue_{};
    Work work_;
};

TEST_F(DeactivateTest, guarded_commands_on_a_shared_queue_are_skipped_and_launched_again) {
    create();
    submit(XP_COMMAND_GUARDED);
    submit(XP_COMMAND_GUARDED);
    submit(XP_COMMAND_GUARDED);
    *work_.guardians[0].decision = XP_GUARDIAN_RUN; // its first wave was there
    EXPECT_EQ(static_cast<std::uint32_t>(XP_METHOD_GUARDIAN), state().best_method);
    EXPECT_EQ(level_2, suspend());
    EXPECT_EQ(static_cast<std::uint32_t>(XP_METHOD_GUARDIAN), state().held_method);
    EXPECT_EQ(XP_GUARDIAN_RUN, decision(0));
    EXPECT_EQ(XP_GUARDIAN_SKIP, decision(1));
    EXPECT_EQ(XP_GUARDIAN_SKIP, decision(2));
    EXPECT_EQ(1U, state().in_flight);
    EXPECT_EQ(3U, work_.guardians.size());
    EXPECT_EQ((std::vector<std::uint32_t>{dispatch, dispatch, dispatch}), last_types(3));
    resume_and_finish();
    ASSERT_EQ(5U, work_.guardians.size());
    EXPECT_EQ(XP_GUARDIAN_UNDECIDED, decision(3));
    EXPECT_NE(work_.guardians[1].decision, work_.guardians[3].decision);
    EXPECT_NE(work_.guardians[1].launch, work_.guardians[3].launch);
    EXPECT_NE(nullptr, work_.guardians[3].copy);
}

TEST_F(DeactivateTest, idempotent_commands_on_a_shared_queue_are_taken_out_of_it) {
    create();
    submit(XP_COMMAND_IDEMPOTENT);
    submit(XP_COMMAND_IDEMPOTENT);
    ASSERT_EQ(0, hipMemsetAsync(nullptr, 0, 4, streams_[2])); // the neighbour
    submit(XP_COMMAND_IDEMPOTENT);
    EXPECT_EQ(static_cast<std::uint32_t>(XP_METHOD_FLUSH), state().best_method);
    EXPECT_EQ(level_2, suspend());
    EXPECT_EQ(static_cast<std::uint32_t>(XP_METHOD_FLUSH), state().held_method);
    EXPECT_EQ((std::vector<std::uint32_t>{barrier, barrier, dispatch, barrier}), last_types(4));
    EXPECT_EQ(0U, state().in_flight);
    EXPECT_EQ(nullptr, work_.guardians[0].decision);
    resume_and_finish();
    EXPECT_EQ(6U, work_.guardians.size());
    xp_xqueue_stats stats{};
    stats.sz = sizeof stats;
    ASSERT_EQ(0, xp_xqueue_get_stats(xqueue_, &stats));
    EXPECT_EQ(3U, stats.relaunched);
    EXPECT_EQ(0U, stats.hw_failures);
    EXPECT_LT(0U, stats.last_suspend_ns); // the only one
    EXPECT_EQ(stats.max_suspend_ns, stats.last_suspend_ns);
}

TEST_F(DeactivateTest, plain_commands_on_a_shared_queue_can_only_be_blocked) {
    create();
    submit(XP_COMMAND_GUARDED | XP_COMMAND_IDEMPOTENT);
    submit(0);
    const xp_xqueue_state now = state();
    EXPECT_EQ(static_cast<std::uint32_t>(XP_METHOD_NONE), now.best_method);
    EXPECT_NE(std::string::npos, std::string(now.reason).find("share")) << now.reason;
    EXPECT_NE(std::string::npos, std::string(now.reason).find("flushed")) << now.reason;
    EXPECT_EQ(level_1, suspend());
    EXPECT_EQ(XP_GUARDIAN_UNDECIDED, decision(0));
    EXPECT_EQ((std::vector<std::uint32_t>{dispatch, dispatch}), last_types(2));
    resume_and_finish();
    EXPECT_EQ(2U, work_.guardians.size());
}

TEST_F(DeactivateTest, behind_a_plain_command_only_what_follows_is_taken_back) {
    create();
    submit(XP_COMMAND_GUARDED);
    submit(0);
    submit(XP_COMMAND_GUARDED);
    EXPECT_EQ(level_2, suspend());
    EXPECT_EQ(XP_GUARDIAN_UNDECIDED, decision(0));
    EXPECT_EQ(XP_GUARDIAN_SKIP, decision(2));
    resume_and_finish();
    EXPECT_EQ(4U, work_.guardians.size());
}

TEST_F(DeactivateTest, a_command_whose_work_is_not_all_in_its_packets_is_not_flushed) {
    create();
    using Before = void (*)(void* stream);
    for (const Before before : {
             Before([](void* stream) { (void)hipEventRecord(nullptr, stream); }),
             Before([](void* stream) { (void)hipGraphLaunch(nullptr, stream); }),
             Before([](void*) { // by a call that the hook doesn't know
                 static std::uint64_t queue[32];
                 (void)hsa_queue_add_write_index_screlease(queue, 1);
             }),
             Before([](void* stream) {
                 fake_hip()->packets_a_launch = 40; // and the fill
                 (void)hipModuleLaunchKernel(nullptr, 1, 1, 1, 1, 1, 1, 0, stream, nullptr,
                                             nullptr);
             }),
         }) {
        work_.before = before;
        submit(XP_COMMAND_IDEMPOTENT);
        EXPECT_EQ(level_1, suspend());
        EXPECT_EQ(dispatch, last_types(1)[0]);
        resume_and_finish();
    }
    EXPECT_EQ(4U, work_.guardians.size());
}

TEST_F(DeactivateTest, a_command_of_many_kernels_is_flushed) {
    create();
    work_.before = [](void* stream) {
        fake_hip()->packets_a_launch = 39;
        (void)hipModuleLaunchKernel(nullptr, 1, 1, 1, 1, 1, 1, 0, stream, nullptr, nullptr);
    };
    submit(XP_COMMAND_IDEMPOTENT);
    EXPECT_EQ(level_2, suspend());
    EXPECT_EQ(std::vector<std::uint32_t>(40, barrier), last_types(40));
    resume_and_finish();
}

// The packets of the other xqueue come between those of the command.
TEST_F(DeactivateTest, a_command_that_launches_for_another_xqueue_is_not_flushed) {
    static xp_xqueue_t other;
    ASSERT_EQ(0, xp_xqueue_create(streams_[1], nullptr, &other));
    create();
    work_.before = [](void*) {
        const auto put = [](void* stream, void*) { return hipMemsetAsync(nullptr, 0, 4, stream); };
        ASSERT_EQ(0, xp_xqueue_submit(other, put, nullptr, nullptr));
    };
    submit(XP_COMMAND_IDEMPOTENT);
    EXPECT_EQ(level_1, suspend());
    EXPECT_EQ(dispatch, last_types(1)[0]);
    resume_and_finish();
    EXPECT_EQ(0, xp_xqueue_destroy(other));
}

TEST_F(DeactivateTest, hardware_is_taken_for_a_queue_of_its_own) {
    void* own = nullptr;
    ASSERT_EQ(0, xp_stream_create(&own));
    create(XP_METHOD_NONE, 0, own);
    submit(XP_COMMAND_GUARDED | XP_COMMAND_IDEMPOTENT);
    EXPECT_EQ(static_cast<std::uint32_t>(XP_METHOD_HARDWARE), state().best_method);
    EXPECT_EQ(level_2, suspend());
    EXPECT_EQ(XP_GUARDIAN_UNDECIDED, decision(0));
    resume_and_finish();
    EXPECT_EQ(1U, work_.guardians.size());
}

TEST_F(DeactivateTest, the_owner_chooses_the_way) {
    void* own = nullptr;
    ASSERT_EQ(0, xp_stream_create(&own));
    create(XP_METHOD_FLUSH, 0, own);
    submit(XP_COMMAND_GUARDED);
    EXPECT_EQ(level_1, suspend()); // no flush, and nothing else was allowed
    EXPECT_EQ(0, xp_xqueue_resume(xqueue_));
    submit(XP_COMMAND_IDEMPOTENT);
    EXPECT_EQ(level_2, suspend());
    EXPECT_EQ(static_cast<std::uint32_t>(XP_METHOD_FLUSH), state().held_method);
    resume_and_finish();
}

TEST_F(DeactivateTest, leave_to_stop_the_others_comes_last) {
    create(XP_METHOD_NONE, XP_ALLOW_SHARED);
    submit(XP_COMMAND_GUARDED);
    EXPECT_EQ(static_cast<std::uint32_t>(XP_METHOD_GUARDIAN), state().best_method);
    submit(0);
    EXPECT_EQ(static_cast<std::uint32_t>(XP_METHOD_HARDWARE), state().best_method);
    EXPECT_EQ(level_2, suspend());
    EXPECT_EQ(static_cast<std::uint32_t>(XP_METHOD_HARDWARE), state().held_method);
    resume_and_finish();
}

TEST_F(DeactivateTest, a_guarded_command_that_failed_is_not_taken_back) {
    create();
    work_.answer = -EIO;
    xp_command command{sizeof command, launch, &work_, XP_COMMAND_GUARDED, 0, nullptr};
    EXPECT_EQ(-EIO, xp_xqueue_submit_command(xqueue_, &command, nullptr));
    work_.answer = 0;
    EXPECT_EQ(level_1, suspend());
    EXPECT_EQ(0, xp_xqueue_resume(xqueue_));
    submit(XP_COMMAND_GUARDED);
    EXPECT_EQ(level_2, suspend());
    EXPECT_EQ(XP_GUARDIAN_UNDECIDED, decision(0));
    EXPECT_EQ(XP_GUARDIAN_SKIP, decision(1));
    resume_and_finish();
}

TEST_F(DeactivateTest, guardians_are_given_out_in_launch_functions_only) {
    create();
    xp_guardian_t guardian{};
    EXPECT_EQ(-EINVAL, xp_guardian_of_launch(&guardian));
    submit(0);
    EXPECT_EQ(nullptr, work_.guardians[0].decision); // kernels run with it
    EXPECT_EQ(-EINVAL, xp_guardian_of_launch(&guardian));
}

TEST_F(DeactivateTest, a_way_that_does_not_exist_is_refused) {
    create();
    xp_xqueue_options options{};
    options.sz = sizeof options;
    options.deactivate_method = 4;
    xp_xqueue_t other{};
    EXPECT_EQ(-EINVAL, xp_xqueue_create(streams_[1], &options, &other));
}

} // namespace
