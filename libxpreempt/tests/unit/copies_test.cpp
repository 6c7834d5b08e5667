// SPDX-License-Identifier: MIT
// The hook's list of copies that an engine has not finished.
#include "hook/table.hpp"

#include <array>
#include <cstdint>
#include <gtest/gtest.h>
#include <vector>

extern "C" {
int hsa_amd_memory_async_copy(void* to, std::uint64_t to_agent, const void* from,
                              std::uint64_t from_agent, std::size_t bytes, std::uint32_t num_waits,
                              const std::uint64_t* waits, std::uint64_t completion);
}

namespace {

using namespace xpreempt::hook;

// amd_signal_t: the value follows the kind.
using Signal = std::array<std::int64_t, 8>;

std::uint64_t handle_of(const Signal& signal) {
    return reinterpret_cast<std::uintptr_t>(signal.data());
}

void copy(const Signal& completion, const std::vector<std::uint64_t>& waits = {}) {
    EXPECT_EQ(0, hsa_amd_memory_async_copy(
                     nullptr, 0, nullptr, 0, 4, static_cast<std::uint32_t>(waits.size()),
                     waits.empty() ? nullptr : waits.data(), handle_of(completion)));
}

std::vector<CopyRecord> copies() {
    std::vector<CopyRecord> records(2048);
    records.resize(xpreempt_hook_table()->copies(records.data(), 2048));
    return records;
}

class CopiesTest : public ::testing::Test {
protected:
    ~CopiesTest() override {
        for (Signal& signal : signals_)
            signal[1] = 0;
        (void)copies(); // forgets them
    }
    void make(std::size_t count) { signals_.assign(count, Signal{0, 1}); }

    std::vector<Signal> signals_;
};

TEST_F(CopiesTest, are_listed_with_their_signals_until_they_end) {
    make(4);
    copy(signals_[0]);
    copy(signals_[1], {handle_of(signals_[2]), handle_of(signals_[3])});
    auto records = copies();
    ASSERT_EQ(2U, records.size());
    EXPECT_EQ(handle_of(signals_[0]), records[0].completion);
    EXPECT_EQ(0U, records[0].num_waits);
    EXPECT_EQ(nullptr, records[0].stream) << "no call of HIP's has asked for it";
    ASSERT_EQ(2U, records[1].num_waits);
    EXPECT_EQ(handle_of(signals_[2]), records[1].waits[0]);
    EXPECT_EQ(handle_of(signals_[3]), records[1].waits[1]);
    signals_[0][1] = 0;
    records = copies();
    ASSERT_EQ(1U, records.size());
    EXPECT_EQ(handle_of(signals_[1]), records[0].completion);
}

TEST_F(CopiesTest, of_one_signal_are_the_last_one) {
    make(3);
    copy(signals_[0]);
    copy(signals_[1]);
    copy(signals_[0], {handle_of(signals_[2])});
    const auto records = copies();
    ASSERT_EQ(2U, records.size());
    EXPECT_EQ(handle_of(signals_[1]), records[0].completion);
    EXPECT_EQ(handle_of(signals_[0]), records[1].completion);
    EXPECT_EQ(1U, records[1].num_waits);
}

TEST_F(CopiesTest, beyond_the_list_replace_the_oldest) {
    constexpr std::size_t room = 512;
    make(room + 1);
    for (const Signal& signal : signals_)
        copy(signal);
    const auto records = copies();
    ASSERT_EQ(room, records.size());
    EXPECT_EQ(handle_of(signals_[1]), records.front().completion);
    EXPECT_EQ(handle_of(signals_[room]), records.back().completion);
}

} // namespace
