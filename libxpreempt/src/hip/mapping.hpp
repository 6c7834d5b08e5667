// SPDX-License-Identifier: MIT
// Stream to KFD queue, from what the hook saw; this side of the two libraries' border.
#pragma once

#include "base/error.hpp"
#include "hip/runtime.hpp"
#include "hook/table.hpp"

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

namespace xpreempt::hip {

using QueueRecord = hook::QueueRecord;
using CopyRecord = hook::CopyRecord;
using RingRecord = hook::RingRecord;

// The pair names a queue for ever; the id alone names another one after destroy and create.
struct QueueRef {
    std::uint32_t kfd_queue_id;
    std::uint32_t generation;
    auto operator<=>(const QueueRef&) const = default;
};

inline QueueRef ref_of(const QueueRecord& record) {
    return {record.kfd_queue_id, record.generation};
}

class Mapping {
public:
    // null: no hook in this process; then nothing can be mapped.
    explicit Mapping(const hook::Table* table) : table_(table) {}
    static Mapping of_process();

    [[nodiscard]] bool available() const { return table_ != nullptr; }
    [[nodiscard]] const hook::Table* table() const { return table_; }

    // Between them the program creates, changes and destroys no queue, so that rings and indices
    // can be read. Blocks such calls of the program, and a second lock() in the same thread.
    void lock() const { table_->begin_reading(); }
    void unlock() const { table_->end_reading(); }

    // ENOSYS: no hook. ENOENT: no packet of that stream was seen, or its queue is gone.
    // EXDEV: its packets go to a queue that the hook didn't see made.
    Result<QueueRecord> queue_of(Stream stream) const;

    // Where unfinished work of the stream may be: its queue, and more after a graph.
    std::vector<QueueRecord> busy_queues(const void* stream) const;

    // Queues of this process that the hook was loaded too late for.
    [[nodiscard]] std::uint32_t queues_before() const {
        return available() ? table_->queues_before() : 0;
    }

    // Sharing set: streams that exist and ever used that queue. The null stream is nullptr.
    std::vector<Stream> streams_of(QueueRef queue) const;

    // Returns the key of the stream that the handle names in the calling thread. A key names the
    // same stream in every thread.
    Stream key_of(Stream stream) const;

    // Returns the device of a null stream; nothing: the key is of another stream.
    std::optional<int> device_of_null(Stream key) const;

    std::vector<hook::StreamRecord> streams() const;
    // Differs between two streams that have the same address one after the other; 0: unseen.
    std::uint64_t birth_of(const void* key) const;

    // Returns true if the stream is known to be on another device than the calling thread's current
    // one.
    [[nodiscard]] bool is_elsewhere(const void* key) const {
        return available() && table_->is_elsewhere(key) != 0;
    }

    // By DMA engine and not complete, oldest first.
    std::vector<CopyRecord> copies() const;

    // EBUSY: the program is destroying the queue. ESTALE: the queue is gone.
    [[nodiscard]] Result<void> check(QueueRef queue) const;

    std::vector<QueueRecord> queues() const;

    // One for each of queues(); of the same ones only while no queue is made or destroyed.
    std::vector<RingRecord> rings() const;
    // Those whose ring the CPU reads across PCIe.
    std::set<QueueRef> queues_in_vram() const;

private:
    const hook::Table* table_;
};

} // namespace xpreempt::hip
