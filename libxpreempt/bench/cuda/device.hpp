// SPDX-License-Identifier: MIT
// One GPU of the CUDA driver: its context, the benchmark's kernels, streams and mapped memory.
#pragma once

#include "driver.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

namespace cuda {

// Facts that a figure depends on.
struct MachineFacts {
    std::string gpu;
    std::string driver;
    std::string clocks;
};

// Throws std::runtime_error when a call of the driver fails: a benchmark can't continue then.
class Device {
public:
    explicit Device(const Driver& driver);

    [[nodiscard]] const Driver& driver() const { return driver_; }
    [[nodiscard]] MachineFacts facts() const;

    // Makes the context the calling thread's. The functions below need it.
    void make_current() const {
        static thread_local bool current = false;
        if (!current)
            check("cuCtxSetCurrent", driver_.context_set_current(context_));
        current = true;
    }

    [[nodiscard]] Handle create_stream() const { return create_stream(0); }
    [[nodiscard]] Handle create_stream(int priority) const;
    [[nodiscard]] int greatest_priority() const { return greatest_priority_; }
    [[nodiscard]] int least_priority() const { return least_priority_; }
    void synchronize(Handle stream) const;

    // Blocks of a kernel that fills all multiprocessors with threads, and the threads of a block.
    [[nodiscard]] unsigned full_grid() const { return full_grid_; }
    static constexpr unsigned full_block = 1024;

    // Return CUDA's error.
    int launch_tiny(Handle stream) const;
    int launch_spin(Handle stream, std::uint64_t ns) const;
    struct Stamp {
        std::uint64_t ns;
        Address times;
        Address progress;
        std::uint32_t number;
        Address arrivals;
        bool full; // on all multiprocessors; otherwise one thread
    };
    int launch_stamp(Handle stream, Stamp& stamp) const;
    int launch_answer(Handle stream, Address mailbox, Address times) const;

    void check(const char* call, int error) const;

private:
    Handle function(Handle module, const char* name) const;
    [[nodiscard]] int attribute(int which) const;
    int launch(Handle function, unsigned grid, unsigned block, Handle stream,
               void** parameters) const;

    const Driver& driver_;
    int device_ = 0;
    Handle context_ = nullptr;
    Handle tiny_ = nullptr, spin_ = nullptr, stamp_ = nullptr, answer_ = nullptr;
    int least_priority_ = 0, greatest_priority_ = 0;
    unsigned full_grid_ = 1;
};

// Zeroed memory of the host that kernels see too.
class MappedMemory {
public:
    MappedMemory(const Device& device, std::size_t bytes);
    ~MappedMemory() { (void)device_.driver().host_free(memory_); }
    MappedMemory(const MappedMemory&) = delete;
    MappedMemory& operator=(const MappedMemory&) = delete;
    MappedMemory(MappedMemory&&) = delete;
    MappedMemory& operator=(MappedMemory&&) = delete;

    template <typename T> [[nodiscard]] T* at(std::size_t byte) const {
        return reinterpret_cast<T*>(static_cast<unsigned char*>(memory_) + byte);
    }
    [[nodiscard]] Address address(std::size_t byte) const { return address_ + byte; }

private:
    const Device& device_;
    void* memory_ = nullptr;
    Address address_ = 0; // for kernels
};

// Zeroed memory of the GPU.
class DeviceMemory {
public:
    DeviceMemory(const Device& device, std::size_t bytes);
    ~DeviceMemory() { (void)device_.driver().memory_free(address_); }
    DeviceMemory(const DeviceMemory&) = delete;
    DeviceMemory& operator=(const DeviceMemory&) = delete;
    DeviceMemory(DeviceMemory&&) = delete;
    DeviceMemory& operator=(DeviceMemory&&) = delete;

    [[nodiscard]] Address address() const { return address_; }

private:
    const Device& device_;
    Address address_ = 0;
};

} // namespace cuda
