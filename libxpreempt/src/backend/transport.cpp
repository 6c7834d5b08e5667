// SPDX-License-Identifier: MIT
// The ways to stop a queue, and the choice between them.
#include "backend/transport.hpp"

#include <cerrno>
#include <cstring>

namespace xpreempt::backend {

namespace {

class NoTransport final : public Transport {
public:
    [[nodiscard]] TransportKind kind() const override { return TransportKind::none; }
    [[nodiscard]] bool can(StopType) const override { return false; }
    Result<void> stop(const hip::QueueRecord& queue, StopType) override {
        return fail(EOPNOTSUPP, Op::preempt_queue, queue.kfd_queue_id);
    }
    Result<void> start(const hip::QueueRecord& queue) override {
        return fail(EOPNOTSUPP, Op::resume_queue, queue.kfd_queue_id);
    }
};

class PatchedTransport final : public Transport {
public:
    PatchedTransport(std::shared_ptr<const kfd::Device> device, std::uint32_t type_mask)
        : device_(std::move(device)), type_mask_(type_mask) {}

    [[nodiscard]] TransportKind kind() const override { return TransportKind::patched; }
    [[nodiscard]] bool can(StopType type) const override {
        return (type_mask_ >> number(type) & 1U) != 0;
    }
    Result<void> stop(const hip::QueueRecord& queue, StopType type) override {
        return device_->preempt(queue.kfd_queue_id, number(type), 0, queue.fd);
    }
    Result<void> start(const hip::QueueRecord& queue) override {
        return device_->resume(queue.kfd_queue_id, queue.fd);
    }

private:
    static std::uint32_t number(StopType type) {
        return type == StopType::save ? KFD_PREEMPT_TYPE_SAVE : KFD_PREEMPT_TYPE_DRAIN;
    }

    std::shared_ptr<const kfd::Device> device_;
    std::uint32_t type_mask_;
};

// Needs the hook: it knows all properties that UPDATE_QUEUE overwrites, and keeps ROCr's own
// updates from starting the queue.
class UpdateTransport final : public Transport {
public:
    UpdateTransport(std::shared_ptr<const kfd::Device> device, const hook::Table* table)
        : device_(std::move(device)), table_(table) {}

    [[nodiscard]] TransportKind kind() const override { return TransportKind::update_queue; }
    // With CWSR the driver saves; without, its unmap waits for the waves.
    [[nodiscard]] bool can(StopType type) const override { return type == StopType::save; }
    Result<void> stop(const hip::QueueRecord& queue, StopType) override {
        return update(queue, true);
    }
    Result<void> start(const hip::QueueRecord& queue) override { return update(queue, false); }

private:
    Result<void> update(const hip::QueueRecord& queue, bool held) {
        hip::QueueRecord now{};
        const int answer = table_->begin_update(queue.kfd_queue_id, queue.generation, &now);
        if (answer != 0)
            return fail(-answer, Op::update_queue, queue.kfd_queue_id);
        // A queue that ROCr itself stopped (percentage 0 after an error) is not started by us.
        const kfd::QueueProperties properties{now.ring_base, now.ring_bytes,
                                              held ? 0 : now.percentage, now.priority};
        const auto updated = device_->update_queue(now.kfd_queue_id, properties, now.fd);
        const bool is_held = updated ? held : now.held != 0;
        table_->end_update(queue.kfd_queue_id, queue.generation, is_held ? 1 : 0);
        return updated;
    }

    std::shared_ptr<const kfd::Device> device_;
    const hook::Table* table_;
};

std::string text_of(int errno_value) {
    return std::strerror(errno_value);
}

Selected nothing(std::string reason, std::shared_ptr<const kfd::Device> device) {
    return {Probe{TransportKind::none, std::move(reason), {}}, std::make_unique<NoTransport>(),
            std::move(device)};
}

} // namespace

Selected select_transport(const hip::Mapping& mapping, const std::string& device_path) {
    const hook::Table* table = mapping.table();
    auto opened = kfd::Device::open(device_path,
                                    table != nullptr ? kfd::Ioctl(table->ioctl) : kfd::plain_ioctl);
    if (!opened)
        return nothing("cannot open " + device_path + ": " + text_of(opened.error().errno_value),
                       nullptr);
    auto device = std::make_shared<const kfd::Device>(std::move(*opened));

    const auto driver = device->query(0);
    if (driver && driver->abi_major == KFD_PREEMPT_ABI_MAJOR && driver->type_mask != 0) {
        auto transport = std::make_unique<PatchedTransport>(device, driver->type_mask);
        return {Probe{TransportKind::patched, "", *driver}, std::move(transport), device};
    }
    std::string why = "the driver has no preemption";
    if (driver)
        why = driver->abi_major != KFD_PREEMPT_ABI_MAJOR
                  ? "the driver's preemption has another ABI version"
                  : "the driver can stop no queue on this machine";
    else if (driver.error().errno_value != ENOTTY)
        why = "the driver does not answer QUERY: " + text_of(driver.error().errno_value);
    if (table == nullptr)
        return nothing(why + "; and libxpreempt-hook.so is not loaded, which UPDATE_QUEUE needs",
                       device);
    auto transport = std::make_unique<UpdateTransport>(device, table);
    return {Probe{TransportKind::update_queue, why, {}}, std::move(transport), device};
}

} // namespace xpreempt::backend
