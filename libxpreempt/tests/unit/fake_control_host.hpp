// SPDX-License-Identifier: MIT
// A host of the control socket with two streams and an xqueue, which remembers what is held.
#pragma once

#include "control/host.hpp"

#include <atomic>
#include <cerrno>
#include <map>
#include <mutex>
#include <utility>

namespace test {

namespace control = xpreempt::control;
namespace wire = xpreempt::control::wire;

class FakeControlHost final : public control::Host {
public:
    control::Snapshot snapshot() override {
        control::Snapshot now{};
        now.process.pid = 1;
        now.process.flags = read_only ? wire::process_read_only : 0;
        wire::put_text(now.process.library_version, "0.0.0");
        for (std::uint32_t i = 0; i < num_streams; ++i) {
            wire::Stream stream{};
            stream.handle = 0x1000 + i;
            wire::put_text(stream.name, i == 0 ? "low" : i == 1 ? "high" : "many");
            stream.level = 3;
            now.streams.push_back(stream);
        }
        now.rings.push_back({5, 1, 12, wire::ring_blind, 0});
        wire::Xqueue xqueue{};
        xqueue.handle = 0x100000000;
        xqueue.stream = 0x1000;
        wire::put_text(xqueue.name, "front");
        now.xqueues.push_back(xqueue);
        return now;
    }

    [[nodiscard]] bool is_read_only() const override { return read_only; }

    xpreempt::Result<control::Suspended> suspend(wire::Object object, std::uint64_t handle,
                                                 std::uint32_t) override {
        if (stop_errno != 0)
            return xpreempt::fail(stop_errno, xpreempt::Op::preempt_queue, 7);
        control::Suspended suspended{std::make_unique<Hold>(*this, object, handle), 3};
        const std::lock_guard lock(mutex_);
        ++held_[{object, handle}];
        return suspended;
    }

    std::uint32_t holds(wire::Object object, std::uint64_t handle) override {
        const std::lock_guard lock(mutex_);
        const auto found = held_.find({object, handle});
        return found == held_.end() ? 0 : found->second;
    }

    std::atomic<bool> read_only = false;
    std::atomic<std::uint32_t> num_streams = 2;
    std::atomic<int> stop_errno = 0; // answer of the next suspends

private:
    class Hold final : public control::Hold {
    public:
        Hold(FakeControlHost& host, wire::Object object, std::uint64_t handle)
            : host_(host), key_(object, handle) {}
        void release() override {
            const std::lock_guard lock(host_.mutex_);
            --host_.held_[key_];
        }
        [[nodiscard]] bool ended() const override { return false; }

    private:
        FakeControlHost& host_;
        std::pair<wire::Object, std::uint64_t> key_;
    };

    std::mutex mutex_;
    std::map<std::pair<wire::Object, std::uint64_t>, std::uint32_t> held_;
};

inline wire::Target target(wire::Object object, std::string_view name, std::uint32_t flags = 0) {
    wire::Target made{};
    made.object = static_cast<std::uint32_t>(object);
    made.flags = flags;
    wire::put_text(made.name, name);
    return made;
}

} // namespace test
