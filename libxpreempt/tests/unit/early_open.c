// SPDX-License-Identifier: MIT
// Opens a file before the constructors of the hook have run, as an allocator does, and counts the
// calls that reach it through the hook. Preloaded behind the hook.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

static int calls, calls_in_constructor, descriptor;

// The first open() of the process is that of the hook, which finds this one behind it.
int open(const char* path, int flags, ...) {
    ++calls;
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, 0);
}

static int open_by_the_hook(void) {
    int (*volatile first)(const char*, int, ...) = open;
    return first("/dev/null", O_RDONLY);
}

__attribute__((constructor)) static void open_early(void) {
    descriptor = open_by_the_hook();
    calls_in_constructor = calls;
}

__attribute__((destructor)) static void report(void) {
    calls = 0;
    (void)open_by_the_hook();
    dprintf(2, "opened %d, through the hook: %d early, %d at the end\n", descriptor >= 0,
            calls_in_constructor, calls);
}
