// SPDX-License-Identifier: MIT
// Doorbells that the GPU itself writes.
#include "model/nbio/doorbell_window.hpp"

#include <gtest/gtest.h>

#include <cstring>

namespace vgpu {
namespace {

template <class T> void store(DoorbellWindow& window, std::uint64_t offset, T value) {
    std::byte* at = window.at(offset, sizeof value);
    ASSERT_NE(at, nullptr);
    std::memcpy(at, &value, sizeof value);
}

TEST(DoorbellWindow, tells_each_write_once) {
    DoorbellWindow window;
    EXPECT_TRUE(window.take().empty());
    store(window, 0x4010, std::uint64_t{0x1'0000'0005});
    store(window, 0x9008, std::uint32_t{7});
    store(window, 0x9014, std::uint32_t{8});
    const auto writes = window.take();
    ASSERT_EQ(writes.size(), 3U);
    EXPECT_EQ(writes[0].dword, 0x1004U);
    EXPECT_EQ(writes[0].value, 0x1'0000'0005U);
    EXPECT_EQ(writes[1].dword, 0x2402U);
    EXPECT_EQ(writes[1].value, 7U);
    EXPECT_EQ(writes[2].dword, 0x2405U);
    EXPECT_EQ(writes[2].value, 8U);
    EXPECT_TRUE(window.take().empty());
}

TEST(DoorbellWindow, tells_a_repeated_value_again) {
    DoorbellWindow window;
    for (unsigned i = 0; i < 2; ++i) {
        store(window, 8, std::uint64_t{3});
        ASSERT_EQ(window.take().size(), 1U);
    }
}

TEST(DoorbellWindow, has_no_memory_across_pages) {
    DoorbellWindow window;
    EXPECT_EQ(window.at(0x1ffc, 8), nullptr);
    EXPECT_NE(window.at(0x1ff8, 8), nullptr);
}

} // namespace
} // namespace vgpu
