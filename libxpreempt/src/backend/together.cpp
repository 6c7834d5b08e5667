// SPDX-License-Identifier: MIT
// Holds of its own around those of the sources.
#include "backend/together.hpp"

#include <algorithm>
#include <new>

namespace xpreempt::backend {

namespace {

xqueue::QueueName name_of(const hip::QueueRecord& queue) {
    return std::uint64_t{queue.generation} << 32 | queue.kfd_queue_id;
}

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

void KfdTogether::keep(const void* turn, Queues starts) try {
    for (const hip::QueueRecord& queue : records_of(starts))
        holds_.keep(queue, {nullptr, turn});
} catch (const std::bad_alloc&) { // the sources start one by one
}

void KfdTogether::exchange(const void* turn, Queues stops, Queues starts) try {
    holds_.exchange(records_of(stops), records_of(starts), {nullptr, turn});
} catch (const std::bad_alloc&) { // the sources stop one by one, and end() starts the others
}

} // namespace xpreempt::backend
