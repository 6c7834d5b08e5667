// SPDX-License-Identifier: MIT
// Threshold and batch from the measured time of a command.
#include "xqueue/pace.hpp"

#include <algorithm>
#include <cstddef>

namespace xpreempt::xqueue {

namespace {

// The number in flight is considered after so many refills. Few that find the hardware dry are
// accepted: late wake-ups of the thread that refills, which more in flight would hide at the cost
// of each suspend. More than that, and one more is in flight, else one less. Where one less turns
// out to be too few, it is tried ever more seldom.
constexpr std::uint32_t refills_considered = 64, dry_refills_accepted = 2, most_patience = 64;

// So long before the expected end the next command is launched, and an eighth of a command if that
// is more: commands don't all take the same time.
constexpr std::uint64_t least_lead_ns = 20'000;

// With fewer no thread sleeps until an expected end, which relies on the shortest of them.
constexpr std::size_t samples_to_sleep = 4;

} // namespace

bool Pace::fits(std::uint64_t commands) const {
    return command_ns_ != 0 &&
           commands * command_ns_ <= config_.latency_budget_ns + command_ns_ / 8;
}

std::uint32_t Pace::threshold() const {
    if (!adapts())
        return config_.threshold;
    std::uint64_t wanted = std::max(at_least_, std::uint32_t{2});
    if (command_ns_ != 0)
        wanted = std::max(wanted, (config_.latency_budget_ns + command_ns_ / 8) / command_ns_);
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(wanted, config_.threshold));
}

bool Pace::just_in_time() const {
    return adapts() && at_least_ == 1 && command_ns_ != 0 && !fits(2);
}

std::uint32_t Pace::room(std::uint32_t in_flight) const {
    const std::uint32_t most = threshold();
    if (in_flight >= most)
        return 0;
    return just_in_time() ? 1 : most - in_flight;
}

std::uint64_t Pace::launch_delay_ns(std::uint32_t in_flight, std::uint64_t now_ns) const {
    if (in_flight == 0 || !just_in_time())
        return 0;
    const std::uint64_t due_ns = seen_ns_ + in_flight * command_ns_ - lead_ns();
    return due_ns - std::min(due_ns, now_ns);
}

std::uint64_t Pace::lead_ns() const {
    return std::max(command_ns_ / 8, least_lead_ns);
}

std::uint64_t Pace::sleep_ns(std::uint32_t in_flight, std::uint32_t oldest, bool measures,
                             std::uint64_t margin_ns, std::uint64_t now_ns) const {
    if (sampled_ < samples_to_sleep)
        return 0;
    std::uint64_t until_ns = expect(oldest, now_ns).soonest_ns;
    if (in_flight < threshold() || (!measures && just_in_time())) {
        const std::uint64_t all_ns = expect(in_flight, now_ns).soonest_ns;
        until_ns = just_in_time() ? all_ns - std::min(all_ns, lead_ns()) : 0;
    } else if (!measures && (in_flight - oldest) * command_ns_ >= 2 * margin_ns) {
        margin_ns = 0;
    }
    return until_ns - std::min(until_ns, margin_ns);
}

// Half of the threshold, so that the other half runs while more is launched.
std::uint32_t Pace::batch() const {
    return adapts() ? std::max(threshold() / 2, std::uint32_t{1}) : config_.batch;
}

// A median: one that was noticed late makes its own sample too long and may make the next one too
// short.
void Pace::add_sample(std::uint64_t sample_ns) {
    samples_[sampled_++ % num_samples] = std::max(sample_ns, std::uint64_t{1});
    auto sorted = samples_;
    const auto end = sorted.begin() + static_cast<std::ptrdiff_t>(std::min(sampled_, num_samples));
    const auto middle = sorted.begin() + (end - sorted.begin()) / 2;
    std::nth_element(sorted.begin(), middle, end);
    command_ns_ = *middle;
    shortest_ns_ = *std::min_element(sorted.begin(), end);
}

void Pace::completed(std::uint64_t now_ns, std::uint32_t count) {
    // A thread that noticed an earlier completion later may have been faster with the lock.
    if (now_ns <= last_ns_)
        return gap();
    const std::uint32_t commands = unseen_ + count;
    if (last_ns_ != 0 && commands != 0 && (!since_start_ || commands == 1))
        add_sample((now_ns - last_ns_) / commands);
    since_start_ = false;
    unseen_ = 0;
    last_ns_ = seen_ns_ = now_ns;
}

void Pace::completed_unseen(std::uint64_t now_ns, std::uint32_t count) {
    unseen_ += count;
    if (last_ns_ != 0 && now_ns > last_ns_ && (now_ns - last_ns_) / unseen_ < command_ns_)
        add_sample((now_ns - last_ns_) / unseen_);
    seen_ns_ = std::min(now_ns, seen_ns_ + count * command_ns_);
}

Expected Pace::expect(std::uint64_t commands, std::uint64_t now_ns) const {
    const std::uint64_t soonest = sampled_ < samples_to_sleep ? 0 : commands * shortest_ns_;
    const std::uint64_t elapsed = now_ns > seen_ns_ ? now_ns - seen_ns_ : 0;
    return {soonest - std::min(soonest, elapsed), commands * command_ns_};
}

void Pace::refilled(bool was_dry) {
    ++refills_;
    if (was_dry)
        gap();
    dry_refills_ += was_dry ? 1 : 0;
    if (dry_refills_ > dry_refills_accepted) {
        if (lowered_)
            patience_ = std::min(2 * patience_, most_patience);
        at_least_ = std::min(at_least_ + 1, std::max(config_.threshold, std::uint32_t{2}));
        lowered_ = false;
        calm_ = 0;
    } else if (refills_ < refills_considered) {
        return;
    } else if (++calm_ >= patience_) {
        if (lowered_)
            patience_ = 1; // the last change was right
        lowered_ = at_least_ > 1;
        at_least_ = std::max(at_least_ - 1, std::uint32_t{1});
        calm_ = 0;
    }
    refills_ = dry_refills_ = 0;
}

} // namespace xpreempt::xqueue
