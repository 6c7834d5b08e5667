// SPDX-License-Identifier: MIT
// Queues of KFD: sysfs to find them, PREEMPT_WATCH to sense work, SWITCH to stop them.
#pragma once

#include "kfd/device.hpp"
#include "kfd/roots.hpp"
#include "kfd/watch.hpp"
#include "provider.hpp"

#include <memory>
#include <optional>
#include <string>
#include <tl/expected.hpp>

namespace xpreemptd {

class KfdProvider final : public Provider {
public:
    // The error says what is wrong with this machine and what to do.
    static tl::expected<std::unique_ptr<KfdProvider>, std::string>
    open(const xpreempt::kfd::Roots& roots);

    Result<std::vector<pid_t>> processes() override;
    Result<std::vector<std::uint32_t>> queue_ids(pid_t pid) override;
    Result<QueueFound> describe(pid_t pid, std::uint32_t queue_id) override;
    Result<QueueReading> read(pid_t pid, std::uint32_t queue_id) override;
    [[nodiscard]] int event_fd() const override { return watch_ ? watch_->fd() : -1; }
    Result<std::uint32_t> watch(pid_t pid, std::uint64_t cookie) override;
    void unwatch(std::uint32_t watch_id) override;
    Result<void> arm(std::span<Arming> entries) override;
    Result<std::size_t> take_events(std::span<Event> events) override;
    Result<void> change(std::span<Switch> switches) override;

private:
    KfdProvider(xpreempt::kfd::Roots roots, xpreempt::kfd::Device device)
        : roots_(std::move(roots)), device_(std::move(device)) {}
    Result<void> change_batch(std::span<Switch> switches);

    xpreempt::kfd::Roots roots_;
    xpreempt::kfd::Device device_;
    std::optional<xpreempt::kfd::Watch> watch_;
    std::uint32_t max_batch_ = 0;
    std::vector<kfd_preempt_switch_entry> entries_;
    std::vector<kfd_preempt_watch_arm_entry> arming_;
};

} // namespace xpreemptd
