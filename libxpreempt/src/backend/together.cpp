// SPDX-License-Identifier: MIT
// Holds of its own around those of the sources.
#include "backend/together.hpp"

#include <algorithm>

namespace xpreempt::backend {

namespace {

xqueue::QueueName name_of(const hip::QueueRecord& queue) {
    return std::uint64_t{queue.generation} << 32 | queue.kfd_queue_id;
}

// Its address is the owner of the holds on queues that couldn't be started.
constexpr char refused_owner = 0;

} // namespace

std::vector<xqueue::QueueName> names_of(const std::vector<hip::QueueRecord>& queues) {
    std::vector<xqueue::QueueName> names;
    for (const hip::QueueRecord& queue : queues)
        names.push_back(name_of(queue));
    return names;
}

std::vector<hip::QueueRecord> KfdTogether::records_of(Queues names) const {
    std::vector<hip::QueueRecord> records;
    for (const hip::QueueRecord& queue : mapping_.queues())
        if (std::ranges::find(names, name_of(queue)) != names.end())
            records.push_back(queue);
    return records;
}

void KfdTogether::keep(const void* turn, Queues starts) {
    for (const hip::QueueRecord& queue : records_of(starts))
        holds_.keep(queue, {nullptr, turn});
}

bool KfdTogether::exchange(const void* turn, Queues stops, Queues starts) {
    const auto refused = holds_.exchange(records_of(stops), records_of(starts), {nullptr, turn});
    for (const hip::QueueRecord& queue : refused) {
        // Before the other ends: it must not run meanwhile, or be thought to.
        holds_.keep(queue, {nullptr, &refused_owner});
        (void)holds_.release(queue, {nullptr, turn});
        const std::lock_guard lock(mutex_);
        refused_.push_back(queue);
    }
    return refused.empty();
}

void KfdTogether::end(const void* turn, Queues stops) {
    for (const hip::QueueRecord& queue : records_of(stops))
        (void)holds_.release(queue, {nullptr, turn}); // a source holds it, or it never stopped
}

bool KfdTogether::retry() {
    const std::lock_guard lock(mutex_);
    std::erase_if(refused_, [this](const hip::QueueRecord& queue) {
        return holds_.release(queue, {nullptr, &refused_owner}).has_value();
    });
    return refused_.empty();
}

} // namespace xpreempt::backend
