// SPDX-License-Identifier: MIT
// Stops queues as their own process' debugger: on a driver without preemption, when asked for.
#pragma once

#include "backend/transport.hpp"

#include <memory>
#include <mutex>
#include <set>

namespace xpreempt::backend {

// Nothing that ROCr does starts such a queue, unlike one with percentage 0. The price: while a
// queue is held no debugger can attach, and where GPUs have no debug registers for each VMID no
// other process of theirs can be debugged either. So debugging is on only as long as something is
// held; the end of it would let every queue run, and an exit in between blocks in RUNTIME_DISABLE.
class DebugTransport final : public Transport {
public:
    explicit DebugTransport(std::shared_ptr<const kfd::Device> device)
        : device_(std::move(device)) {}

    [[nodiscard]] TransportKind kind() const override { return TransportKind::debug_trap; }
    [[nodiscard]] bool can(StopType type) const override { return type == StopType::save; }
    Result<void> stop(const hip::QueueRecord& queue, StopType type) override;
    Result<void> start(const hip::QueueRecord& queue) override;

private:
    Result<void> enable();
    Result<void> suspend(std::uint32_t kfd_queue_id);
    Result<void> clear_new_queues();

    std::shared_ptr<const kfd::Device> device_;
    std::mutex mutex_;
    std::set<std::uint32_t> held_;
};

// Empty when this driver, as it was loaded, may be able to; else why not. Changes nothing: whether
// the runtime has enabled debugging is known with the first stop only.
std::string debug_refusal(const kfd::Device& device, const kfd::LoadedModule& module);

} // namespace xpreempt::backend
