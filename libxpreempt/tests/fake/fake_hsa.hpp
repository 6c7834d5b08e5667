// SPDX-License-Identifier: MIT
// The functions of the fake HSA runtime, a part of fake_rocm.cpp: indices of queues, signals,
// copies.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

EXPORT std::uint64_t hsa_queue_add_write_index_screlease(const void* queue, std::uint64_t value) {
    auto* index = reinterpret_cast<std::atomic<std::uint64_t>*>(
        const_cast<unsigned char*>(static_cast<const unsigned char*>(queue)) + 0x38);
    return index->fetch_add(value);
}

EXPORT std::uint64_t hsa_queue_load_write_index_relaxed(const void* queue) {
    return reinterpret_cast<const std::atomic<std::uint64_t>*>(
               static_cast<const unsigned char*>(queue) + 0x38)
        ->load();
}
EXPORT void hsa_queue_store_write_index_screlease(const void* queue, std::uint64_t value) {
    reinterpret_cast<std::atomic<std::uint64_t>*>(
        const_cast<unsigned char*>(static_cast<const unsigned char*>(queue)) + 0x38)
        ->store(value);
}
EXPORT void hsa_signal_store_screlease(std::uint64_t, std::int64_t) {}
EXPORT int hsa_amd_memory_async_copy(void*, std::uint64_t, const void*, std::uint64_t, std::size_t,
                                     std::uint32_t, const std::uint64_t*, std::uint64_t) {
    return 0;
}
EXPORT int hsa_shut_down() {
    return 0;
}
