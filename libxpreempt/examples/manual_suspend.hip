// SPDX-License-Identifier: MIT
// Suspend and resume by hand: stops a kernel in the middle; its result is still right.
#include "walk.hpp"

#include <xpreempt/xpreempt.h>

#include <cstdio>
#include <cstdlib>
#include <unistd.h>

namespace {

int failures = 0;

void check(bool good, const char* what) {
    std::printf("%s - %s\n", good ? "ok" : "not ok", what);
    failures += good ? 0 : 1;
}

void must(bool good, const char* call) {
    if (good)
        return;
    std::printf("Bail out! %s: %s\n", call, xp_last_detail());
    std::exit(1);
}

int launch(void* stream, void* argument) {
    walk<<<dim3(1), dim3(lanes), 0, static_cast<hipStream_t>(stream)>>>(
        static_cast<Walk*>(argument));
    return hipGetLastError();
}

} // namespace

int main() {
    Walk* work = nullptr;
    must(hipHostMalloc(&work, sizeof *work, hipHostMallocCoherent) == hipSuccess, "hipHostMalloc");
    *work = {};

    void* stream = nullptr; // with a queue of its own: no other stream stops with it
    must(xp_stream_create(&stream) == 0, "xp_stream_create");
    xp_xqueue_t xqueue{};
    must(xp_xqueue_create(stream, nullptr, &xqueue) == 0, "xp_xqueue_create");
    std::uint64_t ticket = 0;
    must(xp_xqueue_submit(xqueue, launch, work, &ticket) == 0, "xp_xqueue_submit");
    while (rounds_of(*work) == 0) {
    }
    must(xp_xqueue_suspend(xqueue, XP_SUSPEND_EXACT, nullptr) == 0, "xp_xqueue_suspend");
    const std::uint32_t stood = rounds_of(*work);
    usleep(100000);
    check(rounds_of(*work) == stood, "the kernel has begun, and stands still");
    must(xp_xqueue_resume(xqueue) == 0, "xp_xqueue_resume");
    while (rounds_of(*work) == stood) {
    }
    __atomic_store_n(&work->end, 1, __ATOMIC_RELAXED);
    check(xp_xqueue_wait(xqueue, ticket) == 0, "resumed, it continues and ends");
    check(xp_xqueue_destroy(xqueue) == 0, "the xqueue is destroyed");
    check(is_right(*work), "every lane has the right value");
    check(xp_stream_destroy(stream) == 0, "the stream is destroyed");
    return failures != 0;
}
