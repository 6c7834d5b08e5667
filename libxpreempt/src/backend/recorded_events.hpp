// SPDX-License-Identifier: MIT
// On which stream an event was recorded last, by the event's address: a later event may take the
// place of an earlier one.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <thread>

namespace xpreempt::backend {

// Thread-safe; a record costs a few nanoseconds, because every one of the program is noted.
class RecordedEvents {
public:
    struct Where {
        const void* stream; // key
        const void* handle;
    };

    void note(const void* event, const Where& where) {
        Slot& slot = slot_of(event);
        const std::lock_guard turn(slot);
        slot.event = event;
        slot.where = where;
    }
    std::optional<Where> find(const void* event) {
        Slot& slot = slot_of(event);
        const std::lock_guard turn(slot);
        return slot.event == event ? std::optional(slot.where) : std::nullopt;
    }

private:
    struct Slot {
        void lock() {
            while (taken.test_and_set(std::memory_order_acquire))
                std::this_thread::yield();
        }
        void unlock() { taken.clear(std::memory_order_release); }

        std::atomic_flag taken;
        const void* event = nullptr;
        Where where{};
    };

    Slot& slot_of(const void* event) {
        return slots_[(reinterpret_cast<std::uintptr_t>(event) >> 4U) % slots_.size()];
    }

    std::array<Slot, 1024> slots_;
};

} // namespace xpreempt::backend
