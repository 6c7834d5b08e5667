// SPDX-License-Identifier: MIT
// The hook alone, as built, on the fake ROCm: its tables at the end of ROCm.
#include "hook/table.hpp"

#include <cstdint>
#include <gtest/gtest.h>
#include <sys/mman.h>

extern "C" {
int hsa_amd_memory_async_copy(void* to, std::uint64_t to_agent, const void* from,
                              std::uint64_t from_agent, std::size_t bytes, std::uint32_t num_waits,
                              const std::uint64_t* waits, std::uint64_t completion);
int hsa_shut_down();
}

namespace {

using namespace xpreempt::hook;

const Table& table() {
    return *xpreempt_hook_table();
}
// amd_signal_t in a page of its own.
class SignalPage {
public:
    SignalPage()
        : words_(static_cast<std::int64_t*>(
              mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
        words_[1] = 1; // its value
    }
    // Its address is not used again: the next signal is another one.
    ~SignalPage() { mprotect(words_, bytes, PROT_NONE); }
    SignalPage(const SignalPage&) = delete;
    SignalPage& operator=(const SignalPage&) = delete;
    SignalPage(SignalPage&&) = delete;
    SignalPage& operator=(SignalPage&&) = delete;

    void copy() const {
        EXPECT_EQ(0, hsa_amd_memory_async_copy(nullptr, 0, nullptr, 0, 4, 0, nullptr,
                                               reinterpret_cast<std::uintptr_t>(words_)));
    }
    void complete() { words_[1] = 0; }

private:
    static constexpr std::size_t bytes = 4096;
    std::int64_t* words_;
};

TEST(Copies, end_with_the_rocr_that_makes_them) {
    {
        const SignalPage of_first;
        of_first.copy();
        EXPECT_EQ(0, hsa_shut_down());
    }
    SignalPage of_second;
    of_second.copy();
    CopyRecord record{};
    EXPECT_EQ(1U, table().copies(&record, 1));
    of_second.complete();
    EXPECT_EQ(0U, table().copies(&record, 1));
}

} // namespace
