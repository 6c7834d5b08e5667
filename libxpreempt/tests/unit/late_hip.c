// SPDX-License-Identifier: MIT
// A HIP runtime that is loaded late: all that it does is to go down at the exit. The real one waits
// for its streams then.
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

bool fake_any_held(void);

static void go_down(void) {
    if (fake_any_held())
        _exit(79);
}

__attribute__((constructor)) static void come_up(void) {
    atexit(go_down);
}
