// SPDX-License-Identifier: MIT
// Hardware that takes no time: every command has completed when its launch returns.
#pragma once

#include "xqueue/hw_queue.hpp"

namespace bench {

class NullMarker final : public xpreempt::xqueue::Marker {
public:
    bool passed() override { return true; }
    xpreempt::Result<void> wait() override { return {}; }
};

class NullHwQueue : public xpreempt::xqueue::HwQueue {
public:
    xpreempt::xqueue::LevelChoice best_level(xpreempt::xqueue::Level) override {
        return {xpreempt::xqueue::Level::block, xpreempt::xqueue::DeactivateMethod::none, ""};
    }
    xpreempt::Result<void> launch(const xpreempt::xqueue::Launch& launch) override {
        (void)launch.command.launch(nullptr, launch.command.argument);
        return {};
    }
    xpreempt::Result<std::shared_ptr<xpreempt::xqueue::Marker>> mark() override {
        return std::make_shared<NullMarker>();
    }
    xpreempt::Result<xpreempt::xqueue::Deactivated> deactivate() override {
        return xpreempt::xqueue::Deactivated{};
    }
    xpreempt::Result<void> interrupt() override { return {}; }
    void start() override {}
};

} // namespace bench
