// SPDX-License-Identifier: MIT
// Handles for C: table index and generation, so that a stale one is an error and not a crash.
#pragma once

#include "base/error.hpp"

#include <cerrno>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace xpreempt {

// Objects are shared so that a handle closed by one thread leaves the object whole for a call that
// another thread is in; the last of them destroys it. Never zero: a zeroed handle is stale too.
template <typename T> class HandleTable {
public:
    std::uint64_t insert(std::shared_ptr<T> object) {
        const std::lock_guard lock(mutex_);
        if (free_.capacity() <= slots_.size()) // remove() must not allocate
            free_.reserve(2 * slots_.size() + 1);
        std::size_t index = slots_.size();
        if (free_.empty()) {
            slots_.emplace_back();
        } else {
            index = free_.back();
            free_.pop_back();
        }
        slots_[index].object = std::move(object);
        return handle(index);
    }

    Result<std::shared_ptr<T>> find(std::uint64_t value) const {
        const std::lock_guard lock(mutex_);
        return slots_[TRY(index_of(value))].object;
    }

    Result<std::shared_ptr<T>> remove(std::uint64_t value) {
        const std::lock_guard lock(mutex_);
        const std::size_t index = TRY(index_of(value));
        free_.push_back(index);
        ++slots_[index].generation;
        return std::move(slots_[index].object);
    }

    void lock() { mutex_.lock(); }
    void unlock() { mutex_.unlock(); }

    // With their handles.
    std::vector<std::pair<std::uint64_t, std::shared_ptr<T>>> entries() const {
        const std::lock_guard lock(mutex_);
        std::vector<std::pair<std::uint64_t, std::shared_ptr<T>>> found;
        for (std::size_t index = 0; index < slots_.size(); ++index)
            if (slots_[index].object)
                found.emplace_back(handle(index), slots_[index].object);
        return found;
    }

private:
    struct Slot {
        std::shared_ptr<T> object;
        std::uint32_t generation = 1;
    };

    std::uint64_t handle(std::size_t index) const {
        return std::uint64_t{slots_[index].generation} << 32 | index;
    }
    Result<std::size_t> index_of(std::uint64_t value) const {
        const std::size_t index = value & 0xffffffffU;
        if (index >= slots_.size() || !slots_[index].object || handle(index) != value)
            return fail(EBADF, Op::handle, static_cast<std::uint32_t>(index));
        return index;
    }
    mutable std::mutex mutex_;
    std::vector<Slot> slots_;
    std::vector<std::size_t> free_;
};

} // namespace xpreempt
