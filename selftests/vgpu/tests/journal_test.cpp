// SPDX-License-Identifier: MIT
// The verdict on a run: whether an unmodelled thing may have changed a result.
#include "trace/journal.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdio>
#include <fstream>

namespace vgpu {
namespace {

using Verdict = Journal::Verdict;

TEST(Verdict, a_run_without_unmodelled_things_is_clean_also_when_a_wave_failed) {
    Journal journal;
    journal.count("failed_waves", 1);
    EXPECT_EQ(journal.verdict(), Verdict::clean);
}

TEST(Verdict, a_register_of_the_driver_is_harmless) {
    Journal journal;
    journal.unmodelled_harmless("regs", "read of register A by mmio");
    journal.count("failed_waves", 0);
    EXPECT_EQ(journal.verdict(), Verdict::harmless);
}

TEST(Verdict, an_instruction_that_did_not_run_may_change_results) {
    Journal journal;
    journal.unmodelled_harmless("regs", "read of register A by mmio");
    journal.unmodelled("sq", "VOP1 opcode 55");
    EXPECT_EQ(journal.verdict(), Verdict::results_in_doubt);
}

TEST(Verdict, a_failed_wave_or_stopped_queue_is_not_harmless_beside_an_unmodelled_register) {
    for (const char* counter : {"failed_waves", "queue_errors", "hung_queues"}) {
        Journal journal;
        journal.unmodelled_harmless("regs", "write of register A by mmio");
        journal.count(counter, 1);
        EXPECT_EQ(journal.verdict(), Verdict::results_in_doubt) << counter;
    }
}

TEST(Verdict, the_summary_lists_harmless_things_also_on_their_own) {
    Journal journal;
    journal.unmodelled_harmless("regs", "A");
    journal.unmodelled("sq", "B");
    const std::string path = testing::TempDir() + "verdict.json";
    ASSERT_TRUE(journal.write_summary(path));
    const auto summary = nlohmann::json::parse(std::ifstream(path));
    EXPECT_EQ(summary["unmodelled"], nlohmann::json({"regs: A", "sq: B"}));
    EXPECT_EQ(summary["unmodelled_harmless"], nlohmann::json({"regs: A"}));
    std::remove(path.c_str());
}

TEST(Summary, has_the_intervals_of_each_process) {
    Journal journal;
    journal.interval("busy_intervals/32769", 5, 17);
    journal.interval("busy_intervals/32769", 20, 30);
    const std::string path = testing::TempDir() + "intervals.json";
    ASSERT_TRUE(journal.write_summary(path));
    const auto summary = nlohmann::json::parse(std::ifstream(path));
    EXPECT_EQ(summary["busy_intervals"]["32769"], nlohmann::json({{5, 17}, {20, 30}}));
    std::remove(path.c_str());
}

} // namespace
} // namespace vgpu
