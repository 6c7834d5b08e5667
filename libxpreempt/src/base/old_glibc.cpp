// SPDX-License-Identifier: MIT
// Lets a library that was built on a new Debian be loaded by the C library of EL8 (2.28): the
// linker would take the newest version of each function, of which many only moved from libpthread
// and libdl into libc (2.34). It is told to call the functions here instead
// (cmake/old_glibc.cmake), which call the old versions. Those that 2.28 doesn't have at all are
// made of what it has.
#include <cerrno>
#include <cstdint>
#include <ctime>
#include <dlfcn.h>
#include <pthread.h>
#include <sys/random.h>
#include <sys/stat.h>

// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): names for --wrap

#define WRAP extern "C" __attribute__((visibility("hidden")))

// OLD(result, name, version, parameters, arguments): the wrapper of a function that has that
// version.
#define OLD(result, name, version, parameters, arguments)                                          \
    extern "C" result old_##name parameters;                                                       \
    __asm__(".symver old_" #name ", " #name "@" version);                                          \
    WRAP result __wrap_##name parameters;                                                          \
    result __wrap_##name parameters {                                                              \
        return old_##name arguments;                                                               \
    }

using Void = void;
using Start = void*(void*);
using Destructor = void(void*);
using Once = void();

OLD(int, dladdr, "GLIBC_2.2.5", (const void* address, Dl_info* info), (address, info))
OLD(int, dlclose, "GLIBC_2.2.5", (void* handle), (handle))
OLD(char*, dlerror, "GLIBC_2.2.5", (), ())
OLD(void*, dlopen, "GLIBC_2.2.5", (const char* file, int mode), (file, mode))
OLD(void*, dlvsym, "GLIBC_2.2.5", (void* handle, const char* name, const char* version),
    (handle, name, version))
OLD(int, pthread_create, "GLIBC_2.2.5",
    (pthread_t * thread, const pthread_attr_t* attributes, Start* start, void* argument),
    (thread, attributes, start, argument))
OLD(int, pthread_detach, "GLIBC_2.2.5", (pthread_t thread), (thread))
OLD(void*, pthread_getspecific, "GLIBC_2.2.5", (pthread_key_t key), (key))
OLD(int, pthread_join, "GLIBC_2.2.5", (pthread_t thread, void** result), (thread, result))
OLD(int, pthread_key_create, "GLIBC_2.2.5", (pthread_key_t * key, Destructor* destructor),
    (key, destructor))
OLD(int, pthread_key_delete, "GLIBC_2.2.5", (pthread_key_t key), (key))
OLD(int, pthread_mutex_trylock, "GLIBC_2.2.5", (pthread_mutex_t * mutex), (mutex))
OLD(int, pthread_once, "GLIBC_2.2.5", (pthread_once_t * once, Once* routine), (once, routine))
OLD(int, pthread_setname_np, "GLIBC_2.12", (pthread_t thread, const char* name), (thread, name))
OLD(int, pthread_setspecific, "GLIBC_2.2.5", (pthread_key_t key, const void* value), (key, value))
OLD(int, pthread_sigmask, "GLIBC_2.2.5", (int how, const sigset_t* set, sigset_t* old),
    (how, set, old))

#ifndef XPREEMPT_HOOK // which defines dlsym, and waits for nothing
OLD(void*, dlsym, "GLIBC_2.2.5", (void* handle, const char* name), (handle, name))

// 2.30. Without it, a time by the monotonic clock is one by the system's clock, and a wait during
// which that one is set back ends late by as much.
using Clockwait = int(pthread_cond_t*, pthread_mutex_t*, clockid_t, const timespec*);
static auto* const clockwait =
    reinterpret_cast<Clockwait*>(old_dlvsym(RTLD_DEFAULT, "pthread_cond_clockwait", "GLIBC_2.30"));

WRAP int __wrap_pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                                       clockid_t clock, const timespec* until) {
    if (clockwait != nullptr)
        return clockwait(condition, mutex, clock, until);
    constexpr std::int64_t second = 1'000'000'000;
    timespec now{};
    timespec real{};
    if (clock_gettime(clock, &now) != 0 || clock_gettime(CLOCK_REALTIME, &real) != 0)
        return EINVAL;
    const std::int64_t left = (until->tv_sec - now.tv_sec) * second + until->tv_nsec - now.tv_nsec;
    const std::int64_t end = real.tv_nsec + (left > 0 ? left : 0);
    real.tv_sec += end / second;
    real.tv_nsec = end % second;
    return pthread_cond_timedwait(condition, mutex, &real);
}
#endif

// Before 2.33 stat() was an inline function in front of these; 1 is the layout of x86-64.
#define OLD_STAT(name, old, version, parameters, arguments)                                        \
    extern "C" int old_##name parameters;                                                          \
    __asm__(".symver old_" #name ", " #old "@" version);

OLD_STAT(stat, __xstat, "GLIBC_2.2.5", (int layout, const char* path, struct stat* out), )
OLD_STAT(lstat, __lxstat, "GLIBC_2.2.5", (int layout, const char* path, struct stat* out), )
OLD_STAT(fstat, __fxstat, "GLIBC_2.2.5", (int layout, int fd, struct stat* out), )
OLD_STAT(fstatat, __fxstatat, "GLIBC_2.4",
         (int layout, int fd, const char* path, struct stat* out, int flags), )
constexpr int layout = 1;

WRAP int __wrap_stat(const char* path, struct stat* out) {
    return old_stat(layout, path, out);
}
WRAP int __wrap_lstat(const char* path, struct stat* out) {
    return old_lstat(layout, path, out);
}
WRAP int __wrap_fstat(int fd, struct stat* out) {
    return old_fstat(layout, fd, out);
}
static_assert(sizeof(struct stat) == sizeof(struct stat64));
WRAP int __wrap_fstat64(int fd, struct stat64* out) {
    return old_fstat(layout, fd, reinterpret_cast<struct stat*>(out));
}
WRAP int __wrap_fstatat(int fd, const char* path, struct stat* out, int flags) {
    return old_fstatat(layout, fd, path, out, flags);
}

// 2.32: whether the C++ library may do without atomic operations. 0 is always right.
WRAP char __wrap___libc_single_threaded;
char __wrap___libc_single_threaded = 0;

// 2.36, in the C++ library's random_device, which isn't used.
WRAP std::uint32_t __wrap_arc4random() {
    std::uint32_t value = 0;
    (void)!getrandom(&value, sizeof value, 0);
    return value;
}

// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)
