// SPDX-License-Identifier: MIT
// The ioctls that are expected, in order, with the answers they get.
#pragma once

#include "kfd/device.hpp"

#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <gtest/gtest.h>
#include <memory>
#include <vector>

namespace test {

// A call that isn't the next one, and one that didn't come, fail the test.
class ScriptedIoctl {
public:
    ScriptedIoctl() : calls_(std::make_shared<std::deque<Call>>()) {}
    ~ScriptedIoctl() { EXPECT_TRUE(calls_->empty()) << calls_->size() << " calls did not come"; }
    ScriptedIoctl(const ScriptedIoctl&) = delete;
    ScriptedIoctl& operator=(const ScriptedIoctl&) = delete;
    ScriptedIoctl(ScriptedIoctl&&) = delete;
    ScriptedIoctl& operator=(ScriptedIoctl&&) = delete;

    // in: what the argument must be, byte for byte; out: what it becomes when answer is 0.
    template <typename Args> void expect(unsigned long request, int answer, Args in, Args out) {
        calls_->push_back({request, answer, bytes(in), bytes(out)});
    }
    template <typename Args> void expect(unsigned long request, int answer, Args in) {
        expect(request, answer, in, in);
    }

    [[nodiscard]] xpreempt::kfd::Ioctl function() const {
        return [calls = calls_](int, unsigned long request, void* argument) {
            if (calls->empty()) {
                ADD_FAILURE() << "unexpected ioctl " << std::hex << request;
                return -ENOSYS;
            }
            const Call call = calls->front();
            calls->pop_front();
            EXPECT_EQ(call.request, request);
            EXPECT_EQ(0, std::memcmp(argument, call.in.data(), call.in.size()))
                << "argument of ioctl " << std::hex << request;
            if (call.answer == 0)
                std::memcpy(argument, call.out.data(), call.out.size());
            return call.answer;
        };
    }

private:
    struct Call {
        unsigned long request;
        int answer;
        std::vector<unsigned char> in, out;
    };
    template <typename Args> static std::vector<unsigned char> bytes(const Args& args) {
        std::vector<unsigned char> copy(sizeof args);
        std::memcpy(copy.data(), &args, sizeof args);
        return copy;
    }

    std::shared_ptr<std::deque<Call>> calls_;
};

} // namespace test
