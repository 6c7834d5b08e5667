// SPDX-License-Identifier: MIT
// Queues of KFD: sysfs to find them, PREEMPT_WATCH to sense work, SWITCH to stop them.
#pragma once

#include "driver/kfd_switch.hpp"
#include "driver/mover.hpp"
#include "driver/provider.hpp"
#include "driver/watches.hpp"
#include "kfd/device.hpp"
#include "kfd/roots.hpp"

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
    bool is_locked(pid_t pid) override;
    Result<std::uint32_t> watch(pid_t pid, std::uint64_t cookie, bool gives) override;
    void unwatch(std::uint32_t watch_id) override;
    Result<void> arm(std::span<Arming> entries) override;
    Result<std::size_t> take_events(std::span<Event> events) override;
    Result<void> change(std::span<Switch> switches) override;
    [[nodiscard]] bool can_move_memory() const override { return mover_.has_value(); }
    Result<VramUse> vram_of(pid_t pid, std::uint32_t queue_id) override;
    Result<std::uint64_t> free_vram(std::uint32_t gpu_id) override;
    [[nodiscard]] bool can_give_memory() const override { return gives_ && mover_ && watch_; }
    void answer(std::uint32_t watch_id, bool last) override;
    void begin(Move move) override;
    [[nodiscard]] int moved_fd() const override { return mover_ ? mover_->fd() : -1; }
    std::vector<Move> take_moved() override;

private:
    KfdProvider(xpreempt::kfd::Roots roots, std::shared_ptr<KfdSwitch> by)
        : roots_(std::move(roots)), switch_(std::move(by)) {}
    [[nodiscard]] const xpreempt::kfd::Device& device() const { return switch_->device(); }

    xpreempt::kfd::Roots roots_;
    std::shared_ptr<KfdSwitch> switch_; // the mover's, too: its call may outlive this object
    std::optional<Watches> watch_;
    std::optional<Mover> mover_;
    bool gives_ = false; // the driver knows GIVE_MEMORY
    std::vector<kfd_preempt_watch_arm_entry> arming_;
};

} // namespace xpreemptd
