// SPDX-License-Identifier: MIT
// Streams of the fake ROCm for tests of the C++ face.
//
// Run with FAKE_DRIVER=patched or FAKE_DRIVER=stock.
#pragma once

#include <xpreempt/xpreempt.hpp>

#include "fake/fake_rocm.hpp"

#include <cstdlib>
#include <gtest/gtest.h>
#include <string>
#include <string_view>

extern "C" {
int hipMemsetAsync(void* to, int value, std::size_t bytes, void* stream);
int hipStreamCreate(void** stream);
}

namespace test {

class FaceTest : public ::testing::Test {
protected:
    FaceTest() { fake_choose_driver(); }
    ~FaceTest() override { fake_hip()->running[0] = nullptr; }

    // A stream without an owner. The first and the third of a test share a queue.
    static xpreempt::StreamRef new_stream() {
        void* stream = nullptr;
        EXPECT_EQ(0, hipStreamCreate(&stream));
        EXPECT_EQ(0, hipMemsetAsync(nullptr, 0, 4, stream));
        return {stream};
    }
    static bool runs(std::uint32_t kfd_queue_id) {
        const fake::Queue& queue = fake_driver()->queues[kfd_queue_id];
        return !queue.held && queue.percentage == 100;
    }
    static bool runs(xpreempt::StreamRef stream) { return runs(queue_id(stream)); }
    static std::uint32_t queue_id(xpreempt::StreamRef stream) {
        const auto info = stream.query();
        EXPECT_TRUE(info) << info.error().what();
        return info ? info->kfd_queue_id : 0;
    }
    static bool contains(std::string_view text, std::string_view part) {
        return text.find(part) != std::string_view::npos;
    }
};

// The value; a test that gets an error ends here.
template <typename Value> Value must(xpreempt::Expected<Value> expected) {
    if (!expected) {
        ADD_FAILURE() << expected.error().what();
        std::abort();
    }
    if constexpr (!std::is_void_v<Value>)
        return std::move(*expected);
}

template <typename Value> std::errc errc_of(const xpreempt::Expected<Value>& expected) {
    return expected ? std::errc{} : static_cast<std::errc>(expected.error().errno_value());
}

} // namespace test
