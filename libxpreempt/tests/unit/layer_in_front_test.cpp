// SPDX-License-Identifier: MIT
// A process in which another library is between the program and the hook.
#include "fake/fake_rocm.hpp"

#include <cerrno>
#include <gtest/gtest.h>
#include <xpreempt/stream.h>

extern "C" {
int hipStreamCreate(void** stream);
int hipMemsetAsync(void* to, int value, std::size_t bytes, void* stream);
}

namespace {

TEST(LayerInFront, hides_the_program_s_calls_but_not_those_of_the_library) {
    void* stream = nullptr;
    ASSERT_EQ(0, hipStreamCreate(&stream));
    ASSERT_EQ(0, hipMemsetAsync(nullptr, 0, 4, stream));
    xp_stream_info info{};
    info.sz = sizeof info;
    ASSERT_EQ(-ENOENT, xp_stream_query(stream, &info)) << "the layer calls HIP past the hook";

    ASSERT_EQ(0, xp_stream_touch(stream));
    EXPECT_EQ(0, xp_stream_query(stream, &info)) << xp_last_detail();
    EXPECT_EQ(1U, info.num_sharing);
}

} // namespace
