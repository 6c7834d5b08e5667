// SPDX-License-Identifier: MIT
// One of several HIP runtimes in a process, with a ROCr of its own: each call tells which it was.
// NUMBER is of the runtime; the ROCr is the part that is compiled with ROCR.
#include <stdint.h>

#ifdef ROCR
__attribute__((visibility("default"))) uint64_t
hsa_queue_add_write_index_screlease(const void* queue, uint64_t value) {
    (void)queue;
    return value + NUMBER;
}
#else
uint64_t hsa_queue_add_write_index_screlease(const void* queue, uint64_t value);

static _Thread_local int current_device;

/* Not a function of HIP: the hook does not see it. */
__attribute__((visibility("default"))) void use_device(int device) {
    current_device = device;
}

__attribute__((visibility("default"))) int hipGetDevice(int* device) {
    *device = current_device;
    return 0;
}

/* Both numbers: of this runtime, and of the ROCr that its calls reached. */
__attribute__((visibility("default"))) int hipStreamQuery(void* stream) {
    return NUMBER * 1000 + (int)hsa_queue_add_write_index_screlease(stream, 0);
}
#endif
