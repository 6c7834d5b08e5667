// SPDX-License-Identifier: MIT
// Memory as PyTorch's caching allocator gives it: blocks of segments, kept by stream and size
// class. A freed block is used again by later work of its stream at once, and by no other stream.
// If another stream has used it too, it is free when the work of that stream until then is done,
// which events tell. Blocks of a capture are in a pool of their own, because a graph uses them at
// each launch.
#pragma once

#include "../check.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <tuple>

namespace models {

class CachingAllocator {
public:
    struct Block {
        char* begin;
        std::size_t bytes;
        hipStream_t stream;
        int pool; // 0, or that of a capture
        Block* before = nullptr;
        Block* after = nullptr;
        bool used = false;
        bool is_old = false;              // has been used before
        std::vector<hipStream_t> users{}; // other streams
        int pending = 0;                  // events of these
    };
    using Memory = std::shared_ptr<Block>;

    struct Counts {
        unsigned long long blocks = 0;   // handed out
        unsigned long long reused = 0;   // of those, blocks that had been used before
        unsigned long long waited = 0;   // freed blocks that waited for events
        unsigned long long segments = 0; // of HIP
    };

    CachingAllocator() = default;
    CachingAllocator(const CachingAllocator&) = delete;
    CachingAllocator& operator=(const CachingAllocator&) = delete;
    ~CachingAllocator() {
        (void)hipDeviceSynchronize();
        for (auto& [stream, events] : pending_)
            for (const Pending& each : events)
                idle_events_.push_back(each.event);
        for (hipEvent_t event : idle_events_)
            (void)hipEventDestroy(event);
        for (char* segment : segments_)
            (void)hipFree(segment);
    }

    Memory allocate(std::size_t bytes, hipStream_t stream) {
        const std::lock_guard lock(mutex_);
        // An event may not be asked while a stream is captured.
        if (captures_ == 0)
            take_back();
        Block* const block = find((bytes + unit - 1) / unit * unit, stream);
        block->used = true;
        ++counts_.blocks;
        return {block, [this](Block* freed) { free(freed); }};
    }

    // A stream other than the block's uses it from now on.
    void record(const Memory& memory, hipStream_t stream) {
        const std::lock_guard lock(mutex_);
        std::vector<hipStream_t>& users = memory->users;
        if (stream != memory->stream && std::count(users.begin(), users.end(), stream) == 0)
            users.push_back(stream);
    }

    // From begin to end the streams allocate from a new pool, whose number this returns.
    int begin_capture(const std::vector<hipStream_t>& streams) {
        const std::lock_guard lock(mutex_);
        ++captures_;
        ++pools_;
        for (hipStream_t stream : streams)
            pool_of_[stream] = pools_;
        return pools_;
    }
    void end_capture(const std::vector<hipStream_t>& streams) {
        const std::lock_guard lock(mutex_);
        --captures_;
        for (hipStream_t stream : streams)
            pool_of_.erase(stream);
    }

    // The graph of the capture is gone, and its launches are done.
    void release(int pool) {
        const std::lock_guard lock(mutex_);
        for (const auto& block : blocks_) {
            if (block->pool != pool)
                continue;
            const bool large = size_of_segment(block.get()) >= large_segment;
            const std::size_t erased = free_[{pool, block->stream, large}].erase(block.get());
            block->pool = 0;
            if (erased != 0)
                free_[{0, block->stream, large}].insert(block.get());
        }
    }

    [[nodiscard]] Counts counts() const {
        const std::lock_guard lock(mutex_);
        return counts_;
    }

private:
    static constexpr std::size_t unit = 512;
    static constexpr std::size_t most_of_small = std::size_t{1} << 20;
    static constexpr std::size_t small_segment = std::size_t{2} << 20;
    static constexpr std::size_t large_segment = std::size_t{20} << 20;

    struct Smaller {
        bool operator()(const Block* a, const Block* b) const {
            return a->bytes != b->bytes ? a->bytes < b->bytes : a->begin < b->begin;
        }
    };
    using Free = std::set<Block*, Smaller>;
    struct Key {
        int pool;
        hipStream_t stream;
        bool large;
        bool operator<(const Key& other) const {
            return std::tie(pool, stream, large) < std::tie(other.pool, other.stream, other.large);
        }
    };
    struct Pending {
        hipEvent_t event;
        Block* block;
    };

    Block* find(std::size_t bytes, hipStream_t stream) {
        const auto captured = pool_of_.find(stream);
        const int pool = captured == pool_of_.end() ? 0 : captured->second;
        const bool large = bytes > most_of_small;
        Free& free = free_[{pool, stream, large}];
        Block wanted{nullptr, bytes, stream, pool};
        auto found = free.lower_bound(&wanted);
        if (found == free.end())
            found = free.insert(segment(bytes, stream, pool)).first;
        Block* const block = *found;
        counts_.reused += block->is_old ? 1 : 0;
        free.erase(found);
        if (block->bytes > bytes)
            free.insert(split(block, bytes));
        return block;
    }

    // A segment of the stream that nothing uses, such as one of an earlier capture, or a new one.
    Block* segment(std::size_t bytes, hipStream_t stream, int pool) {
        Free& free = free_[{0, stream, bytes > most_of_small}];
        for (Block* block : free) {
            if (block->bytes < bytes || block->before != nullptr || block->after != nullptr)
                continue;
            free.erase(block);
            block->pool = pool;
            return block;
        }
        return new_segment(bytes, stream, pool);
    }

    // hipMalloc() would end a capture of this thread, so the thread is in the relaxed mode
    // meanwhile.
    Block* new_segment(std::size_t bytes, hipStream_t stream, int pool) {
        const std::size_t least = bytes > most_of_small ? large_segment : small_segment;
        const std::size_t whole =
            std::max(least, (bytes + small_segment - 1) / small_segment * small_segment);
        hipStreamCaptureMode mode = hipStreamCaptureModeRelaxed;
        HIP_MUST(hipThreadExchangeStreamCaptureMode(&mode));
        char* begin = nullptr;
        HIP_MUST(hipMalloc(reinterpret_cast<void**>(&begin), whole));
        HIP_MUST(hipThreadExchangeStreamCaptureMode(&mode));
        segments_.push_back(begin);
        ++counts_.segments;
        return add({begin, whole, stream, pool});
    }

    Block* add(Block block) {
        blocks_.push_back(std::make_unique<Block>(std::move(block)));
        return blocks_.back().get();
    }

    // Returns the rest.
    Block* split(Block* block, std::size_t bytes) {
        Block* const rest =
            add({block->begin + bytes, block->bytes - bytes, block->stream, block->pool});
        rest->is_old = block->is_old;
        rest->before = block;
        rest->after = block->after;
        if (rest->after != nullptr)
            rest->after->before = rest;
        block->after = rest;
        block->bytes = bytes;
        return rest;
    }

    void free(Block* block) {
        const std::lock_guard lock(mutex_);
        if (block->users.empty()) {
            put_back(block);
        } else {
            ++counts_.waited;
            unrecorded_.push_back(block);
            if (captures_ == 0)
                record_events();
        }
    }

    // Not in a capture, where an event would become part of a graph.
    void record_events() {
        for (Block* block : unrecorded_) {
            for (hipStream_t stream : block->users) {
                hipEvent_t const event = idle_event();
                HIP_MUST(hipEventRecord(event, stream));
                ++block->pending;
                pending_[stream].push_back({event, block});
            }
            block->users.clear();
        }
        unrecorded_.clear();
    }

    hipEvent_t idle_event() {
        hipEvent_t event = nullptr;
        if (idle_events_.empty()) {
            HIP_MUST(hipEventCreateWithFlags(&event, hipEventDisableTiming));
        } else {
            event = idle_events_.back();
            idle_events_.pop_back();
        }
        return event;
    }

    // The events of a stream end in their order, so the first that has not ended is the last query.
    void take_back() {
        record_events();
        for (auto& [stream, events] : pending_)
            while (!events.empty() && has_ended(events.front().event)) {
                const Pending first = events.front();
                events.pop_front();
                idle_events_.push_back(first.event);
                if (--first.block->pending == 0)
                    put_back(first.block);
            }
    }

    static bool has_ended(hipEvent_t event) {
        const hipError_t error = hipEventQuery(event);
        if (error == hipErrorNotReady) {
            (void)hipGetLastError();
            return false;
        }
        HIP_MUST(error);
        return true;
    }

    void put_back(Block* block) {
        const bool large = size_of_segment(block) >= large_segment;
        Free& free = free_[{block->pool, block->stream, large}];
        block->used = false;
        block->is_old = true;
        if (Block* const after = block->after; after != nullptr && !after->used) {
            free.erase(after);
            absorb(block, after);
        }
        if (Block* const before = block->before; before != nullptr && !before->used) {
            free.erase(before);
            absorb(before, block);
            block = before;
        }
        free.insert(block);
    }

    static std::size_t size_of_segment(const Block* block) {
        while (block->before != nullptr)
            block = block->before;
        std::size_t bytes = 0;
        for (; block != nullptr; block = block->after)
            bytes += block->bytes;
        return bytes;
    }

    void absorb(Block* block, Block* next) {
        block->bytes += next->bytes;
        block->is_old = true;
        block->after = next->after;
        if (block->after != nullptr)
            block->after->before = block;
        std::erase_if(blocks_, [&](const auto& each) { return each.get() == next; });
    }

    mutable std::mutex mutex_;
    std::vector<std::unique_ptr<Block>> blocks_;
    std::vector<char*> segments_;
    std::map<Key, Free> free_;
    std::vector<Block*> unrecorded_;
    std::map<hipStream_t, std::deque<Pending>> pending_;
    std::vector<hipEvent_t> idle_events_;
    std::map<hipStream_t, int> pool_of_;
    int pools_ = 0;
    int captures_ = 0;
    Counts counts_;
};

} // namespace models
