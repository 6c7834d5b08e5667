// SPDX-License-Identifier: MIT
// Interposers of the C library: which files are /dev/kfd, which queues and VRAM are made through
// them.
#include "base/caller_state.hpp"
#include "hook/attach.hpp"
#include "hook/current_call.hpp"
#include "hook/interposers.hpp"
#include "hook/mutex_lock.hpp"
#include "hook/queue_table.hpp"
#include "hook/real.hpp"
#include "hook/vram.hpp"
#include "kfd/queue_ioctls.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/ioctl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_close_range // headers before 5.9
#define SYS_close_range 436
#endif

#define INTERPOSER extern "C" __attribute__((visibility("default")))

namespace xpreempt::hook {

namespace {

// Bit n: descriptor n is a file of /dev/kfd.
constexpr int max_fds = 4096;
std::atomic<std::uint64_t> kfd_fds[max_fds / 64];

bool known_kfd(int fd) {
    return fd >= 0 && fd < max_fds &&
           (kfd_fds[fd / 64].load(std::memory_order_relaxed) >> (fd % 64) & 1U) != 0;
}

// The process whose files kfd_fds describes; 0 before our constructors run.
std::atomic<pid_t> owner{0};

void own_files() {
    owner.store(getpid(), std::memory_order_relaxed);
}

__attribute__((constructor)) void own_files_from_now_on() {
    own_files();
    pthread_atfork(nullptr, nullptr, own_files);
}

// A child of vfork() has this memory, and files of its own, which it closes: CPython's subprocess.
bool is_vfork_child() {
    const pid_t ours = owner.load(std::memory_order_relaxed);
    return ours != 0 && getpid() != ours;
}

void set_kfd(int fd, bool is_kfd) {
    if (fd < 0 || fd >= max_fds || known_kfd(fd) == is_kfd || is_vfork_child())
        return;
    const std::uint64_t bit = std::uint64_t{1} << (fd % 64);
    if (is_kfd)
        kfd_fds[fd / 64].fetch_or(bit, std::memory_order_relaxed);
    else
        kfd_fds[fd / 64].fetch_and(~bit, std::memory_order_relaxed);
}

// Opened in a way that we don't see (openat2, a passed descriptor): identified by the device
// number.
bool is_kfd(int fd) {
    if (known_kfd(fd))
        return true;
    if (fd < 0)
        return false;
    struct stat mine{};
    struct stat device{};
    const KeptErrno kept;
    const bool same = fstat(fd, &mine) == 0 && S_ISCHR(mine.st_mode) &&
                      stat("/dev/kfd", &device) == 0 && mine.st_rdev == device.st_rdev;
    if (same)
        set_kfd(fd, true);
    return same;
}

// Before a close: afterwards the number may already be another thread's new file.
void forget_if_kfd(int fd) {
    if (!known_kfd(fd) || is_vfork_child())
        return;
    set_kfd(fd, false);
    forget_file(fd);
}

int opened(int fd, const char* path) {
    if (fd >= 0)
        set_kfd(fd, path != nullptr && std::strcmp(path, "/dev/kfd") == 0);
    return fd;
}

int duplicated(int fd, int from) {
    if (fd >= 0)
        set_kfd(fd, known_kfd(from));
    return fd;
}

// hsa_queue_t is the start of amd_queue_t, of which KFD gets the addresses of the two indices:
// write_dispatch_id at 0x38, read_dispatch_id at 0x80 (amd_hsa_queue.h).
std::uint64_t hsa_queue_of(const kfd::CreateQueueArgs& args) {
    const bool is_hsa =
        args.queue_type == kfd::queue_type_aql && args.read_pointer - args.write_pointer == 0x48;
    return is_hsa ? args.write_pointer - 0x38 : 0;
}

// Newer headers append to the struct; what is read here hasn't moved since the first.
int create_queue(int fd, unsigned long request, void* argument) {
    const MutexLock lock(update_mutex);
    const int answer = real_kfd_ioctl(fd, request, argument);
    if (answer != 0)
        return answer;
    kfd::CreateQueueArgs args{};
    std::memcpy(&args, argument, std::min<std::size_t>(sizeof args, _IOC_SIZE(request)));
    QueueRecord record{};
    record.kfd_queue_id = args.queue_id;
    record.fd = fd;
    record.gpu_id = args.gpu_id;
    record.queue_type = args.queue_type;
    record.percentage = args.percentage;
    record.priority = args.priority;
    record.ring_bytes = args.ring_bytes;
    record.ring_base = args.ring_base;
    record.hsa_queue = hsa_queue_of(args);
    record.save_area_bytes = args.save_area_bytes;
    record.save_area = args.save_area;
    add_queue(record, in_vram(record.ring_base, record.ring_bytes));
    return 0;
}

// The library's gate if it has the member that ends at this byte.
const Gate* gate_with(std::size_t end_of_member) {
    const Gate* holder = gate.load(std::memory_order_acquire);
    return holder != nullptr && holder->bytes >= end_of_member ? holder : nullptr;
}
constexpr std::size_t end_of_queue_ends = offsetof(Gate, queue_ends) + sizeof(Gate::queue_ends);
constexpr std::size_t end_of_queue_ended = offsetof(Gate, queue_ended) + sizeof(Gate::queue_ended);

// After these errors KFD has freed the queue and its id.
bool is_destroyed(int answer) {
    return answer == 0 || answer == -ETIME || answer == -EIO;
}

// KFD gives the id to the next queue. So the library makes no call for this one from here on,
// unless the driver refuses.
int destroy_queue(int fd, unsigned long request, void* argument) {
    const std::uint32_t id = static_cast<const kfd::DestroyQueueArgs*>(argument)->queue_id;
    const std::uint32_t generation = begin_destroy_queue(id);
    if (const Gate* holder = gate_with(end_of_queue_ends);
        holder != nullptr && holder->queue_ends != nullptr && generation != 0)
        holder->queue_ends(id, generation);
    int answer = 0;
    {
        const MutexLock lock(update_mutex);
        answer = real_kfd_ioctl(fd, request, argument);
        end_destroy_queue(id, is_destroyed(answer));
    }
    // Without the lock: the library has its own ones before this one.
    if (const Gate* holder = gate_with(end_of_queue_ended);
        holder != nullptr && holder->queue_ended != nullptr && generation != 0)
        holder->queue_ended(id, generation, is_destroyed(answer) ? 1U : 0U);
    return answer;
}

// The host would start a queue that we hold, for the driver knows only the last percentage: while
// held it stays 0 there, and what the host wants is remembered for the resume.
int update_queue(int fd, unsigned long request, void* argument) {
    const MutexLock lock(update_mutex);
    auto* args = static_cast<kfd::UpdateQueueArgs*>(argument);
    QueueRecord record{};
    const bool known = find_queue(args->queue_id, record);
    const std::uint32_t wanted = args->percentage;
    if (known && record.held != 0)
        args->percentage = 0;
    const int answer = real_kfd_ioctl(fd, request, argument);
    args->percentage = wanted;
    if (known && answer == 0) {
        record.percentage = wanted;
        record.priority = args->priority;
        record.ring_base = args->ring_base;
        record.ring_bytes = args->ring_bytes;
        change_queue(record, in_vram(record.ring_base, record.ring_bytes));
    }
    return answer;
}

// On an APU this memory isn't behind PCIe. Treating it like VRAM costs a late answer, never a
// wrong one.
int allocate_memory(int fd, unsigned long request, void* argument) {
    const int answer = real_kfd_ioctl(fd, request, argument);
    const auto& args = *static_cast<const kfd::AllocateMemoryArgs*>(argument);
    if (answer == 0 && (args.flags & kfd::memory_in_vram) != 0 && args.address != 0)
        add_vram({args.handle, args.address, args.bytes});
    return answer;
}

int free_memory(int fd, unsigned long request, void* argument) {
    VramAllocation allocation{};
    const bool known =
        drop_vram(static_cast<const kfd::FreeMemoryArgs*>(argument)->handle, allocation);
    const int answer = real_kfd_ioctl(fd, request, argument);
    if (answer != 0 && known)
        add_vram(allocation);
    return answer;
}

// The calls of /dev/kfd that are interposed, by number.
struct SeenCall {
    unsigned number;
    int (*call)(int fd, unsigned long request, void* argument);
};
constexpr SeenCall seen_calls[] = {{kfd::nr_create_queue, create_queue},
                                   {kfd::nr_destroy_queue, destroy_queue},
                                   {kfd::nr_update_queue, update_queue},
                                   {kfd::nr_allocate_memory, allocate_memory},
                                   {kfd::nr_free_memory, free_memory}};

int as_libc(int answer) {
    if (answer == 0)
        return 0;
    errno = -answer;
    return -1;
}

// The C library's function behind an interposer. An allocator may open and close files while it
// holds its lock, a signal handler does at any time, and a lookup waits for the loader and
// allocates before glibc 2.34. So our constructor looks all of them up; until then calls go to the
// kernel.
template <typename Function> class Behind {
public:
    constexpr Behind(const char* symbol, long number) : symbol_(symbol), number_(number) {}
    void find(void* handle) {
        function_.store(reinterpret_cast<Function*>(real_dlsym(handle, symbol_)),
                        std::memory_order_release);
    }
    template <typename... Arguments> int operator()(Arguments... arguments) const {
        if (Function* function = function_.load(std::memory_order_acquire))
            return function(arguments...);
        return static_cast<int>(syscall(number_, arguments...));
    }

private:
    const char* symbol_;
    long number_;
    std::atomic<Function*> function_{nullptr};
};

// ROW(function, system call, type)
#define FOR_EACH_FILE_FUNCTION(ROW)                                                                \
    ROW(open, SYS_open, int(const char*, int, ...))                                                \
    ROW(open64, SYS_open, int(const char*, int, ...))                                              \
    ROW(openat, SYS_openat, int(int, const char*, int, ...))                                       \
    ROW(openat64, SYS_openat, int(int, const char*, int, ...))                                     \
    ROW(close, SYS_close, int(int))                                                                \
    ROW(dup, SYS_dup, int(int))                                                                    \
    ROW(dup2, SYS_dup2, int(int, int))                                                             \
    ROW(dup3, SYS_dup3, int(int, int, int))                                                        \
    ROW(fcntl, SYS_fcntl, int(int, int, ...))                                                      \
    ROW(fcntl64, SYS_fcntl, int(int, int, ...))                                                    \
    ROW(close_range, SYS_close_range, int(unsigned, unsigned, int))                                \
    ROW(ioctl, SYS_ioctl, int(int, unsigned long, ...))

#define BEHIND(name, number, ...) constinit Behind<__VA_ARGS__> name##_behind{#name, number};
FOR_EACH_FILE_FUNCTION(BEHIND)

__attribute__((constructor(101))) void find_all_behind() {
    // If the hook was loaded late, callers were bound to another library, which may precede
    // RTLD_NEXT.
    void* handle = bound_by_linker() ? RTLD_NEXT : RTLD_DEFAULT;
#define FIND(name, ...) name##_behind.find(handle);
    FOR_EACH_FILE_FUNCTION(FIND)
}

} // namespace

int real_kfd_ioctl(int fd, unsigned long request, void* argument) {
    const KeptErrno kept;
    return ioctl_behind(fd, request, argument) != -1 ? 0 : -errno;
}

} // namespace xpreempt::hook

using namespace xpreempt::hook;

#define OPEN_MODE(last, flags)                                                                     \
    mode_t mode = 0;                                                                               \
    if (((flags) & (O_CREAT | __O_TMPFILE)) != 0) {                                                \
        va_list arguments;                                                                         \
        va_start(arguments, last);                                                                 \
        mode = va_arg(arguments, mode_t);                                                          \
        va_end(arguments);                                                                         \
    }

#define OPEN(name)                                                                                 \
    INTERPOSER int name(const char* path, int flags, ...) {                                        \
        OPEN_MODE(flags, flags)                                                                    \
        return opened(name##_behind(path, flags, mode), path);                                     \
    }
OPEN(open)
OPEN(open64)

#define OPENAT(name)                                                                               \
    INTERPOSER int name(int directory, const char* path, int flags, ...) {                         \
        OPEN_MODE(flags, flags)                                                                    \
        return opened(name##_behind(directory, path, flags, mode), path);                          \
    }
OPENAT(openat)
OPENAT(openat64)

INTERPOSER int close(int fd) {
    forget_if_kfd(fd);
    return close_behind(fd);
}

INTERPOSER int dup(int fd) noexcept {
    return duplicated(dup_behind(fd), fd);
}

INTERPOSER int dup2(int from, int to) noexcept {
    if (from != to)
        forget_if_kfd(to);
    return duplicated(dup2_behind(from, to), from);
}

INTERPOSER int dup3(int from, int to, int flags) noexcept {
    forget_if_kfd(to);
    return duplicated(dup3_behind(from, to, flags), from);
}

// Newer headers of the C library call the second name.
#define FCNTL(name)                                                                                \
    INTERPOSER int name(int fd, int command, ...) {                                                \
        va_list arguments;                                                                         \
        va_start(arguments, command);                                                              \
        void* argument = va_arg(arguments, void*);                                                 \
        va_end(arguments);                                                                         \
        const int answer = name##_behind(fd, command, argument);                                   \
        return command == F_DUPFD || command == F_DUPFD_CLOEXEC ? duplicated(answer, fd) : answer; \
    }
FCNTL(fcntl)
FCNTL(fcntl64)

INTERPOSER int close_range(unsigned first, unsigned last, int flags) noexcept {
    if ((static_cast<unsigned>(flags) & CLOSE_RANGE_CLOEXEC) == 0)
        for (unsigned fd = first; fd <= last && fd < max_fds; ++fd)
            forget_if_kfd(static_cast<int>(fd));
    return close_range_behind(first, last, flags);
}

INTERPOSER int ioctl(int fd, unsigned long request, ...) noexcept {
    va_list arguments;
    va_start(arguments, request);
    void* argument = va_arg(arguments, void*);
    va_end(arguments);
    // By number, not by the whole command: the structs have grown, and with them the commands.
    if (_IOC_TYPE(request) == 'K' && argument != nullptr)
        for (const auto& [number, call] : seen_calls)
            if (_IOC_NR(request) == number && is_kfd(fd))
                return as_libc(call(fd, request, argument));
    return ioctl_behind(fd, request, argument);
}

#define FILE_ROW(name, ...) INTERPOSED(file_interposers, name)
FOR_EACH_FILE_FUNCTION(FILE_ROW)
