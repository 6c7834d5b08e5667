// SPDX-License-Identifier: MIT
// Structs of older and newer programs, and sentences about arguments that were refused.
//
// Run with FAKE_DRIVER=patched or FAKE_DRIVER=stock.
#include <xpreempt/xpreempt.h>

#include "fake/fake_rocm.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>
#include <gtest/gtest.h>
#include <string>
#include <vector>

extern "C" {
int hipStreamCreate(void** stream);
int hipMemsetAsync(void* to, int value, std::size_t bytes, void* stream);
}

namespace {

// A struct of any size, between bytes that must stay as they are.
class Block {
public:
    explicit Block(std::size_t bytes) : bytes_(bytes), memory_(guard + bytes + guard, 0xa5) {
        std::fill_n(struct_bytes(), bytes, static_cast<unsigned char>(0));
        std::memcpy(struct_bytes(), &bytes, sizeof bytes);
    }
    unsigned char* struct_bytes() { return memory_.data() + guard; }
    void* get() { return struct_bytes(); }
    [[nodiscard]] bool guards_are_whole() const {
        for (std::size_t i = 0; i < guard; ++i)
            if (memory_[i] != 0xa5 || memory_[guard + bytes_ + i] != 0xa5)
                return false;
        return true;
    }

private:
    static constexpr std::size_t guard = 64;
    std::size_t bytes_;
    std::vector<unsigned char> memory_;
};

struct Case {
    const char* name;
    std::vector<std::size_t> sizes; // of all versions, oldest first: they never change
    bool is_input;
    std::function<int(void*)> call;
};

class ArgumentsTest : public ::testing::Test {
protected:
    void SetUp() override {
        fake_choose_driver();
        ASSERT_EQ(0, hipStreamCreate(&stream));
        ASSERT_EQ(0, hipMemsetAsync(nullptr, 0, 4, stream));
        ASSERT_EQ(0, xp_xqueue_create(stream, nullptr, &xqueue)) << xp_last_detail();
    }
    void TearDown() override { EXPECT_EQ(0, xp_xqueue_destroy(xqueue)); }
    static bool says(const std::string& words) {
        return std::string(xp_last_detail()).find(words) != std::string::npos;
    }

    void* stream = nullptr;
    xp_xqueue_t xqueue{};
    static int launch(void* on, void*) { return hipMemsetAsync(nullptr, 0, 4, on); }

    const std::vector<Case> cases = {
        {"xp_probe_info",
         {224},
         false,
         [](void* s) { return xp_probe(static_cast<xp_probe_info*>(s)); }},
        {"xp_stream_info",
         {248, 272},
         false,
         [this](void* s) { return xp_stream_query(stream, static_cast<xp_stream_info*>(s)); }},
        {"xp_xqueue_state",
         {264},
         false,
         [this](void* s) { return xp_xqueue_query(xqueue, static_cast<xp_xqueue_state*>(s)); }},
        {"xp_xqueue_stats",
         {128},
         false,
         [this](void* s) { return xp_xqueue_get_stats(xqueue, static_cast<xp_xqueue_stats*>(s)); }},
        {"xp_sched_state",
         {64},
         false,
         [](void* s) { return xp_sched_query(static_cast<xp_sched_state*>(s)); }},
        {"xp_sched_attributes",
         {32},
         false,
         [this](void* s) {
             return xp_xqueue_get_attributes(xqueue, static_cast<xp_sched_attributes*>(s));
         }},
        {"xp_sched_attributes",
         {32},
         true,
         [this](void* s) {
             return xp_xqueue_set_attributes(xqueue, static_cast<const xp_sched_attributes*>(s));
         }},
        {"xp_sched_parameters",
         {24},
         true,
         [](void* s) {
             const int error = xp_sched_start_with(XP_POLICY_ROUND_ROBIN,
                                                   static_cast<const xp_sched_parameters*>(s));
             EXPECT_EQ(error, error == 0 ? xp_sched_stop() : error);
             return error;
         }},
        {"xp_xqueue_options",
         {40},
         true,
         [this](void* s) {
             xp_xqueue_t made{};
             const int error =
                 xp_xqueue_create(nullptr, static_cast<const xp_xqueue_options*>(s), &made);
             EXPECT_EQ(error, error == 0 ? xp_xqueue_destroy(made) : error);
             return error;
         }},
        {"xp_command",
         {32},
         true,
         [this](void* s) {
             static_cast<xp_command*>(s)->launch = launch;
             return xp_xqueue_submit_command(xqueue, static_cast<const xp_command*>(s), nullptr);
         }},
        {"xp_control_options",
         {16},
         true,
         [](void* s) {
             const int error = xp_control_open(static_cast<const xp_control_options*>(s));
             EXPECT_EQ(error, error == 0 ? xp_control_close() : error);
             return error;
         }},
    };
};

TEST_F(ArgumentsTest, programs_of_every_older_version_work) {
    for (const Case& one : cases)
        for (const std::size_t bytes : one.sizes) {
            Block block(bytes);
            EXPECT_EQ(0, one.call(block.get())) << one.name << ": " << xp_last_detail();
            EXPECT_TRUE(block.guards_are_whole()) << one.name;
        }
}

TEST_F(ArgumentsTest, less_than_the_first_version_is_refused_by_name) {
    for (const Case& one : cases) {
        std::size_t bytes = one.sizes.front() - 1;
        Block block(one.sizes.front());
        std::memcpy(block.get(), &bytes, sizeof bytes);
        EXPECT_EQ(-EINVAL, one.call(block.get())) << one.name;
        EXPECT_TRUE(says(std::string("sz of struct ") + one.name + " is ")) << xp_last_detail();
        bytes = std::size_t{1} << 40U; // not set
        std::memcpy(block.get(), &bytes, sizeof bytes);
        EXPECT_EQ(-E2BIG, one.call(block.get())) << one.name;
        EXPECT_TRUE(block.guards_are_whole()) << one.name;
    }
}

TEST_F(ArgumentsTest, what_a_newer_program_knows_must_be_0) {
    for (const Case& one : cases) {
        Block block(one.sizes.back() + 24);
        unsigned char* tail = block.struct_bytes() + one.sizes.back();
        if (!one.is_input)
            std::memset(tail, 0xff, 24);
        EXPECT_EQ(0, one.call(block.get())) << one.name << ": " << xp_last_detail();
        for (int i = 0; i < 24; ++i)
            EXPECT_EQ(0, tail[i]) << one.name;
        EXPECT_TRUE(block.guards_are_whole()) << one.name;
        if (!one.is_input)
            continue;
        tail[23] = 1;
        EXPECT_EQ(-E2BIG, one.call(block.get())) << one.name;
        EXPECT_TRUE(says(one.name)) << xp_last_detail();
        EXPECT_TRUE(says("a newer libxpreempt is needed")) << xp_last_detail();
    }
}

TEST_F(ArgumentsTest, a_value_out_of_range_is_named_with_its_range) {
    xp_xqueue_options options{};
    options.sz = sizeof options;
    options.batch = 32;
    xp_xqueue_t made{};
    EXPECT_EQ(-EINVAL, xp_xqueue_create(stream, &options, &made));
    EXPECT_STREQ("batch is 32: it must be at most threshold, which is 16", xp_last_detail());
    options = {};
    options.sz = sizeof options;
    options.max_level = 4;
    EXPECT_EQ(-EINVAL, xp_xqueue_create(stream, &options, &made));
    EXPECT_STREQ("max_level is 4: it must be from 0 to 3", xp_last_detail());
    EXPECT_EQ(-EINVAL, xp_xqueue_set_priority(xqueue, 300));
    EXPECT_STREQ("priority is 300: it must be from -255 to 255", xp_last_detail());
    EXPECT_EQ(-EINVAL, xp_xqueue_suspend(xqueue, 0x80, nullptr));
    EXPECT_STREQ("flags is 0x80: this library supports only 0x307", xp_last_detail());
    EXPECT_EQ(-EINVAL, xp_xqueue_submit(xqueue, nullptr, nullptr, nullptr));
    EXPECT_STREQ("launch is NULL", xp_last_detail());
    EXPECT_EQ(-EINVAL, xp_stream_query(stream, nullptr));
    EXPECT_STREQ("xp_stream_info is NULL", xp_last_detail());
}

// The default of batch is 8.
TEST_F(ArgumentsTest, a_lower_threshold_lowers_the_batch) {
    EXPECT_EQ(0, xp_xqueue_set_launch_config(xqueue, 4, 0)) << xp_last_detail();
    xp_xqueue_state state{};
    state.sz = sizeof state;
    ASSERT_EQ(0, xp_xqueue_query(xqueue, &state));
    EXPECT_EQ(4U, state.threshold);
    EXPECT_EQ(4U, state.batch);
    EXPECT_EQ(-EINVAL, xp_xqueue_set_launch_config(xqueue, 0, 5));
    EXPECT_STREQ("batch is 5: it must be at most threshold, which is 4", xp_last_detail());
}

} // namespace
