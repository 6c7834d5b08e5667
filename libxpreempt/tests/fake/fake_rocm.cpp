// SPDX-License-Identifier: MIT
// A HIP runtime, an HSA runtime and a /dev/kfd in one library, as far as the hook and the library
// look at them: which function calls which, and what the driver is told.
#include "fake/fake_rocm.hpp"

#include "fake/preempt_answers.hpp"

#include "kfd/queue_ioctls.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <kfd_preempt.h>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <set>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

constexpr unsigned max_queues = 64;
constexpr int out_of_memory = 2; // hipErrorOutOfMemory

// Nothing in it ever completes: the read index stays where it is.
constexpr std::uint64_t ring_packets = 1024;
struct HsaQueue {
    unsigned char bytes[256];
    alignas(4096) std::uint32_t ring[ring_packets][16]; // pages of its own
};

struct Stream {
    HsaQueue* queue;
    int device;
};

struct Event {
    int device;
    const void* stream;      // of its last record
    const HsaQueue* stopped; // it was at that time, and the event waits for its start; or null
};

struct Driver {
    std::mutex mutex;
    fake::Driver told{};
    bool used[max_queues]{};
    std::uint64_t allocations = 0;
    int fd = -1;
};
Driver driver;

std::mutex hip_mutex;
HsaQueue queues[max_queues];
unsigned num_queues;
unsigned next_pooled;
int kfd_fd = -1;

int handle(unsigned long request, void* argument) {
    fake::before(driver.told, _IOC_NR(request));
    const std::lock_guard lock(driver.mutex);
    switch (_IOC_NR(request)) {
    case xpreempt::kfd::nr_create_queue: {
        auto* args = static_cast<xpreempt::kfd::CreateQueueArgs*>(argument);
        unsigned id = 0;
        while (driver.used[id])
            ++id;
        driver.used[id] = true;
        args->queue_id = id;
        fake::Queue& queue = driver.told.queues[id];
        queue.percentage = args->percentage;
        queue.priority = args->priority;
        queue.ring_base = args->ring_base;
        queue.held = queue.pending = false;
        queue.preempts = queue.updates = 0;
        return 0;
    }
    case xpreempt::kfd::nr_destroy_queue:
        return fake::destroy(
            driver.told,
            driver.used[static_cast<xpreempt::kfd::DestroyQueueArgs*>(argument)->queue_id]);
    case xpreempt::kfd::nr_update_queue: {
        if (driver.told.lost)
            return -EACCES;
        const auto* args = static_cast<xpreempt::kfd::UpdateQueueArgs*>(argument);
        fake::Queue& queue = driver.told.queues[args->queue_id];
        const fake::Fault fault = fault_of(driver.told);
        const bool stops = queue.percentage != 0 && args->percentage == 0;
        const bool starts = queue.percentage == 0 && args->percentage != 0;
        if (fault == fake::Fault::refused ||
            (stops && fake::takes_one(driver.told.refused_stops)) ||
            (starts && fake::takes_one(driver.told.refused_starts)))
            return -EBUSY;
        ++queue.updates;
        queue.percentage = args->percentage;
        queue.priority = args->priority;
        queue.ring_base = args->ring_base;
        return fault == fake::Fault::lost ? -EFAULT : 0;
    }
    case xpreempt::kfd::nr_allocate_memory:
        static_cast<xpreempt::kfd::AllocateMemoryArgs*>(argument)->handle =
            std::uint64_t{77} << 32 | ++driver.allocations;
        return 0;
    case xpreempt::kfd::nr_free_memory: return driver.told.fail_free ? -EBUSY : 0;
    default: break;
    }
    if (!driver.told.patched)
        return -ENOTTY;
    fake::PreemptAnswers answers(driver.told, driver.used);
    switch (request) {
    case AMDKFD_IOC_PREEMPT_QUERY: {
        auto* args = static_cast<kfd_ioctl_preempt_query_args*>(argument);
        args->abi_major = KFD_PREEMPT_ABI_MAJOR;
        args->type_mask = 1U << KFD_PREEMPT_TYPE_SAVE;
        args->caps = KFD_PREEMPT_CAP_SAVE | KFD_PREEMPT_CAP_BATCH;
        args->max_batch = fake::max_batch;
        return 0;
    }
    case AMDKFD_IOC_PREEMPT_SWITCH:
        ++driver.told.switches;
        return answers.switch_queues(*static_cast<kfd_ioctl_preempt_switch_args*>(argument));
    case AMDKFD_IOC_PREEMPT_QUEUE:
        return answers.preempt(*static_cast<kfd_ioctl_preempt_queue_args*>(argument));
    case AMDKFD_IOC_RESUME_QUEUE:
        return answers.resume(*static_cast<kfd_ioctl_resume_queue_args*>(argument));
    case AMDKFD_IOC_PREEMPT_STATUS:
        return answers.status(*static_cast<kfd_ioctl_preempt_status_args*>(argument));
    default: return -ENOTTY;
    }
}

} // namespace

static fake::Hip fake_behaviour;
__attribute__((visibility("default"))) fake::Hip* fake_hip() {
    return &fake_behaviour;
}

__attribute__((visibility("default"))) bool fake_captures_ended() {
    return fake_behaviour.captures_ended.exchange(false);
}

__attribute__((visibility("default"))) fake::Driver* fake_driver() {
    return &driver.told;
}

__attribute__((visibility("default"))) void fake_stop_late() {
    driver.told.late_stops = 1;
}

__attribute__((visibility("default"))) void fake_confirm_stop() {
    for (fake::Queue& queue : driver.told.queues)
        queue.pending = false;
}

__attribute__((visibility("default"))) unsigned fake_late_answers() {
    return driver.told.late_answers;
}

__attribute__((visibility("default"))) void fake_choose_driver() {
    const char* name = std::getenv("FAKE_DRIVER");
    driver.told.patched = name != nullptr && std::strcmp(name, "patched") == 0;
}

// The device: found behind the hook by RTLD_NEXT, as the C library's functions are.
EXPORT int open(const char* path, int flags, ...) {
    if (std::strcmp(path, "/dev/kfd") == 0)
        path = "/dev/null";
    mode_t mode = 0;
    if ((flags & O_CREAT) != 0) {
        va_list arguments;
        va_start(arguments, flags);
        mode = va_arg(arguments, mode_t);
        va_end(arguments);
    }
    return static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}

// By its number a descriptor from before the hook is recognised. The second name is what a program
// that was built before glibc 2.33 calls for it.
EXPORT int stat(const char* path, struct stat* out) noexcept {
    return fstatat(AT_FDCWD, std::strcmp(path, "/dev/kfd") == 0 ? "/dev/null" : path, out, 0);
}
// NOLINTNEXTLINE(bugprone-reserved-identifier,readability-identifier-naming): its name
EXPORT int __xstat(int, const char* path, struct stat* out) noexcept {
    return stat(path, out);
}

EXPORT int ioctl(int fd, unsigned long request, ...) noexcept {
    va_list arguments;
    va_start(arguments, request);
    void* argument = va_arg(arguments, void*);
    va_end(arguments);
    if (_IOC_TYPE(request) != 'K')
        return static_cast<int>(syscall(SYS_ioctl, fd, request, argument));
    const int answer = handle(request, argument);
    if (answer == 0)
        return 0;
    errno = -answer;
    return -1;
}

#include "fake/fake_hsa.hpp"

namespace {

// The ring is a part of a larger allocation.
void allocate_ring(const HsaQueue& queue) {
    xpreempt::kfd::AllocateMemoryArgs args{};
    args.address = reinterpret_cast<std::uintptr_t>(&queue);
    args.bytes = sizeof queue;
    args.flags = fake_hip()->rings_in_vram ? xpreempt::kfd::memory_in_vram : 2; // GTT
    ioctl(kfd_fd, _IOWR('K', xpreempt::kfd::nr_allocate_memory, args), &args);
}

using fake::max_devices;
thread_local int current_device = 0;

std::mutex dead_mutex;
std::set<const void*> dead, alive; // streams
std::atomic<bool> all_known{true}; // false: there was no memory, and uses go unnoticed

bool is_dead(const void* stream) {
    const std::lock_guard lock(dead_mutex);
    return all_known && dead.contains(stream);
}
// HIP has freed a part of a stream that it destroys, and all of it then. Not in launches, whose
// instructions are counted, and which are never the library's own.
void note_use(const void* stream) {
    if (stream != nullptr && (stream == fake_hip()->dying || is_dead(stream)))
        ++fake_hip()->used_dying;
}
void note_death(const void* stream) try {
    const std::lock_guard lock(dead_mutex);
    alive.erase(stream);
    dead.insert(stream);
} catch (const std::bad_alloc&) {
    all_known = false;
}
// A later stream may have its handle.
void note_birth(const void* stream) try {
    const std::lock_guard lock(dead_mutex);
    dead.erase(stream);
    alive.insert(stream);
} catch (const std::bad_alloc&) {
    all_known = false;
}
std::set<const void*> living() {
    const std::lock_guard lock(dead_mutex);
    return alive;
}

HsaQueue* create_hsa_queue() {
    if (kfd_fd < 0)
        kfd_fd = open("/dev/kfd", O_RDWR | O_CLOEXEC);
    HsaQueue* queue = &queues[num_queues++];
    const auto address = reinterpret_cast<std::uintptr_t>(queue);
    allocate_ring(*queue);
    xpreempt::kfd::CreateQueueArgs args{};
    args.ring_base = reinterpret_cast<std::uintptr_t>(queue->ring);
    args.write_pointer = address + 0x38;
    args.read_pointer = address + 0x80;
    args.ring_bytes = sizeof queue->ring;
    args.gpu_id = 77 + static_cast<std::uint32_t>(current_device);
    args.queue_type = xpreempt::kfd::queue_type_aql;
    args.percentage = 100;
    args.priority = 7;
    static std::array<unsigned char, 4096> save_area{1};
    args.save_area = reinterpret_cast<std::uintptr_t>(save_area.data());
    args.save_area_bytes = 4096;
    ioctl(kfd_fd, _IOWR('K', xpreempt::kfd::nr_create_queue, xpreempt::kfd::CreateQueueArgs),
          &args);
    return queue;
}

constexpr std::uint32_t dispatch_header = 0x102; // with the barrier bit
constexpr std::uint32_t barrier_header = 0x103;

// amd_signal_t
struct Doorbell {
    std::int64_t kind = -1;
    std::uint64_t others[5]{};
    const void* queue = nullptr;
};

void put_packets(HsaQueue* queue, unsigned count, std::uint32_t header = dispatch_header) {
    errno = ENOTTY; // as any call of HIP may
    const fake::Seam seam = fake_hip()->seam;
    const bool adds = seam == fake::Seam::add;
    const std::uint64_t first = adds ? hsa_queue_add_write_index_screlease(queue, count)
                                     : hsa_queue_load_write_index_relaxed(queue);
    for (std::uint64_t i = first; i < first + count; ++i) {
        auto* packet = queue->ring[i % ring_packets];
        if (header == barrier_header)
            __atomic_store_n(reinterpret_cast<std::uint64_t*>(packet + 2), fake_hip()->waits_for,
                             __ATOMIC_RELAXED);
        reinterpret_cast<std::atomic<std::uint32_t>*>(packet)->store(header);
    }
    if (seam == fake::Seam::store)
        hsa_queue_store_write_index_screlease(queue, first + count);
    if (seam == fake::Seam::doorbell || seam == fake::Seam::direct) // seen by no interposer
        reinterpret_cast<std::atomic<std::uint64_t>*>(queue->bytes + 0x38)->store(first + count);
    if (seam == fake::Seam::direct)
        return;
    const Doorbell doorbell{.queue = queue};
    hsa_signal_store_screlease(reinterpret_cast<std::uintptr_t>(&doorbell),
                               static_cast<std::int64_t>(first + count - 1));
}

// The null streams and hipStreamPerThread, each made at its first use with a queue of its own.
Stream* stream_of(void* handle, bool per_thread = false) {
    const auto value = reinterpret_cast<std::uintptr_t>(handle);
    if (value > 2) // without a lock: launches of several threads share nothing, as in HIP
        return static_cast<Stream*>(handle);
    const std::lock_guard lock(hip_mutex);
    static Stream null_streams[max_devices];
    static thread_local Stream own_streams[max_devices];
    Stream& stream =
        value == 2 || per_thread ? own_streams[current_device] : null_streams[current_device];
    if (stream.queue == nullptr)
        stream = {create_hsa_queue(), current_device};
    return &stream;
}

void put_packet(void* stream, bool per_thread = false) {
    put_packets(stream_of(stream, per_thread)->queue, 1);
}

} // namespace

__attribute__((visibility("default"))) void* fake_stream(void* handle) {
    return stream_of(handle);
}

#include "fake/fake_captures.hpp"

static int answer_question(const void* stream) {
    errno = ENOTTY;
    ++fake_behaviour.asked;
    usleep(fake_behaviour.question_us);
    if (ends_captures_of(stream))
        return 900;
    return fake_behaviour.unfinished ? 600 : 0;
}

static bool is_stopped(std::uintptr_t ring) {
    const std::lock_guard lock(driver.mutex);
    return std::ranges::any_of(driver.told.queues, [=](const fake::Queue& queue) {
        return queue.ring_base == ring && queue.is_stopped();
    });
}
static bool is_stopped(const HsaQueue* queue) {
    return is_stopped(reinterpret_cast<std::uintptr_t>(queue->ring));
}

static Stream* destroyed; // of which the next stream has the handle

// HIP: two pooled queues of a device, as GPU_MAX_HW_QUEUES=2 makes it, and one for each stream with
// a mask.
EXPORT int hipStreamCreate(void** stream) {
    const std::lock_guard lock(hip_mutex);
    if (fake_behaviour.next_handle != nullptr) {
        *stream = std::exchange(fake_behaviour.next_handle, nullptr);
        return 0;
    }
    static HsaQueue* pools[max_devices][2];
    HsaQueue*& queue = pools[current_device][next_pooled++ % 2];
    if (queue == nullptr)
        queue = create_hsa_queue();
    Stream* made = std::exchange(destroyed, nullptr);
    if (made == nullptr)
        made = new (std::nothrow) Stream;
    if (made == nullptr)
        return out_of_memory;
    *made = {queue, current_device};
    *stream = made;
    note_birth(made);
    return 0;
}
EXPORT int hipExtStreamCreateWithCUMask(void** stream, unsigned words, const unsigned* mask) {
    if (words != 2 || mask[0] != ~0U || mask[1] != 0x3f)
        return 1;
    const std::lock_guard lock(hip_mutex);
    *stream = new (std::nothrow) Stream{create_hsa_queue(), current_device};
    note_birth(*stream);
    return *stream == nullptr ? out_of_memory : 0;
}
EXPORT int hipStreamDestroy(void* stream) {
    if (fake_behaviour.fail_destroy)
        return 400;
    if (fake_behaviour.destroys_slowly) {
        fake_behaviour.dying = stream;
        while (fake_behaviour.destroys_slowly)
            usleep(100);
        fake_behaviour.dying = nullptr;
    }
    const auto ring = reinterpret_cast<std::uintptr_t>(stream_of(stream)->queue->ring);
    const auto is_held = [ring] { return is_stopped(ring); };
    for (int ms = 0; is_held() && ms < 20000; ++ms) // the real one would wait for ever
        usleep(1000);
    fake_behaviour.destroyed_held |= is_held();
    const std::lock_guard lock(hip_mutex);
    end_capture(stream);
    note_death(stream);
    if (fake_behaviour.reuse_handles)
        destroyed = static_cast<Stream*>(stream);
    else
        delete static_cast<Stream*>(stream);
    return 0;
}
namespace {
std::atomic<bool> is_down{false};
void fall_if_down() {
    if (is_down)
        _exit(78);
}
} // namespace

EXPORT int hipStreamSynchronize(void* stream) {
    if (ends_captures_of(stream))
        return 900;
    if (fake_behaviour.goes_down_slowly) {
        fall_if_down();
        usleep(10000); // some work
        fall_if_down();
    }
    return 0;
}
EXPORT int hipStreamQuery(void* stream) {
    return answer_question(stream);
}
EXPORT int hipStreamGetFlags(void* stream, unsigned* flags) {
    if (fake_behaviour.in_get_flags != nullptr)
        fake_behaviour.in_get_flags(stream);
    note_use(stream);
    *flags = fake_behaviour.non_blocking ? 1 : 0;
    return 0;
}
#include "fake/fake_memory.hpp"

EXPORT int hipMemsetAsync(void* to, int, std::size_t, void* stream) {
    if (fake_behaviour.in_fill != nullptr)
        fake_behaviour.in_fill();
    note_use(stream);
    if (to != nullptr) {
        const Stream* on = stream_of(stream);
        const std::lock_guard lock(hip_mutex);
        const auto found = allocated.find(to);
        fake_behaviour.wrong_devices += found != allocated.end() && found->second != on->device;
    }
    if (!capturing || !is_captured(stream))
        put_packet(stream);
    return 0;
}
EXPORT int hipEventCreateWithFlags(void** event, unsigned) {
    if (ends_captures_if_ours())
        return 900;
    *event = new (std::nothrow) Event{current_device, nullptr, nullptr};
    return *event == nullptr ? out_of_memory : 0;
}
EXPORT int hipEventDestroy(void* event) {
    if (ends_captures_if_ours())
        return 900;
    if (fake_behaviour.in_event_destroy != nullptr)
        fake_behaviour.in_event_destroy();
    delete static_cast<Event*>(event);
    return 0;
}
EXPORT int hipEventRecord(void* event, void* stream) {
    if (ends_captures_if_ours())
        return 900;
    note_use(stream);
    const Stream* on = stream_of(stream);
    ++fake_behaviour.records;
    ++fake_behaviour.records_on[on->device];
    if (auto* recorded = static_cast<Event*>(event); recorded != nullptr) {
        if (recorded->device != on->device) {
            ++fake_behaviour.wrong_devices;
            return 400;
        }
        recorded->stream = on;
        recorded->stopped =
            fake_behaviour.events_stand && is_stopped(on->queue) ? on->queue : nullptr;
    }
    if (capturing && is_captured(stream))
        ++fake_behaviour.captured_records;
    else
        put_packets(on->queue, 1, barrier_header);
    return 0;
}
// Waits for an event of another queue, as HIP does it: a barrier in front of what comes.
EXPORT int hipStreamWaitEvent(void* stream, void* event, unsigned) {
    if (capturing && event != nullptr) {
        const std::lock_guard lock(hip_mutex);
        const auto origin = captured.find(static_cast<const Event*>(event)->stream);
        if (origin != captured.end()) {
            captured.emplace(stream, origin->second);
            return 0;
        }
    }
    put_packets(stream_of(stream)->queue, 1, barrier_header);
    return 0;
}
static bool runs_on(const void* stream) {
    return stream != nullptr &&
           (stream == fake_behaviour.running[0] || stream == fake_behaviour.running[1]);
}
EXPORT int hipEventQuery(void* event) {
    const auto* recorded = static_cast<const Event*>(event);
    const int answer = answer_question(recorded->stream);
    return answer == 0 && runs_on(recorded->stream) ? 600 : answer;
}
// The real one goes down with the process, and who is in it then falls.
struct GoesDown {
    ~GoesDown() {
        if (fake_behaviour.synchronizing != 0 && fake_behaviour.falls)
            _exit(77);
        is_down = true;
        if (fake_behaviour.goes_down_slowly)
            usleep(100000);
    }
} const goes_down;

EXPORT int hipEventSynchronize(void* event) {
    ++fake_behaviour.synchronizing;
    const auto left = [](const std::atomic<unsigned>*) { --fake_behaviour.synchronizing; };
    const std::unique_ptr<const std::atomic<unsigned>, decltype(left)> here(
        &fake_behaviour.synchronizing, left);
    const auto* recorded = static_cast<const Event*>(event);
    if (ends_captures_of(recorded != nullptr ? recorded->stream : nullptr))
        return 900;
    while (recorded != nullptr && (runs_on(recorded->stream) ||
                                   (recorded->stopped != nullptr && is_stopped(recorded->stopped))))
        usleep(100);
    return 0;
}
EXPORT int hipStreamGetDevice(void* stream, int* device) {
    note_use(stream);
    *device = stream_of(stream)->device;
    return 0;
}
EXPORT int hipGetDevice(int* device) {
    *device = current_device;
    return 0;
}
EXPORT int hipSetDevice(int device) {
    if (device < 0 || device >= max_devices)
        return 101;
    current_device = device;
    return 0;
}
EXPORT int hipMemset(void*, int, std::size_t) {
    put_packet(nullptr);
    return 0;
}
EXPORT int hipMemsetAsync_spt(void*, int, std::size_t, void* stream) {
    put_packet(stream, true);
    return 0;
}
EXPORT int hipModuleLaunchKernel(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                 unsigned, void* stream, void**, void**) {
    if (fake_behaviour.move && fake_behaviour.move.exchange(false)) {
        const std::lock_guard lock(hip_mutex);
        static_cast<Stream*>(stream)->queue = create_hsa_queue();
    }
    if (void* to = fake_behaviour.move_to ? fake_behaviour.move_to.exchange(nullptr) : nullptr;
        to != nullptr) {
        const std::lock_guard lock(hip_mutex);
        static_cast<Stream*>(stream)->queue = static_cast<const Stream*>(to)->queue;
    }
    if (fake_behaviour.null_marker)
        put_packets(stream_of(nullptr)->queue, 1, barrier_header);
    if (!fake_behaviour.capturing)
        put_packets(stream_of(stream)->queue, fake_behaviour.packets_a_launch);
    return 0;
}
// Two branches: the second is on a queue of the graph's own.
EXPORT int hipGraphLaunch(void*, void* stream) {
    static HsaQueue* branch;
    put_packet(stream);
    if (branch == nullptr) {
        const std::lock_guard lock(hip_mutex);
        branch = create_hsa_queue();
    }
    put_packets(branch, 1);
    put_packet(stream);
    return 0;
}
