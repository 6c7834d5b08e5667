// SPDX-License-Identifier: MIT
// Tables of queues and streams, and the interface that libxpreempt reads them through.
#include "hook/queue_table.hpp"

#include "hook/attach.hpp"
#include "hook/copies.hpp"
#include "hook/current_call.hpp"
#include "hook/mutex_lock.hpp"
#include "hook/providers.hpp"
#include "hook/real.hpp"
#include "hook/vram.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <iterator>
#include <optional>
#include <pthread.h>

namespace xpreempt::hook {

pthread_mutex_t update_mutex = PTHREAD_MUTEX_INITIALIZER;

namespace {

struct QueueSlot {
    bool live;
    bool ring_in_vram;
    bool seen;                 // a packet of it
    bool seen_in_hip_call;     // inside a HIP call that the hook interposes
    bool ending;               // the host is destroying it
    std::uint32_t num_streams; // slots with the queue in `seen`
    QueueRecord record;
};

struct StreamSlot {
    bool live;
    bool dying;   // being destroyed: its work is still there, its handle may be a new stream's
    bool graph;   // a graph was launched on it since it was idle
    bool foreign; // its last packet went to a queue that we don't know
    const void* handle; // what the program calls it, see Table::streams_of
    const void* stream; // key
    std::int32_t last;  // slot of the queue of its last packet, or -1
    std::uint64_t birth;
    std::uint64_t seen[max_queues / 64]; // slots of queues with a packet of it
    std::uint64_t busy[max_queues / 64]; // of those, the ones that may still have work of it
    std::uint16_t next;                  // slot of the same bucket, see `buckets`
    std::uint32_t gpu_id;                // of its first queue, also after its end; 0: none yet
};

pthread_mutex_t table_mutex = PTHREAD_MUTEX_INITIALIZER;
QueueSlot queue_slots[max_queues];
StreamSlot stream_slots[max_streams];
std::size_t stream_slots_used; // slots below were live once
std::size_t queue_slots_used;
constexpr std::uint16_t no_slot = 0; // slots are numbered from 1 in buckets
constexpr unsigned bucket_bits = 12;
std::uint16_t buckets[std::size_t{1} << bucket_bits]; // live stream slots by their key
static_assert(max_streams < UINT16_MAX);
std::uint32_t generations;
std::uint64_t births;
std::atomic<std::uint64_t> num_overflows;
std::atomic<bool> any_graph;        // a graph was ever launched
std::uint32_t gpu_ids[max_devices]; // of HIP's devices; 0: not known

// Changes whenever a mapping may have: what a thread remembers is valid for one epoch.
std::atomic<std::uint64_t> epoch{1};

struct Remembered {
    const void* stream;
    const void* hsa_queue;
    std::uint64_t epoch;
};
constinit thread_local Remembered remembered{};

// The queue that this thread last reported as seen.
struct Seen {
    const void* hsa_queue;
    std::uint64_t epoch;
    bool in_hip_call;
};
constinit thread_local Seen seen_here{};

using QueueSet = std::uint64_t[max_queues / 64];

bool contains(const QueueSet& set, std::size_t queue) {
    return (set[queue / 64] >> (queue % 64) & 1U) != 0;
}
void insert(QueueSet& set, std::size_t queue) {
    set[queue / 64] |= std::uint64_t{1} << (queue % 64);
}
void remove(QueueSet& set, std::size_t queue) {
    set[queue / 64] &= ~(std::uint64_t{1} << (queue % 64));
}
void clear(QueueSet& set) {
    for (std::uint64_t& word : set)
        word = 0;
}

// Calls body(queue) for each slot of the set.
template <typename Body> void for_each(const QueueSet& set, Body body) {
    for (std::size_t word = 0; word < std::size(set); ++word)
        for (std::uint64_t bits = set[word]; bits != 0; bits &= bits - 1)
            body(word * 64 + static_cast<std::size_t>(__builtin_ctzll(bits)));
}

int live_slot(std::uint32_t kfd_queue_id) {
    for (std::size_t i = 0; i < queue_slots_used; ++i)
        if (queue_slots[i].live && queue_slots[i].record.kfd_queue_id == kfd_queue_id)
            return static_cast<int>(i);
    return -1;
}

int live_slot(std::uint32_t kfd_queue_id, std::uint32_t generation) {
    const int slot = live_slot(kfd_queue_id);
    return slot >= 0 && queue_slots[slot].record.generation == generation ? slot : -1;
}

// Keys of one thread's streams differ in their lowest bits only, those of handles in the others.
std::uint16_t& bucket_of(const void* stream) {
    const std::uint64_t mixed =
        reinterpret_cast<std::uintptr_t>(stream) * std::uint64_t{0x9e3779b97f4a7c15};
    return buckets[mixed >> (64 - bucket_bits)];
}

StreamSlot* stream_slot(const void* stream) {
    for (std::uint16_t i = bucket_of(stream); i != no_slot; i = stream_slots[i - 1].next)
        if (stream_slots[i - 1].stream == stream && !stream_slots[i - 1].dying)
            return &stream_slots[i - 1];
    return nullptr;
}

StreamSlot* new_stream_slot(const void* stream) {
    for (std::size_t i = 0; i < max_streams; ++i) {
        StreamSlot& slot = stream_slots[i];
        if (slot.live)
            continue;
        std::uint16_t& first = bucket_of(stream);
        slot = StreamSlot{true, false, false, false, handle_of(stream), stream, -1, ++births,
                          {},   {},    first, 0};
        first = static_cast<std::uint16_t>(i + 1);
        if (i >= stream_slots_used)
            stream_slots_used = i + 1;
        return &slot;
    }
    return nullptr;
}

void free_stream_slot(StreamSlot& slot) {
    const auto number = static_cast<std::uint16_t>(&slot - stream_slots + 1);
    std::uint16_t* link = &bucket_of(slot.stream);
    while (*link != number)
        link = &stream_slots[*link - 1].next;
    *link = slot.next;
    for_each(slot.seen, [](std::size_t queue) { --queue_slots[queue].num_streams; });
    slot.live = false;
}

void clear_queue_slot(std::size_t queue) {
    queue_slots[queue].live = false;
    for (std::size_t i = 0; i < stream_slots_used; ++i) {
        StreamSlot& slot = stream_slots[i];
        remove(slot.seen, queue);
        remove(slot.busy, queue);
        if (slot.last == static_cast<std::int32_t>(queue))
            slot.last = -1;
    }
}

QueueRecord copy_of(const QueueSlot& slot) {
    QueueRecord record = slot.record;
    record.num_streams = slot.num_streams;
    return record;
}

// Fills `out` with make(slot) of the live slots that it has a value for. Returns how many there
// are. Comes with the lock.
template <typename Slot, typename Record, typename Make>
std::uint32_t list(const Slot* slots, std::size_t used, Record* out, std::uint32_t max, Make make) {
    std::uint32_t count = 0;
    for (const Slot* slot = slots; slot != slots + used; ++slot)
        if (const std::optional<Record> record = slot->live ? make(*slot) : std::nullopt) {
            if (count < max)
                out[count] = *record;
            ++count;
        }
    return count;
}

int slot_at(std::uint64_t hsa_queue) {
    for (std::size_t i = 0; i < queue_slots_used; ++i)
        if (queue_slots[i].live && queue_slots[i].record.hsa_queue == hsa_queue)
            return static_cast<int>(i);
    return -1;
}

void next_epoch() {
    epoch.fetch_add(1, std::memory_order_release);
}

// HIP creates a stream's queue on the current device. A launch that creates one is, as a rule, to a
// stream of that device.
void note_gpu(std::uint32_t gpu_id) {
    const CurrentCall& call = current_call;
    if (call.depth != 0 && call.device >= 0 &&
        (call.call_class == CallClass::stream_create || gpu_ids[call.device] == 0))
        gpu_ids[call.device] = gpu_id;
}

// Returns true if the stream's GPU is known to be another device.
bool is_elsewhere(const StreamSlot& slot, int device) {
    if (gpu_ids[device] == 0)
        return slot.gpu_id != 0 && std::ranges::find(gpu_ids, slot.gpu_id) != std::end(gpu_ids);
    return slot.gpu_id != 0 && slot.gpu_id != gpu_ids[device];
}

} // namespace

void add_queue(const QueueRecord& record, bool ring_in_vram) {
    const MutexLock lock(table_mutex);
    // Two live queues of one id can't be: the older one went unseen.
    if (const int old = live_slot(record.kfd_queue_id); old >= 0)
        clear_queue_slot(static_cast<std::size_t>(old));
    for (QueueSlot& slot : queue_slots) {
        if (slot.live)
            continue;
        slot = QueueSlot{true, ring_in_vram, false, false, false, 0, record};
        slot.record.generation = ++generations;
        queue_slots_used = std::max<std::size_t>(queue_slots_used, &slot - queue_slots + 1);
        note_gpu(record.gpu_id);
        next_epoch();
        return;
    }
    num_overflows.fetch_add(1, std::memory_order_relaxed);
}

std::uint32_t begin_destroy_queue(std::uint32_t kfd_queue_id) {
    const MutexLock lock(table_mutex);
    const int slot = live_slot(kfd_queue_id);
    if (slot < 0)
        return 0;
    queue_slots[slot].ending = true;
    return queue_slots[slot].record.generation;
}

void end_destroy_queue(std::uint32_t kfd_queue_id, bool destroyed) {
    const MutexLock lock(table_mutex);
    const int slot = live_slot(kfd_queue_id);
    if (slot >= 0)
        queue_slots[slot].ending = false;
    if (!destroyed)
        return;
    if (slot >= 0)
        clear_queue_slot(static_cast<std::size_t>(slot));
    next_epoch();
}

bool find_queue(std::uint32_t kfd_queue_id, QueueRecord& out) {
    const MutexLock lock(table_mutex);
    const int slot = live_slot(kfd_queue_id);
    if (slot >= 0)
        out = queue_slots[slot].record;
    return slot >= 0;
}

void change_queue(const QueueRecord& record, bool ring_in_vram) {
    const MutexLock lock(table_mutex);
    if (const int slot = live_slot(record.kfd_queue_id, record.generation); slot >= 0) {
        queue_slots[slot].record = record;
        queue_slots[slot].ring_in_vram = ring_in_vram;
    }
}

void forget_file(int fd) {
    const MutexLock lock(table_mutex);
    for (QueueSlot& slot : queue_slots)
        if (slot.live && slot.record.fd == fd)
            slot.record.fd = -1;
}

void drop_stream(const void* stream) {
    const MutexLock lock(table_mutex);
    StreamSlot* slot = stream_slot(stream);
    if (slot == nullptr)
        return;
    free_stream_slot(*slot);
    next_epoch();
}

void drop_streams_of(int device) {
    const MutexLock lock(table_mutex);
    for (std::size_t i = 0; i < stream_slots_used; ++i) {
        StreamSlot& slot = stream_slots[i];
        if (slot.live && !slot.dying && device_of_null(slot.stream) < 0 &&
            !is_elsewhere(slot, device))
            free_stream_slot(slot);
    }
    next_epoch();
}

int begin_destroy_stream(const void* stream) {
    const MutexLock lock(table_mutex);
    StreamSlot* slot = stream_slot(stream);
    if (slot == nullptr)
        return -1;
    slot->dying = true;
    next_epoch();
    return static_cast<int>(slot - stream_slots);
}

void end_destroy_stream(int dying, bool destroyed) {
    if (dying < 0)
        return;
    const MutexLock lock(table_mutex);
    StreamSlot& slot = stream_slots[dying];
    if (destroyed || stream_slot(slot.stream) != nullptr)
        free_stream_slot(slot);
    slot.dying = false;
    next_epoch();
}

void stream_is_idle(const void* stream) {
    if (!any_graph.load(std::memory_order_relaxed))
        return;
    const MutexLock lock(table_mutex);
    StreamSlot* slot = stream_slot(stream);
    if (slot == nullptr || !slot->graph)
        return;
    slot->graph = false;
    clear(slot->busy);
    if (slot->last >= 0)
        insert(slot->busy, static_cast<std::size_t>(slot->last));
}

namespace {

// A stream moves only while it is idle, so a packet in another queue means that the former one has
// nothing of it any more; but a graph spreads over several queues at once.
void note_queue(StreamSlot& slot, std::size_t queue, bool graph) {
    const auto number = static_cast<std::int32_t>(queue);
    if (!contains(slot.seen, queue))
        ++queue_slots[queue].num_streams;
    insert(slot.seen, queue);
    slot.foreign = false;
    if (slot.last == number && contains(slot.busy, queue))
        return;
    // Only the first queue counts: a copy to another device may end on a queue of that device.
    if (slot.gpu_id == 0)
        slot.gpu_id = queue_slots[queue].record.gpu_id;
    if (const int device = device_of_null(slot.stream); device >= 0 && gpu_ids[device] == 0)
        gpu_ids[device] = slot.gpu_id;
    if (graph) {
        slot.graph = true;
        any_graph.store(true, std::memory_order_relaxed);
    }
    if (!slot.graph)
        clear(slot.busy);
    insert(slot.busy, queue);
    // Other threads remember that the stream's last queue was another one.
    if (slot.last != number)
        next_epoch();
    slot.last = number;
}

} // namespace

void note_packet(const void* stream, const void* hsa_queue, bool graph) {
    const std::uint64_t now = epoch.load(std::memory_order_acquire);
    Remembered& mine = remembered;
    if (mine.epoch == now && mine.hsa_queue == hsa_queue && mine.stream == stream)
        return;
    const MutexLock lock(table_mutex);
    StreamSlot* slot = stream_slot(stream);
    if (slot == nullptr)
        slot = new_stream_slot(stream);
    if (slot == nullptr) {
        num_overflows.fetch_add(1, std::memory_order_relaxed);
        return;
    }
    const int queue = slot_at(reinterpret_cast<std::uintptr_t>(hsa_queue));
    if (queue < 0) { // a profiler's proxy, or a queue from before the hook
        if (!slot->foreign || slot->last >= 0)
            next_epoch();
        slot->foreign = true;
        slot->last = -1;
        mine = {stream, hsa_queue, epoch.load(std::memory_order_acquire)};
        return;
    }
    note_queue(*slot, static_cast<std::size_t>(queue), graph);
    mine = {stream, hsa_queue, epoch.load(std::memory_order_acquire)};
}

void note_seen(const void* hsa_queue, bool in_hip_call) {
    const std::uint64_t now = epoch.load(std::memory_order_acquire);
    Seen& mine = seen_here;
    if (mine.epoch == now && mine.hsa_queue == hsa_queue && (mine.in_hip_call || !in_hip_call))
        return;
    const MutexLock lock(table_mutex);
    if (const int slot = slot_at(reinterpret_cast<std::uintptr_t>(hsa_queue)); slot >= 0) {
        queue_slots[slot].seen = true;
        queue_slots[slot].seen_in_hip_call |= in_hip_call;
    }
    mine = {hsa_queue, now, in_hip_call};
}

void forget_everything() {
    update_mutex = PTHREAD_MUTEX_INITIALIZER;
    table_mutex = PTHREAD_MUTEX_INITIALIZER;
    forget_copies();
    forget_vram();
    unlock_providers();
    for (QueueSlot& slot : queue_slots)
        slot.live = false;
    for (StreamSlot& slot : stream_slots)
        slot.live = false;
    std::ranges::fill(buckets, no_slot);
    stream_slots_used = queue_slots_used = 0;
    next_epoch();
}

namespace {

std::uint32_t table_queues(QueueRecord* out, std::uint32_t max) {
    const MutexLock lock(table_mutex);
    return list(queue_slots, queue_slots_used, out, max,
                [](const QueueSlot& slot) { return std::optional(copy_of(slot)); });
}

int table_stream_queue(const void* stream, QueueRecord* out) {
    const void* key = key_of(stream, false);
    const MutexLock lock(table_mutex);
    const StreamSlot* slot = stream_slot(key);
    if (slot != nullptr && slot->foreign)
        return -EXDEV;
    if (slot == nullptr || slot->last < 0)
        return -ENOENT;
    *out = copy_of(queue_slots[slot->last]);
    return 0;
}

std::uint32_t table_streams_of(std::uint32_t kfd_queue_id, std::uint32_t generation,
                               const void** out, std::uint32_t max) {
    const MutexLock lock(table_mutex);
    const int queue = live_slot(kfd_queue_id, generation);
    if (queue < 0)
        return 0;
    return list(stream_slots, stream_slots_used, out, max, [queue](const StreamSlot& slot) {
        const bool seen = contains(slot.seen, static_cast<std::size_t>(queue));
        return seen ? std::optional(slot.handle) : std::nullopt;
    });
}

int table_begin_update(std::uint32_t kfd_queue_id, std::uint32_t generation, QueueRecord* out) {
    pthread_mutex_lock(&update_mutex);
    const MutexLock lock(table_mutex);
    const int queue = live_slot(kfd_queue_id, generation);
    if (queue < 0) {
        pthread_mutex_unlock(&update_mutex);
        return -ESTALE;
    }
    *out = copy_of(queue_slots[queue]);
    return 0;
}

void table_end_update(std::uint32_t kfd_queue_id, std::uint32_t generation, std::uint32_t held) {
    {
        const MutexLock lock(table_mutex);
        if (const int queue = live_slot(kfd_queue_id, generation); queue >= 0)
            queue_slots[queue].record.held = held;
    }
    pthread_mutex_unlock(&update_mutex);
}

std::uint64_t table_overflows() {
    return num_overflows.load(std::memory_order_relaxed);
}

std::uint32_t table_busy_queues(const void* stream, QueueRecord* out, std::uint32_t max) {
    const void* key = key_of(stream, false);
    const MutexLock lock(table_mutex);
    const StreamSlot* slot = stream_slot(key);
    std::uint32_t count = 0;
    if (slot != nullptr)
        for_each(slot->busy, [&](std::size_t queue) {
            if (count < max)
                out[count] = copy_of(queue_slots[queue]);
            ++count;
        });
    return count;
}

const void* table_stream_key(const void* handle) {
    return key_of(handle, false);
}

void table_set_gate(const Gate* wanted) {
    const Gate* now = gate.load(std::memory_order_acquire);
    if (now != nullptr && wanted != nullptr && now->before != wanted->before) {
        static constinit std::atomic<bool> reported{false};
        if (!reported.exchange(true))
            std::fputs("libxpreempt-hook: this process has two copies of libxpreempt; calls of HIP "
                       "do not wait for streams that the second one holds: load one copy\n",
                       stderr);
        return;
    }
    gate.store(wanted, std::memory_order_release);
}

std::uint32_t table_streams(StreamRecord* out, std::uint32_t max) {
    const MutexLock lock(table_mutex);
    return list(stream_slots, stream_slots_used, out, max, [](const StreamSlot& slot) {
        const StreamRecord record{slot.stream, slot.handle, slot.birth};
        return slot.dying ? std::nullopt : std::optional(record);
    });
}

bool table_attach() {
    attach();
    return !bound_by_linker();
}

void table_begin_reading() {
    pthread_mutex_lock(&update_mutex);
}

void table_end_reading() {
    pthread_mutex_unlock(&update_mutex);
}

std::uint32_t table_rings(RingRecord* out, std::uint32_t max) {
    const MutexLock lock(table_mutex);
    return list(queue_slots, queue_slots_used, out, max, [](const QueueSlot& slot) {
        return std::optional(RingRecord{slot.record.kfd_queue_id, slot.record.generation,
                                        slot.ring_in_vram ? 1U : 0U, slot.seen ? 1U : 0U,
                                        slot.seen_in_hip_call ? 1U : 0U});
    });
}

std::uint64_t table_birth_of(const void* stream) {
    const MutexLock lock(table_mutex);
    const StreamSlot* slot = stream_slot(stream);
    return slot != nullptr ? slot->birth : 0;
}

int table_is_elsewhere(const void* stream) {
    const int device = current_device();
    if (const int of_null = device_of_null(stream); of_null >= 0)
        return of_null != device ? 1 : 0;
    const MutexLock lock(table_mutex);
    const StreamSlot* slot = stream_slot(stream);
    return slot != nullptr && is_elsewhere(*slot, device) ? 1 : 0;
}

int table_check_queue(std::uint32_t kfd_queue_id, std::uint32_t generation) {
    const MutexLock lock(table_mutex);
    const int queue = live_slot(kfd_queue_id, generation);
    return queue < 0 ? -ESTALE : queue_slots[queue].ending ? -EBUSY : 0;
}

constexpr Table table{
    sizeof(Table),     table_queues,       table_stream_queue, table_streams_of,
    real_kfd_ioctl,    table_begin_update, table_end_update,   table_overflows,
    table_stream_key,  table_busy_queues,  table_set_gate,     table_attach,
    queues_before,     log_packets,        table_streams,      table_begin_reading,
    table_end_reading, unfinished_copies,  in_event_thread,    call_packets,
    table_rings,       device_of_null,     table_birth_of,     table_is_elsewhere,
    library_runtime,   table_check_queue};

} // namespace

} // namespace xpreempt::hook

__attribute__((visibility("default"))) const xpreempt::hook::Table* xpreempt_hook_table() {
    return &xpreempt::hook::table;
}
