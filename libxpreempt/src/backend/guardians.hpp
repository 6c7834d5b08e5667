// SPDX-License-Identifier: MIT
// The words in memory where host and kernels settle whether a guarded command runs.
#pragma once

#include "base/error.hpp"
#include "hip/runtime.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace xpreempt::backend {

// xp_guardian_t, as kernels get it.
struct Guardian {
    std::uint32_t* decision = nullptr;
    std::uint32_t* copy = nullptr;
    std::uint32_t launch = 0;
    std::uint32_t reserved = 0;
};

enum Decision : std::uint32_t { undecided = 0, run = 1, skip = 2 };

// Guardians of one xqueue, used in turn. One thread at a time.
class GuardianRing {
public:
    static constexpr std::uint32_t num_slots = 1024;

    // decisions and copies: num_slots words each; copies may be null. Neither is freed: hipFree
    // would wait for every stream, also for one that is held. resets: of devices, until now.
    GuardianRing(std::uint32_t* decisions, std::uint32_t* copies, int device,
                 std::uint64_t resets = 0)
        : decisions_(decisions), copies_(copies), device_(device), resets_(resets) {}

    [[nodiscard]] int device() const { return device_; }
    [[nodiscard]] std::uint64_t resets() const { return resets_; }
    // Arms a guardian for a new launch. Returns false if all slots are in use.
    bool arm(Guardian& guardian);
    // Frees the oldest `count` slots: no kernel reads them any more.
    void retire(std::uint32_t count) { oldest_ += count; }
    void retire_all() { oldest_ = next_; }
    // True: the command doesn't run. False: it runs, or has run.
    static bool take_back(const Guardian& guardian);

private:
    std::uint32_t* decisions_;
    std::uint32_t* copies_;
    int device_;
    std::uint64_t resets_;
    std::uint64_t oldest_ = 0, next_ = 0; // slots in use
    std::uint32_t launches_ = 0;
};

// Rings of all xqueues that there were. Thread-safe.
class GuardianPool {
public:
    // A new one is prepared by a fill on the stream: launches behind it may use it.
    Result<std::unique_ptr<GuardianRing>> acquire(const hip::Functions& hip, hip::Stream stream);
    // All of its guardians are retired.
    void give_back(std::unique_ptr<GuardianRing> ring);
    // A device was reset, which has freed its memory: no ring of before is given out again.
    void note_reset();

private:
    std::atomic<std::uint64_t> resets_{0};
    std::mutex mutex_;
    std::vector<std::unique_ptr<GuardianRing>> free_;
};

} // namespace xpreempt::backend
