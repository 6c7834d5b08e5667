// SPDX-License-Identifier: MIT
// A CUDA driver without a GPU, for tests: each stream is a thread that runs the benchmark's kernels
// in real time, by their names. Counts the calls of each function.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string_view>
#include <thread>
#include <utility>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

constexpr int success = 0, error_invalid_value = 1, error_not_found = 500, error_not_ready = 600;

// As a real driver: a launch blocks while so many operations are queued in the stream.
constexpr std::size_t max_queued = 1024;

// %globaltimer, which isn't a clock of the host.
std::uint64_t gpu_time_ns() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    constexpr std::uint64_t since_boot_of_the_gpu = 1'234'567'890'123;
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
           static_cast<std::uint64_t>(now.tv_nsec) + since_boot_of_the_gpu;
}

// A stream's operations, run in order by a thread.
class Stream {
public:
    Stream() : thread_([this] { run(); }) {}
    ~Stream() {
        {
            const std::lock_guard lock(mutex_);
            stopping_ = true;
        }
        changed_.notify_all();
        thread_.join();
    }
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;
    Stream(Stream&&) = delete;
    Stream& operator=(Stream&&) = delete;

    void add(std::function<void()> operation) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return queue_.size() < max_queued; });
        queue_.push_back(std::move(operation));
        lock.unlock();
        changed_.notify_all();
    }
    void synchronize() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return queue_.empty(); });
    }
    bool idle() {
        const std::lock_guard lock(mutex_);
        return queue_.empty();
    }

private:
    void run() {
        std::unique_lock lock(mutex_);
        for (;;) {
            changed_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
            if (queue_.empty())
                return;
            std::function<void()>& operation = queue_.front();
            lock.unlock();
            operation();
            lock.lock();
            queue_.pop_front(); // only now: what runs isn't complete
            if (queue_.empty() || queue_.size() == max_queued - 1)
                changed_.notify_all();
        }
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::function<void()>> queue_; // references stay valid while others are pushed
    bool stopping_ = false;
    std::thread thread_; // last: it uses the others
};

class Event {
public:
    // Recorded again, only the newest record counts.
    std::uint64_t record() {
        const std::lock_guard lock(mutex_);
        return ++recorded_;
    }
    void pass(std::uint64_t record) {
        {
            const std::lock_guard lock(mutex_);
            passed_ = std::max(passed_, record);
        }
        changed_.notify_all();
    }
    bool passed() {
        const std::lock_guard lock(mutex_);
        return passed_ == recorded_;
    }
    void wait() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return passed_ == recorded_; });
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::uint64_t recorded_ = 0, passed_ = 0;
};
using EventHandle = std::shared_ptr<Event>; // a destroyed event lives until its record has passed

EventHandle& event_of(void* handle) {
    return *static_cast<EventHandle*>(handle);
}

Stream& stream_of(void* handle) {
    static Stream null_stream;
    return handle != nullptr ? *static_cast<Stream*>(handle) : null_stream;
}

// The GPU's multiprocessors: a kernel that fills them runs alone.
std::mutex all_multiprocessors;

void run_until(std::uint64_t end_ns) {
    constexpr std::uint64_t too_short_to_sleep = 100'000;
    for (std::uint64_t now = gpu_time_ns(); now < end_ns; now = gpu_time_ns())
        if (end_ns - now > too_short_to_sleep)
            std::this_thread::sleep_for(
                std::chrono::nanoseconds(end_ns - now - too_short_to_sleep));
}

template <typename T> T parameter(void* const* parameters, unsigned index) {
    T value;
    std::memcpy(&value, parameters[index], sizeof value);
    return value;
}

template <typename T> std::atomic_ref<T> at(std::uint64_t address) {
    return std::atomic_ref(*reinterpret_cast<T*>(static_cast<std::uintptr_t>(address)));
}

using Kernel = std::function<void()>;
using MakeKernel = Kernel(void* const* parameters, bool full);

Kernel make_tiny(void* const*, bool) {
    return [] {};
}

Kernel make_spin(void* const* parameters, bool) {
    const auto ns = parameter<std::uint64_t>(parameters, 0);
    return [ns] { run_until(gpu_time_ns() + ns); };
}

Kernel make_stamp(void* const* parameters, bool full) {
    const auto ns = parameter<std::uint64_t>(parameters, 0);
    const auto times = parameter<std::uint64_t>(parameters, 1);
    const auto progress = parameter<std::uint64_t>(parameters, 2);
    const auto number = parameter<std::uint32_t>(parameters, 3);
    return [=] {
        std::unique_lock<std::mutex> alone(all_multiprocessors, std::defer_lock);
        if (full)
            alone.lock();
        const std::uint64_t begin = gpu_time_ns();
        run_until(begin + ns);
        at<std::uint64_t>(times) = begin;
        at<std::uint64_t>(times + 8) = gpu_time_ns();
        at<std::uint32_t>(progress) = number;
    };
}

Kernel make_answer(void* const* parameters, bool) {
    const auto mailbox = parameter<std::uint64_t>(parameters, 0);
    const auto times = parameter<std::uint64_t>(parameters, 1);
    return [=] {
        constexpr std::uint32_t end_of_answers = 0xffffffff;
        std::uint32_t round = 1;
        for (std::uint32_t seen = 0; seen != end_of_answers;) {
            seen = at<std::uint32_t>(mailbox);
            if (seen != round) {
                std::this_thread::yield();
                continue;
            }
            at<std::uint64_t>(times) = gpu_time_ns();
            at<std::uint64_t>(times + 8) = round;
            ++round;
        }
    };
}

struct NamedKernel {
    const char* name;
    MakeKernel* make;
};
std::array<NamedKernel, 4> kernels{
    {{"tiny", make_tiny}, {"spin", make_spin}, {"stamp", make_stamp}, {"answer", make_answer}}};

// Calls of the functions that tests set limits for.
std::atomic<std::uint64_t> launches, records, queries, waits, writes;

int device_object, module_object;

} // namespace

EXPORT std::uint64_t fake_cuda_calls(const char* function) {
    const std::string_view name = function;
    return name == "cuLaunchKernel"            ? launches.load()
           : name == "cuEventRecord"           ? records.load()
           : name == "cuEventQuery"            ? queries.load()
           : name == "cuEventSynchronize"      ? waits.load()
           : name == "cuStreamWriteValue32_v2" ? writes.load()
                                               : 0;
}

EXPORT int cuInit(unsigned) {
    return std::getenv("FAKE_CUDA_NO_GPU") != nullptr ? 100 : success; // CUDA_ERROR_NO_DEVICE
}
EXPORT int cuDriverGetVersion(int* version) {
    *version = 12040;
    return success;
}
EXPORT int cuDeviceGetCount(int* count) {
    *count = 1;
    return success;
}
EXPORT int cuDeviceGet(int* device, int ordinal) {
    *device = ordinal;
    return success;
}
EXPORT int cuDeviceGetName(char* name, int bytes, int) {
    std::strncpy(name, "fake GPU (threads of the CPU)", static_cast<std::size_t>(bytes) - 1);
    return success;
}
EXPORT int cuDeviceGetAttribute(int* value, int attribute, int) {
    switch (attribute) {
    case 13: *value = 1'000'000; break; // clock rate, kHz
    case 16: *value = 4; break;         // multiprocessors
    case 39: *value = 2048; break;      // threads of a multiprocessor
    default: *value = 0;
    }
    return success;
}
EXPORT int cuDevicePrimaryCtxRetain(void** context, int) {
    *context = &device_object;
    return success;
}
EXPORT int cuCtxSetCurrent(void*) {
    return success;
}
EXPORT int cuCtxSynchronize() {
    stream_of(nullptr).synchronize();
    return success;
}
EXPORT int cuCtxGetStreamPriorityRange(int* least, int* greatest) {
    *least = 0;
    *greatest = -5;
    return success;
}
EXPORT int cuModuleLoadData(void** module, const void* image) {
    if (std::strstr(static_cast<const char*>(image), ".entry") == nullptr)
        return 218; // CUDA_ERROR_INVALID_PTX
    *module = &module_object;
    return success;
}
EXPORT int cuModuleGetFunction(void** function, void*, const char* name) {
    for (NamedKernel& kernel : kernels)
        if (std::string_view(name) == kernel.name) {
            *function = &kernel;
            return success;
        }
    return error_not_found;
}
EXPORT int cuLaunchKernel(void* function, unsigned grid, unsigned, unsigned, unsigned, unsigned,
                          unsigned, unsigned, void* stream, void** parameters, void**) {
    ++launches;
    stream_of(stream).add(static_cast<const NamedKernel*>(function)->make(parameters, grid > 1));
    return success;
}

EXPORT int cuStreamCreateWithPriority(void** stream, unsigned, int) {
    *stream = new Stream;
    return success;
}
EXPORT int cuStreamDestroy_v2(void* stream) {
    delete static_cast<Stream*>(stream);
    return success;
}
EXPORT int cuStreamSynchronize(void* stream) {
    stream_of(stream).synchronize();
    return success;
}
EXPORT int cuStreamQuery(void* stream) {
    return stream_of(stream).idle() ? success : error_not_ready;
}
EXPORT int cuStreamGetFlags(void*, unsigned* flags) {
    *flags = 1; // CU_STREAM_NON_BLOCKING
    return success;
}
EXPORT int cuStreamIsCapturing(void*, int* status) {
    *status = 0;
    return success;
}
EXPORT int cuStreamWaitEvent(void* stream, void* event, unsigned) {
    stream_of(stream).add([waited = event_of(event)] { waited->wait(); });
    return success;
}
EXPORT int cuStreamWriteValue32_v2(void* stream, std::uint64_t to, std::uint32_t value, unsigned) {
    ++writes;
    stream_of(stream).add([to, value] { at<std::uint32_t>(to) = value; });
    return success;
}

EXPORT int cuEventCreate(void** event, unsigned) {
    *event = new EventHandle(std::make_shared<Event>());
    return success;
}
EXPORT int cuEventDestroy_v2(void* event) {
    delete &event_of(event);
    return success;
}
EXPORT int cuEventRecord(void* event, void* stream) {
    ++records;
    const std::uint64_t record = event_of(event)->record();
    stream_of(stream).add([recorded = event_of(event), record] { recorded->pass(record); });
    return success;
}
EXPORT int cuEventQuery(void* event) {
    ++queries;
    return event_of(event)->passed() ? success : error_not_ready;
}
EXPORT int cuEventSynchronize(void* event) {
    ++waits;
    event_of(event)->wait();
    return success;
}

EXPORT int cuMemHostAlloc(void** memory, std::size_t bytes, unsigned) {
    constexpr std::size_t page = 4096;
    *memory = std::aligned_alloc(page, (bytes + page - 1) / page * page);
    return *memory != nullptr ? success : 2; // CUDA_ERROR_OUT_OF_MEMORY
}
EXPORT int cuMemFreeHost(void* memory) {
    std::free(memory);
    return success;
}
EXPORT int cuMemHostGetDevicePointer_v2(std::uint64_t* address, void* memory, unsigned) {
    *address = reinterpret_cast<std::uintptr_t>(memory);
    return success;
}
EXPORT int cuMemAlloc_v2(std::uint64_t* address, std::size_t bytes) {
    void* memory = nullptr;
    const int error = cuMemHostAlloc(&memory, bytes, 0);
    *address = reinterpret_cast<std::uintptr_t>(memory);
    return error;
}
EXPORT int cuMemFree_v2(std::uint64_t address) {
    return cuMemFreeHost(reinterpret_cast<void*>(static_cast<std::uintptr_t>(address)));
}
EXPORT int cuMemsetD8Async(std::uint64_t to, unsigned char value, std::size_t bytes, void* stream) {
    if (to == 0)
        return error_invalid_value;
    stream_of(stream).add([=] {
        std::memset(reinterpret_cast<void*>(static_cast<std::uintptr_t>(to)), value, bytes);
    });
    return success;
}
EXPORT int cuThreadExchangeStreamCaptureMode(int* mode) {
    static thread_local int current = 0;
    std::swap(*mode, current);
    return success;
}
EXPORT int cuGetErrorName(int error, const char** name) {
    *name = error == 100                   ? "CUDA_ERROR_NO_DEVICE"
            : error == error_invalid_value ? "CUDA_ERROR_INVALID_VALUE"
            : error == error_not_found     ? "CUDA_ERROR_NOT_FOUND"
                                           : nullptr;
    return success;
}
