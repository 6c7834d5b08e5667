// SPDX-License-Identifier: MIT
// Memory of the fake HIP runtime, a part of fake_rocm.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <new>
#include <utility>

static std::map<const void*, int> allocated; // on which device; a reset frees it

static int allocate(void** memory, std::size_t bytes) {
    *memory = ::operator new(bytes, std::nothrow);
    if (*memory == nullptr)
        return out_of_memory;
    const std::lock_guard lock(hip_mutex);
    allocated[*memory] = current_device;
    return 0;
}

EXPORT int hipMalloc(void** memory, std::size_t bytes) {
    if (ends_captures())
        return 900;
    const int error = allocate(memory, bytes);
    fake_behaviour.allocated += error == 0 ? 1 : 0;
    return error;
}
EXPORT int hipHostMalloc(void** memory, std::size_t bytes, unsigned) {
    if (fake_behaviour.in_host_malloc != nullptr)
        fake_behaviour.in_host_malloc();
    if (ends_captures())
        return 900;
    return allocate(memory, bytes);
}
EXPORT int hipDeviceSynchronize() {
    return 0;
}
EXPORT int hipFree(void* memory) {
    {
        const std::lock_guard lock(hip_mutex);
        allocated.erase(memory);
    }
    ::operator delete(memory);
    return 0;
}
EXPORT int hipMallocAsync(void** memory, std::size_t bytes, void*) {
    *memory = ::operator new(bytes, std::nothrow);
    return *memory == nullptr ? out_of_memory : 0;
}
EXPORT int hipFreeAsync(void* memory, void*) {
    ++fake_hip()->freed_in_order;
    ::operator delete(memory);
    return 0;
}
EXPORT bool fake_any_held() {
    const std::lock_guard lock(driver.mutex);
    return std::ranges::any_of(driver.told.queues, [](const fake::Queue& queue) {
        return queue.ring_base != 0 && queue.is_stopped();
    });
}
// The real one waits for all streams.
EXPORT void __hipUnregisterFatBinary(void**) { // NOLINT(bugprone-reserved-identifier): its name
    fake_behaviour.unloaded_held |= fake_any_held();
}
// Waits for the branches of its launches, before HIP 6.2.
EXPORT int hipGraphExecDestroy(void*) {
    fake_behaviour.unloaded_held |= fake_any_held();
    return 0;
}
EXPORT int hipIpcCloseMemHandle(void*) {
    return 0;
}
EXPORT int hipDestroySurfaceObject(void*) {
    return 0;
}
EXPORT int hipDestroyTextureObject(void*) {
    return 0;
}
EXPORT int hipTexObjectDestroy(void*) {
    return 0;
}
EXPORT int hipUnbindTexture(const void*) {
    return 0;
}
EXPORT int hipMemMap(void*, std::size_t, std::size_t, void*, std::uint64_t) {
    put_packet(nullptr);
    return 0;
}
EXPORT int hipMemcpyDtoD(void*, void*, std::size_t) {
    if (ends_captures())
        return 900;
    put_packet(nullptr);
    return 0;
}
// The last packet is on a queue of the other device.
EXPORT int hipMemcpyPeerAsync(void*, int to, const void*, int, std::size_t, void* stream) {
    put_packet(stream);
    const int device = std::exchange(current_device, to);
    put_packet(nullptr);
    current_device = device;
    return 0;
}
// Frees what was allocated on the device, and keeps its queues.
EXPORT int hipDeviceReset() {
    for (const void* stream : living())
        if (static_cast<const Stream*>(stream)->device == current_device)
            note_death(stream); // the object stays
    const std::lock_guard lock(hip_mutex);
    std::erase_if(allocated, [](const auto& memory) {
        if (memory.second == current_device)
            ::operator delete(const_cast<void*>(memory.first));
        return memory.second == current_device;
    });
    return 0;
}
// Does nothing, as in ROCm.
EXPORT int hipDevicePrimaryCtxReset(int) {
    return 0;
}
