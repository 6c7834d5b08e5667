// SPDX-License-Identifier: MIT
// A library that is linked to one of several HIP runtimes, as a framework's.
int hipStreamQuery(void* stream);

__attribute__((visibility("default"))) int ask_runtime(void) {
    volatile int answer = hipStreamQuery((void*)0x1000);

    return answer;
}

__attribute__((visibility("default"))) int ask_about_null_stream(void) {
    volatile int answer = hipStreamQuery(0);

    return answer;
}

/* The compiler makes a jump of it: the runtime returns to the caller of this function. */
__attribute__((visibility("default"))) int ask_runtime_last(void) {
    return hipStreamQuery((void*)0x1000);
}
