// SPDX-License-Identifier: MIT
// The hook's own functions for streams and for launches whose stream is not a parameter.
#include "hook/table.hpp"

#include <array>
#include <cstdint>
#include <gtest/gtest.h>
#include <string>
#include <vector>

struct dim3 { // NOLINT(readability-identifier-naming): HIP's name, a part of that of a function
    std::uint32_t x, y, z;
};
struct ihipStream_t;
namespace hip_impl {
void hipLaunchKernelGGLImpl(std::uintptr_t function, const dim3& grid, const dim3& block,
                            std::uint32_t lds_bytes, ihipStream_t* stream, void** arguments);
}
extern "C" {
int hipStreamCreate(void** stream);
int hipStreamCreateWithPriority(void** stream, unsigned flags, int priority);
int hipExtStreamCreateWithCUMask(void** stream, unsigned words, const unsigned* mask);
int hipStreamDestroy(void* stream);
int hipConfigureCall(dim3 grid, dim3 block, std::size_t lds_bytes, void* stream);
int hipLaunchByPtr(const void* function);
int hipLaunchKernelExC(const void* config, const void* function, void** arguments);
int hipDrvLaunchKernelEx(const void* config, void* function, void** arguments, void** extra);
}

namespace {

using namespace xpreempt::hook;

struct Shown {
    std::string name;
    CallClass call_class;
    const void* stream;
};
std::vector<Shown> shown;
std::vector<int> answers;

void before(const Call* call) {
    shown.push_back({call->name, call->call_class, call->stream});
}
void after(const Call* /*call*/, int error) {
    answers.push_back(error);
}

const Table& table() {
    return *xpreempt_hook_table();
}

class StreamCallsTest : public ::testing::Test {
protected:
    StreamCallsTest() {
        shown.clear();
        answers.clear();
        EXPECT_EQ(0, hipStreamCreate(&stream_));
        for (const CallClass each : {CallClass::launch, CallClass::stream_create})
            gate_.classes |= std::uint64_t{1} << static_cast<unsigned>(each);
        table().set_gate(&gate_);
    }
    ~StreamCallsTest() override {
        table().set_gate(nullptr);
        EXPECT_EQ(0, hipStreamDestroy(stream_));
    }

    // The call is shown once, with the stream, before and after.
    void expect_shown(const char* name) const {
        ASSERT_EQ(1U, shown.size());
        EXPECT_EQ(name, shown[0].name);
        EXPECT_EQ(CallClass::launch, shown[0].call_class);
        EXPECT_EQ(stream_, shown[0].stream);
        EXPECT_EQ(std::vector<int>{0}, answers);
    }
    // Its packet is one of the stream's.
    void expect_packet() const {
        CallPackets packets{};
        table().call_packets(&packets);
        QueueRecord queue{};
        ASSERT_EQ(0, table().stream_queue(stream_, &queue));
        EXPECT_EQ(queue.hsa_queue, packets.hsa_queue);
        EXPECT_EQ(1U, packets.count);
    }
    // hipLaunchConfig_t, of which only the stream counts.
    [[nodiscard]] std::array<std::uintptr_t, 8> config() const {
        return {0, 0, 0, 0, reinterpret_cast<std::uintptr_t>(stream_)};
    }

    void* stream_ = nullptr;
    Gate gate_{sizeof(Gate), 0, 0, before, after};
};

TEST_F(StreamCallsTest, a_configured_launch_is_one_of_the_configured_stream) {
    ASSERT_EQ(0, hipConfigureCall({1, 1, 1}, {1, 1, 1}, 0, stream_));
    ASSERT_EQ(0, hipLaunchByPtr(nullptr));
    expect_shown("hipLaunchByPtr");
    expect_packet();
}

TEST_F(StreamCallsTest, a_failed_configuration_changes_nothing) {
    void* other = nullptr;
    ASSERT_EQ(0, hipStreamCreate(&other));
    shown.clear();
    answers.clear();
    ASSERT_EQ(0, hipConfigureCall({1, 1, 1}, {1, 1, 1}, 0, stream_));
    ASSERT_NE(0, hipConfigureCall({0, 1, 1}, {1, 1, 1}, 0, other));
    ASSERT_EQ(0, hipLaunchByPtr(nullptr));
    expect_shown("hipLaunchByPtr");
    EXPECT_EQ(0, hipStreamDestroy(other));
}

TEST_F(StreamCallsTest, a_launch_with_a_configuration_is_one_of_its_stream) {
    ASSERT_EQ(0, hipLaunchKernelExC(config().data(), nullptr, nullptr));
    expect_shown("hipLaunchKernelExC");
    expect_packet();
}

TEST_F(StreamCallsTest, a_driver_launch_with_a_configuration_is_one_of_its_stream) {
    ASSERT_EQ(0, hipDrvLaunchKernelEx(config().data(), nullptr, nullptr, nullptr));
    expect_shown("hipDrvLaunchKernelEx");
    expect_packet();
}

TEST_F(StreamCallsTest, a_launch_of_the_old_headers_is_one_of_its_stream) {
    hip_impl::hipLaunchKernelGGLImpl(0, {1, 1, 1}, {1, 1, 1}, 0,
                                     static_cast<ihipStream_t*>(stream_), nullptr);
    expect_shown("hipLaunchKernelGGLImpl");
    expect_packet();
}

TEST_F(StreamCallsTest, without_a_gate_launches_are_known_all_the_same) {
    table().set_gate(nullptr);
    ASSERT_EQ(0, hipLaunchKernelExC(config().data(), nullptr, nullptr));
    EXPECT_TRUE(shown.empty());
    expect_packet();
}

// Each creates a stream whose handle an older one may have had.
TEST_F(StreamCallsTest, every_create_is_shown) {
    const unsigned mask[] = {~0U, 0x3f};
    void* made[2]{};
    ASSERT_EQ(0, hipStreamCreateWithPriority(&made[0], 0, -1));
    ASSERT_EQ(0, hipExtStreamCreateWithCUMask(&made[1], 2, mask));
    ASSERT_EQ(2U, shown.size());
    EXPECT_EQ("hipStreamCreateWithPriority", shown[0].name);
    EXPECT_EQ("hipExtStreamCreateWithCUMask", shown[1].name);
    EXPECT_EQ(CallClass::stream_create, shown[1].call_class);
    EXPECT_EQ((std::vector<int>{0, 0}), answers);
    for (void* stream : made)
        EXPECT_EQ(0, hipStreamDestroy(stream));
}

} // namespace
