// SPDX-License-Identifier: MIT
// Sets the GPU up, and launches the kernels by name.
#include "device.hpp"

#include "kernels.hpp"

#include <array>
#include <cstring>
#include <dlfcn.h>
#include <fstream>
#include <stdexcept>

namespace cuda {

namespace {

// NVIDIA's management library. "" where a clock can't be read.
std::string current_clocks() {
    void* library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr)
        return "";
    using Init = int();
    using GetHandle = int(unsigned, void**);
    using GetClock = int(void*, int, unsigned*);
    auto* init = reinterpret_cast<Init*>(dlsym(library, "nvmlInit_v2"));
    auto* get_handle =
        reinterpret_cast<GetHandle*>(dlsym(library, "nvmlDeviceGetHandleByIndex_v2"));
    auto* get_clock = reinterpret_cast<GetClock*>(dlsym(library, "nvmlDeviceGetClockInfo"));
    auto* get_maximum = reinterpret_cast<GetClock*>(dlsym(library, "nvmlDeviceGetMaxClockInfo"));
    void* device = nullptr;
    if (init == nullptr || get_handle == nullptr || get_clock == nullptr ||
        get_maximum == nullptr || init() != 0 || get_handle(0, &device) != 0)
        return "";
    constexpr int sm = 1, memory = 2; // nvmlClockType_t
    unsigned now = 0, maximum = 0, memory_now = 0;
    if (get_clock(device, sm, &now) != 0 || get_maximum(device, sm, &maximum) != 0 ||
        get_clock(device, memory, &memory_now) != 0)
        return "";
    return "SM " + std::to_string(now) + " MHz (at most " + std::to_string(maximum) + "), memory " +
           std::to_string(memory_now) + " MHz";
}

std::string driver_version(const Driver& driver) {
    int version = 0;
    (void)driver.driver_get_version(&version);
    const std::string cuda =
        "CUDA " + std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
    std::ifstream file("/sys/module/nvidia/version");
    std::string kernel_module;
    if (driver.count_calls != nullptr)
        return cuda + ", fake driver";
    return file >> kernel_module ? kernel_module + ", " + cuda : cuda;
}

} // namespace

Device::Device(const Driver& driver) : driver_(driver) {
    int devices = 0;
    check("cuDeviceGetCount", driver_.device_get_count(&devices));
    if (devices == 0)
        throw std::runtime_error("the CUDA driver finds no GPU");
    check("cuDeviceGet", driver_.device_get(&device_, 0));
    check("cuDevicePrimaryCtxRetain", driver_.primary_context_retain(&context_, device_));
    make_current();
    check("cuCtxGetStreamPriorityRange",
          driver_.stream_priority_range(&least_priority_, &greatest_priority_));
    Handle module = nullptr;
    check("cuModuleLoadData", driver_.module_load_data(&module, kernel_text));
    tiny_ = function(module, "tiny");
    spin_ = function(module, "spin");
    stamp_ = function(module, "stamp");
    answer_ = function(module, "answer");
    const int threads =
        attribute(attribute_multiprocessors) * attribute(attribute_threads_per_multiprocessor);
    full_grid_ = static_cast<unsigned>(threads) / full_block;
}

void Device::check(const char* call, int error) const {
    if (error != success)
        throw std::runtime_error(describe(driver_, call, error));
}

Handle Device::function(Handle module, const char* name) const {
    Handle found = nullptr;
    check("cuModuleGetFunction", driver_.module_get_function(&found, module, name));
    return found;
}

int Device::attribute(int which) const {
    int value = 0;
    check("cuDeviceGetAttribute", driver_.device_get_attribute(&value, which, device_));
    return value;
}

MachineFacts Device::facts() const {
    std::array<char, 256> name{};
    check("cuDeviceGetName", driver_.device_get_name(name.data(), name.size() - 1, device_));
    std::string clocks = current_clocks();
    if (clocks.empty())
        clocks = "SM at most " + std::to_string(attribute(attribute_clock_khz) / 1000) + " MHz";
    return {name.data(), driver_version(driver_), clocks};
}

Handle Device::create_stream(int priority) const {
    Handle stream = nullptr;
    check("cuStreamCreateWithPriority",
          driver_.stream_create(&stream, stream_non_blocking, priority));
    return stream;
}

void Device::synchronize(Handle stream) const {
    check("cuStreamSynchronize", driver_.stream_synchronize(stream));
}

int Device::launch(Handle function, unsigned grid, unsigned block, Handle stream,
                   void** parameters) const {
    make_current();
    return driver_.launch_kernel(function, grid, 1, 1, block, 1, 1, 0, stream, parameters, nullptr);
}

int Device::launch_tiny(Handle stream) const {
    return launch(tiny_, 1, 1, stream, nullptr);
}

int Device::launch_spin(Handle stream, std::uint64_t ns) const {
    std::array<void*, 1> parameters{&ns};
    return launch(spin_, 1, 1, stream, parameters.data());
}

int Device::launch_stamp(Handle stream, Stamp& stamp) const {
    std::array<void*, 5> parameters{&stamp.ns, &stamp.times, &stamp.progress, &stamp.number,
                                    &stamp.arrivals};
    return launch(stamp_, stamp.full ? full_grid_ : 1, stamp.full ? full_block : 1, stream,
                  parameters.data());
}

int Device::launch_answer(Handle stream, Address mailbox, Address times) const {
    std::array<void*, 2> parameters{&mailbox, &times};
    return launch(answer_, 1, 1, stream, parameters.data());
}

MappedMemory::MappedMemory(const Device& device, std::size_t bytes) : device_(device) {
    device.check("cuMemHostAlloc", device.driver().host_alloc(
                                       &memory_, bytes, host_alloc_portable | host_alloc_mapped));
    std::memset(memory_, 0, bytes);
    device.check("cuMemHostGetDevicePointer",
                 device.driver().host_get_device_pointer(&address_, memory_, 0));
}

DeviceMemory::DeviceMemory(const Device& device, std::size_t bytes) : device_(device) {
    const Driver& driver = device.driver();
    device.check("cuMemAlloc", driver.memory_alloc(&address_, bytes));
    device.check("cuMemsetD8Async", driver.memset_async(address_, 0, bytes, nullptr));
    device.check("cuCtxSynchronize", driver.context_synchronize());
}

} // namespace cuda
