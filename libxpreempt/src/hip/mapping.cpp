// SPDX-License-Identifier: MIT
// Reads the hook's tables.
#include "hip/mapping.hpp"

#include <cerrno>
#include <dlfcn.h>

namespace xpreempt::hip {

namespace {

// One that was loaded with RTLD_LOCAL is found by its name only.
void* find_table_function() {
    constexpr const char* name = "xpreempt_hook_table";
    if (void* found = dlsym(RTLD_DEFAULT, name); found != nullptr)
        return found;
    void* hook = loaded_hook();
    return hook != nullptr ? dlsym(hook, name) : nullptr;
}

// call(out, max) fills out and returns how many there are. More may come between two calls; then it
// is asked again with more room.
template <typename Record, typename Call> std::vector<Record> all(Call call) {
    std::vector<Record> records(64);
    for (;;) {
        const std::uint32_t count =
            call(records.data(), static_cast<std::uint32_t>(records.size()));
        const bool fits = count <= records.size();
        records.resize(count);
        if (fits)
            return records;
    }
}

} // namespace

Mapping Mapping::of_process() {
    using GetTable = const hook::Table*();
    auto* get_table = reinterpret_cast<GetTable*>(find_table_function());
    const hook::Table* table = get_table != nullptr ? get_table() : nullptr;
    // An older hook lacks what we would call.
    if (table != nullptr && table->bytes >= sizeof(hook::Table))
        table->attach();
    return Mapping(table != nullptr && table->bytes >= sizeof(hook::Table) ? table : nullptr);
}

Result<QueueRecord> Mapping::queue_of(Stream stream) const {
    if (!available())
        return fail(ENOSYS, Op::map_stream);
    QueueRecord record{};
    if (const int answer = table_->stream_queue(stream, &record); answer != 0)
        return fail(-answer, Op::map_stream);
    return record;
}

Result<void> Mapping::check(QueueRef queue) const {
    const int answer = available() ? table_->check_queue(queue.kfd_queue_id, queue.generation) : 0;
    return answer == 0 ? Result<void>() : fail(-answer, Op::preempt_queue, queue.kfd_queue_id);
}

std::vector<Stream> Mapping::streams_of(QueueRef queue) const {
    if (!available())
        return {};
    const auto seen = all<const void*>([&](const void** out, std::uint32_t max) {
        return table_->streams_of(queue.kfd_queue_id, queue.generation, out, max);
    });
    std::vector<Stream> streams;
    for (const void* stream : seen)
        streams.push_back(const_cast<void*>(stream)); // HIP's handles aren't const
    return streams;
}

Stream Mapping::key_of(Stream stream) const {
    return available() ? const_cast<void*>(table_->stream_key(stream)) : stream;
}

std::optional<int> Mapping::device_of_null(Stream key) const {
    const int device = available() ? table_->device_of_null(key) : -1;
    return device >= 0 ? std::optional(device) : std::nullopt;
}

std::vector<hook::StreamRecord> Mapping::streams() const {
    return available() ? all<hook::StreamRecord>(table_->streams)
                       : std::vector<hook::StreamRecord>{};
}

std::uint64_t Mapping::birth_of(const void* key) const {
    return available() ? table_->birth_of(key) : 0;
}

std::vector<QueueRecord> Mapping::busy_queues(const void* stream) const {
    if (!available())
        return {};
    return all<QueueRecord>(
        [&](QueueRecord* out, std::uint32_t max) { return table_->busy_queues(stream, out, max); });
}

std::vector<CopyRecord> Mapping::copies() const {
    return available() ? all<CopyRecord>(table_->copies) : std::vector<CopyRecord>{};
}

std::vector<QueueRecord> Mapping::queues() const {
    return available() ? all<QueueRecord>(table_->queues) : std::vector<QueueRecord>{};
}

std::vector<RingRecord> Mapping::rings() const {
    return available() ? all<RingRecord>(table_->rings) : std::vector<RingRecord>{};
}

std::set<QueueRef> Mapping::queues_in_vram() const {
    std::set<QueueRef> queues;
    for (const RingRecord& ring : rings())
        if (ring.in_vram != 0)
            queues.insert({ring.kfd_queue_id, ring.generation});
    return queues;
}

} // namespace xpreempt::hip
