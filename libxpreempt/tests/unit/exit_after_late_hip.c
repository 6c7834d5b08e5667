// SPDX-License-Identifier: MIT
// A program that uses the library before HIP is loaded, and ends with a held stream: it must run
// before HIP goes down.
#include <xpreempt/xpreempt.h>

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

bool fake_any_held(void);
void fake_choose_driver(void);
int hipMemsetAsync(void* to, int value, size_t bytes, void* stream);
int hipStreamCreate(void** stream);

// argv: the library that is HIP
int main(int argc, char** argv) {
    void* stream = NULL;

    fake_choose_driver();
    if (xp_sched_start(XP_POLICY_HIGHEST_PRIORITY_FIRST))
        return 1;
    if (argc != 2 || !dlopen(argv[1], RTLD_NOW)) {
        printf("%s\n", argc == 2 ? dlerror() : "needs the path of a library");
        return 2;
    }
    if (hipStreamCreate(&stream) || hipMemsetAsync(NULL, 0, 4, stream) ||
        xp_stream_hold(stream, XP_HOLD_LEAST(XP_LEVEL_INTERRUPT), NULL) || !fake_any_held()) {
        printf("no held stream: %s\n", xp_last_detail());
        return 3;
    }
    return 0;
}
