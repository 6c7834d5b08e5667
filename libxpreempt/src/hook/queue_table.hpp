// SPDX-License-Identifier: MIT
// The queues of this process and the streams seen on them. Fixed memory: it works inside hsa_init.
#pragma once

#include "hook/table.hpp"

#include <cstddef>
#include <cstdint>
#include <pthread.h>

namespace xpreempt::hook {

constexpr std::size_t max_queues = 512; // KFD: 127 a process and GPU, 255 on gfx9.4.3
constexpr std::size_t max_streams = 4096;

// Lock order: this one before the table's own, short one. Held across those ioctls of the host that
// create, change or destroy a queue.
extern pthread_mutex_t update_mutex;

void add_queue(const QueueRecord& record, bool ring_in_vram); // generation is filled in here
bool find_queue(std::uint32_t kfd_queue_id, QueueRecord& out);
// Marks the live queue of that id as one that is being destroyed. Returns its generation, 0 if
// there is none. The second call removes the mark, and the queue if it was destroyed.
std::uint32_t begin_destroy_queue(std::uint32_t kfd_queue_id);
void end_destroy_queue(std::uint32_t kfd_queue_id, bool destroyed);
void change_queue(const QueueRecord& record, bool ring_in_vram); // by id and generation
void forget_file(int fd);

// Streams are named by their keys here, see Table::stream_key.
void drop_stream(const void* stream);

// The device was reset: HIP has destroyed its streams except the null stream, and may keep their
// queues. Drops streams of an unknown GPU, too: a stream that is gone could block its successor.
void drop_streams_of(int device);

// While it is being destroyed a stream counts for its queue's sharing set, but its handle may
// already be that of a new one. The number is for the second call.
int begin_destroy_stream(const void* stream);
void end_destroy_stream(int dying, bool destroyed);

// All that was put on the stream has completed.
void stream_is_idle(const void* stream);

// A packet of the stream was reserved in the queue. Cheap when nothing changed since this thread's
// last packet.
void note_packet(const void* stream, const void* hsa_queue, bool graph);

// A call of ROCr brought a packet into the queue, inside a HIP call or not. Cheap as note_packet().
void note_seen(const void* hsa_queue, bool in_hip_call);

// After fork the child has neither queues nor streams.
void forget_everything();

} // namespace xpreempt::hook
