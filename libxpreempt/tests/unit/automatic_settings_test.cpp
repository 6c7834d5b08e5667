// SPDX-License-Identifier: MIT
// XSched's environment variables.
#include "capi/automatic.hpp"
#include "capi/policies.hpp"
#include "hook/unknown_variables.hpp"

#include <array>
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <string>
#include <xpreempt/sched.h>

namespace {

using xpreempt::capi::AutomaticSettings;
using xpreempt::capi::decide_of;
using xpreempt::capi::read_automatic_settings;
using xpreempt::xqueue::Level;

std::map<std::string, std::string, std::less<>> variables;

std::set<std::string> asked;

const char* lookup(const char* name) {
    asked.insert(name);
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
}

struct Read {
    AutomaticSettings settings;
    std::string complaints;
};

Read read(std::map<std::string, std::string, std::less<>> environment) {
    variables = std::move(environment);
    testing::internal::CaptureStderr();
    const AutomaticSettings settings = read_automatic_settings(lookup);
    return {settings, testing::internal::GetCapturedStderr()};
}

TEST(AutomaticSettingsTest, defaults_are_those_of_xsched) {
    EXPECT_FALSE(read({}).settings.streams);
    EXPECT_FALSE(read({}).settings.policy);
    const auto streams = read({{"XSCHED_AUTO_XQUEUE", "On"}}).settings.streams;
    ASSERT_TRUE(streams);
    EXPECT_EQ(Level::block, streams->level);
    EXPECT_EQ(16U, streams->threshold);
    EXPECT_EQ(8U, streams->batch);
    EXPECT_EQ(0, streams->priority);
}

TEST(AutomaticSettingsTest, a_batch_fits_into_its_threshold) {
    const auto few = read({{"XSCHED_AUTO_XQUEUE", "1"}, {"XSCHED_AUTO_XQUEUE_THRESHOLD", "4"}});
    EXPECT_EQ(4U, few.settings.streams->batch);
    EXPECT_EQ("", few.complaints);
    const auto both = read({{"XSCHED_AUTO_XQUEUE", "1"},
                            {"XSCHED_AUTO_XQUEUE_THRESHOLD", "4"},
                            {"XSCHED_AUTO_XQUEUE_BATCH_SIZE", "5"}});
    EXPECT_EQ(4U, both.settings.streams->batch);
    EXPECT_EQ("libxpreempt: XSCHED_AUTO_XQUEUE_BATCH_SIZE=5: use a number from 1 to 4; "
              "taken as 4\n",
              both.complaints);
}

TEST(AutomaticSettingsTest, a_utilization_is_a_percentage) {
    const auto streams_with = [](const char* utilization) {
        return read({{"XSCHED_AUTO_XQUEUE", "1"}, {"XSCHED_AUTO_XQUEUE_UTILIZATION", utilization}});
    };
    EXPECT_EQ(100U, read({{"XSCHED_AUTO_XQUEUE", "1"}}).settings.streams->attributes.utilization);
    EXPECT_EQ(75U, streams_with("75").settings.streams->attributes.utilization);
    EXPECT_EQ(0U, streams_with("0").settings.streams->attributes.utilization);
    const auto wrong = streams_with("101");
    EXPECT_EQ(100U, wrong.settings.streams->attributes.utilization);
    EXPECT_EQ("libxpreempt: XSCHED_AUTO_XQUEUE_UTILIZATION=101: use a number from 0 to 100; "
              "taken as 100\n",
              wrong.complaints);
}

TEST(AutomaticSettingsTest, deadline_and_laxity_are_in_microseconds) {
    using Attributes = xpreempt::xqueue::Attributes;
    const auto attributes_with = [](const char* name, const char* value) {
        return read({{"XSCHED_AUTO_XQUEUE", "1"}, {name, value}}).settings.streams->attributes;
    };
    EXPECT_EQ(std::chrono::milliseconds(16),
              attributes_with("XSCHED_AUTO_XQUEUE_DEADLINE", "16000").relative_deadline);
    EXPECT_EQ(std::chrono::microseconds(1), attributes_with("XSCHED_AUTO_XQUEUE_LAXITY", "1").lax);
    EXPECT_EQ(Attributes{}, attributes_with("XSCHED_AUTO_XQUEUE_LAXITY", "0"));
    const auto wrong = read({{"XSCHED_AUTO_XQUEUE", "1"}, {"XSCHED_AUTO_XQUEUE_DEADLINE", "soon"}});
    EXPECT_EQ(Attributes{}, wrong.settings.streams->attributes);
    EXPECT_EQ("libxpreempt: XSCHED_AUTO_XQUEUE_DEADLINE=soon: use a number of microseconds from 1 "
              "to 3600000000; ignored\n",
              wrong.complaints);
}

TEST(AutomaticSettingsTest, what_cannot_be_honoured_is_said) {
    EXPECT_EQ("libxpreempt: XSCHED_AUTO_XQUEUE=yes: use ON or OFF; taken as OFF\n",
              read({{"XSCHED_AUTO_XQUEUE", "yes"}}).complaints);
    const auto level = read({{"XSCHED_AUTO_XQUEUE", "1"}, {"XSCHED_AUTO_XQUEUE_LEVEL", "2x"}});
    EXPECT_EQ(Level::block, level.settings.streams->level);
    EXPECT_EQ("libxpreempt: XSCHED_AUTO_XQUEUE_LEVEL=2x: use a number from 1 to 3; taken as 1\n",
              level.complaints);
    const auto policy = read({{"XSCHED_POLICY", "AWF"}, {"XSCHED_SCHEDULER", "LCL"}});
    EXPECT_FALSE(policy.settings.policy);
    EXPECT_EQ("libxpreempt: XSCHED_POLICY=AWF: use HPF, HHPF, FIFO, RR, CFS, UP, PUP, KEDF, LAX or "
              "MLFQ; nothing is scheduled\n",
              policy.complaints);
    const auto other = read({{"XSCHED_SCHEDULER", "GLOBAL"}});
    EXPECT_FALSE(other.settings.policy);
    EXPECT_FALSE(other.settings.by_daemon);
    EXPECT_EQ("libxpreempt: XSCHED_SCHEDULER=GLOBAL: use GLB, LCL or APP; nothing is scheduled\n",
              other.complaints);
}

TEST(AutomaticSettingsTest, a_policy_or_the_local_scheduler_schedules) {
    EXPECT_TRUE(read({{"XSCHED_POLICY", "HPF"}, {"XSCHED_SCHEDULER", "APP"}}).settings.policy);
    EXPECT_TRUE(read({{"XSCHED_SCHEDULER", "LCL"}}).settings.policy);
    EXPECT_EQ(std::uint32_t{XP_POLICY_HIGHEST_PRIORITY_FIRST},
              read({{"XSCHED_SCHEDULER", "LCL"}}).settings.policy);
    for (const char* name :
         {"HPF", "HHPF", "FIFO", "RR", "CFS", "UP", "PUP", "KEDF", "LAX", "MLFQ"}) {
        const auto named = read({{"XSCHED_POLICY", name}});
        EXPECT_TRUE(named.settings.policy) << name;
        EXPECT_TRUE(decide_of(named.settings.policy.value(), {})) << name;
        EXPECT_EQ("", named.complaints);
    }
    EXPECT_FALSE(read({{"XSCHED_SCHEDULER", "APP"}}).settings.policy);
}

TEST(AutomaticSettingsTest, a_time_slice_is_of_the_policy) {
    using std::chrono::microseconds;
    EXPECT_EQ(microseconds(0), read({{"XSCHED_POLICY", "RR"}}).settings.of_policy.slice);
    const auto slice_of = [](const char* slice) {
        return read({{"XSCHED_POLICY", "RR"}, {"XSCHED_AUTO_XQUEUE_TIMESLICE", slice}});
    };
    EXPECT_EQ(microseconds(20000), slice_of("20000").settings.of_policy.slice);
    const auto wrong = slice_of("99");
    EXPECT_EQ(microseconds(5000), wrong.settings.of_policy.slice);
    EXPECT_EQ("libxpreempt: XSCHED_AUTO_XQUEUE_TIMESLICE=99: use a number from 100 to 10000000; "
              "taken as 5000\n",
              wrong.complaints);
}

TEST(AutomaticSettingsTest, the_number_of_deadlines_is_of_the_policy) {
    EXPECT_EQ(1U, read({}).settings.of_policy.k);
    EXPECT_EQ(4U, read({{"XSCHED_AUTO_XQUEUE_KDEADLINE", "4"}}).settings.of_policy.k);
    EXPECT_EQ(1U, read({{"XSCHED_AUTO_XQUEUE_KDEADLINE", "0"}}).settings.of_policy.k);
}

TEST(AutomaticSettingsTest, the_global_scheduler_is_the_daemon) {
    const auto global = read({{"XSCHED_SCHEDULER", "GLB"}});
    EXPECT_TRUE(global.settings.by_daemon);
    EXPECT_FALSE(global.settings.policy);
    EXPECT_EQ("", global.complaints);
    const auto local = read({{"XSCHED_POLICY", "HPF"}, {"XSCHED_SCHEDULER", "GLB"}});
    EXPECT_TRUE(local.settings.policy);
    EXPECT_FALSE(local.settings.by_daemon);
}

// Empty: it is known.
std::string unknown(const std::string& entry) {
    std::array<char, 256> line{};
    return xpreempt::hook::describe_unknown(entry.c_str(), line.data(), line.size()) ? line.data()
                                                                                     : "";
}

TEST(UnknownVariablesTest, each_that_is_read_is_known) {
    asked.clear();
    read({{"XSCHED_AUTO_XQUEUE", "ON"}, {"XSCHED_AUTO_XQUEUE_TIMESLICE", "1000"}});
    EXPECT_EQ(12U, asked.size());
    for (const std::string& name : asked)
        EXPECT_EQ("", unknown(name + "=1"));
}

TEST(UnknownVariablesTest, those_of_xsched_without_effect_here_are_known) {
    for (const char* name :
         {"XSCHED_HIP_LIB", "XSCHED_HIP_COMGR_LIB", "XSCHED_ACL_CBLAS_LIB",
          "XSCHED_ACL_NNOP_BASE_LIB", "XSCHED_ACL_OP_API_LIB", "XSCHED_ACL_OP_COMPILER_LIB",
          "XSCHED_CUDA_LV3_IMPL", "XSCHED_SCHEDULER_SUSPEND_WAIT_IDLE"})
        EXPECT_EQ("", unknown(std::string(name) + "=1"));
}

TEST(UnknownVariablesTest, others_are_no_matter) {
    EXPECT_EQ("", unknown("PATH=/bin"));
    EXPECT_EQ("", unknown("XSCHEDULE=1"));
    EXPECT_EQ("", unknown("XSCHED_WITHOUT_A_VALUE"));
}

std::string meant_by(const std::string& entry) {
    const std::string line = unknown(entry);
    const std::size_t begin = line.find("; use ") + 6;
    return line.substr(begin, line.find(' ', begin) - begin);
}

TEST(UnknownVariablesTest, the_nearest_is_named) {
    EXPECT_EQ("XSCHED_AUTO_XQUEUE", meant_by("XSCHED_AUTO_XQEUE=ON"));
    EXPECT_EQ("XSCHED_AUTO_XQUEUE_PRIORITY", meant_by("XSCHED_AUTO_XQUEUE_PRIO=1"));
    EXPECT_EQ("XSCHED_AUTO_XQUEUE_LEVEL", meant_by("XSCHED_AUTO_XQUEUE_LVL=3"));
    EXPECT_EQ("XSCHED_SCHEDULER", meant_by("XSCHED_SCHEDULR=x"));
}

TEST(UnknownVariablesTest, a_policy_or_a_scheduler_says_which_was_meant) {
    EXPECT_EQ("XSCHED_POLICY", meant_by("XSCHED_SCHED=HPF"));
    EXPECT_EQ("XSCHED_SCHEDULER", meant_by("XSCHED_MODE=GLB"));
    EXPECT_EQ("libxpreempt-hook: XSCHED_SCHED has no effect: XSched has no such variable; use "
              "XSCHED_POLICY or another of xpreempt-xsched(7)\n",
              unknown("XSCHED_SCHED=HPF"));
}

TEST(UnknownVariablesTest, a_long_name_is_cut) {
    EXPECT_NE("", unknown("XSCHED_" + std::string(100'000, 'A') + "=1"));
}

} // namespace
