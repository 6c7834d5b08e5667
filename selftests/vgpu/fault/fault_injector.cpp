// SPDX-License-Identifier: MIT
// The fault knobs at work: which faults are armed, and what each of them strikes.
#include "fault/fault_injector.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace vgpu::fault {

FaultInjector::FaultInjector(std::vector<Spec> specs, Observer& observer) : observer_(observer) {
    for (Spec& spec : specs)
        arm(std::move(spec));
}

unsigned FaultInjector::arm(Spec spec) {
    observer_.event("fault", fmt::format("armed {}: {}", last_number_ + 1, spec.text));
    const std::uint64_t count = spec.count;
    armed_.push_back({++last_number_, std::move(spec), count});
    if (changed_)
        changed_();
    return last_number_;
}

bool FaultInjector::disarm(unsigned number) {
    if (std::erase_if(armed_, [number](const Armed& a) { return a.number == number; }) == 0)
        return false;
    observer_.event("fault", fmt::format("disarmed {}", number));
    release(number);
    if (changed_)
        changed_();
    return true;
}

void FaultInjector::disarm_all() {
    while (!armed_.empty())
        disarm(armed_.back().number);
}

void FaultInjector::release(unsigned number) {
    std::erase_if(held_, [number](const auto& entry) { return entry.second.number == number; });
    std::erase_if(stuck_, [number](const auto& entry) { return entry.second == number; });
    if (fence_ && fence_->number == number)
        fence_.reset();
}

std::string FaultInjector::list() const {
    std::string text;
    for (const Armed& armed : armed_)
        text += fmt::format("{} {} seen={} hits={} left={}\n", armed.number, armed.spec.text,
                            armed.seen, armed.hits, armed.left);
    return text;
}

std::optional<std::uint64_t> FaultInjector::next_deadline_ms() const {
    std::optional<std::uint64_t> next;
    const auto consider = [&next](const Held& held) {
        if (held.until_ms && (!next || *held.until_ms < *next))
            next = held.until_ms;
    };
    for (const auto& [slot, held] : held_)
        consider(held);
    if (fence_)
        consider(*fence_);
    return next;
}

// Every fault of the kind sees the occasion; the first that strikes is the one.
const FaultInjector::Armed* FaultInjector::strike(Kind kind, const Occasion& occasion) {
    const auto matches = [](const std::optional<std::uint64_t>& wanted,
                            const std::optional<std::uint64_t>& actual) {
        return !wanted || wanted == actual;
    };
    const Armed* striking = nullptr;
    for (Armed& armed : armed_) {
        const Spec& spec = armed.spec;
        if (spec.kind != kind || !matches(spec.doorbell, occasion.doorbell) ||
            !matches(spec.vmid, occasion.vmid) || !matches(spec.pasid, occasion.pasid) ||
            !matches(spec.xcc, occasion.xcc) || !matches(spec.engine, occasion.engine) ||
            !matches(spec.source, occasion.source))
            continue;
        if (++armed.seen < spec.nth || armed.left == 0 || striking != nullptr)
            continue;
        --armed.left;
        ++armed.hits;
        striking = &armed;
    }
    if (striking != nullptr) {
        observer_.count("faults", 1);
        observer_.event("fault",
                        fmt::format("{} strikes: {}", striking->number, striking->spec.text));
    }
    return striking;
}

FaultInjector::Held FaultInjector::hold(const Armed& armed) const {
    Held held{.number = armed.number, .until_ms = {}, .polls = armed.spec.polls};
    if (armed.spec.delay_ms)
        held.until_ms = now_ms_ + *armed.spec.delay_ms;
    return held;
}

bool FaultInjector::over(const Held& held) const {
    return (held.until_ms && now_ms_ >= *held.until_ms) || (held.polls && *held.polls == 0);
}

FaultInjector::Occasion FaultInjector::occasion_of(const StopRequest& request) {
    return {.doorbell = request.doorbell,
            .vmid = request.vmid,
            .pasid = request.pasid,
            .xcc = request.xcc};
}

void FaultInjector::stop_begins(const StopRequest& request) {
    const Occasion occasion = occasion_of(request);
    const Armed* late = strike(request.direct ? Kind::dequeue_late : Kind::unmap_late, occasion);
    const Armed* never = strike(request.direct ? Kind::dequeue_never : Kind::unmap_never, occasion);
    if (const Armed* armed = never != nullptr ? never : late)
        held_[request.slot] = hold(*armed);
}

bool FaultInjector::skip_unmap(const StopRequest& request) {
    return strike(Kind::unmap_skipped, occasion_of(request)) != nullptr;
}

bool FaultInjector::lose_doorbell(const MappedQueue& queue) {
    return strike(Kind::doorbell_lost,
                  {.doorbell = queue.doorbell, .vmid = queue.vmid, .pasid = queue.pasid}) !=
           nullptr;
}

bool FaultInjector::lose_grace(unsigned xcc) {
    return strike(Kind::grace_lost, {.xcc = xcc}) != nullptr;
}

void FaultInjector::active_polled(unsigned slot) {
    const auto found = held_.find(slot);
    if (found == held_.end())
        return;
    std::optional<std::uint64_t>& polls = found->second.polls;
    if (polls && *polls != 0)
        --*polls;
}

bool FaultInjector::stop_held(unsigned slot) {
    const auto found = held_.find(slot);
    if (found == held_.end())
        return false;
    if (!over(found->second))
        return true;
    held_.erase(found);
    observer_.event("fault", fmt::format("stop of slot {} released", slot));
    return false;
}

bool FaultInjector::queue_reset(unsigned slot) {
    if (strike(Kind::queue_reset_never, {}) != nullptr)
        return false;
    held_.erase(slot);
    return true;
}

bool FaultInjector::waves_hang(const StopRequest& request) {
    return strike(Kind::hung_wave, occasion_of(request)) != nullptr;
}

bool FaultInjector::drop_fence() {
    return strike(Kind::drop_fence, {}) != nullptr;
}

bool FaultInjector::early_fence(const StopRequest& request) {
    const Armed* armed = strike(Kind::early_fence, occasion_of(request));
    if (armed != nullptr && (armed->spec.delay_ms || armed->spec.polls))
        held_[request.slot] = hold(*armed);
    return armed != nullptr;
}

bool FaultInjector::delay_fence() {
    if (const Armed* armed = strike(Kind::slow_fence, {}))
        fence_ = hold(*armed);
    return fence_.has_value();
}

bool FaultInjector::fence_held() {
    if (fence_ && over(*fence_))
        fence_.reset();
    return fence_.has_value();
}

bool FaultInjector::lose_interrupt(std::uint8_t source) {
    return strike(Kind::lost_interrupt, {.source = source}) != nullptr;
}

bool FaultInjector::lose_msi() {
    return strike(Kind::lost_msi, {}) != nullptr;
}

bool FaultInjector::sdma_stuck(const SdmaRing& ring) {
    const std::pair key{ring.engine, ring.doorbell};
    if (stuck_.contains(key))
        return true;
    const Armed* armed = strike(
        ring.user ? Kind::sdma_stuck : Kind::kernel_sdma_stuck,
        {.doorbell = ring.doorbell, .vmid = ring.vmid, .pasid = ring.pasid, .engine = ring.engine});
    if (armed != nullptr)
        stuck_[key] = armed->number;
    return armed != nullptr;
}

bool FaultInjector::fault_access(unsigned vmid, std::uint16_t pasid) {
    return strike(Kind::vm_fault, {.vmid = vmid, .pasid = pasid}) != nullptr;
}

bool FaultInjector::hung() {
    return std::any_of(armed_.begin(), armed_.end(), [](const Armed& armed) {
        return armed.spec.kind == Kind::device_hang && armed.left != 0;
    });
}

void FaultInjector::device_reset() {
    held_.clear();
    stuck_.clear();
    fence_.reset();
    for (Armed& armed : armed_)
        if (armed.spec.kind == Kind::device_hang && armed.left != 0) {
            --armed.left;
            ++armed.hits;
            observer_.count("faults", 1);
        }
}

} // namespace vgpu::fault
