// SPDX-License-Identifier: MIT
// A program with two named streams and an xqueue on the fake ROCm, for tests of the command.
//
// Says "ready HANDLE" (of an unnamed stream); for each line on standard input it says which of the
// queues of low and high run: "low 1 high 1". With FAKE_BLIND it has one more stream, whose packets
// the hook does not see. With FAKE_SHARED low has its queue together with a stream named beside.
#include <xpreempt/xpreempt.h>

#include "fake/fake_rocm.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

extern "C" {
int hipStreamCreate(void** stream);
int hipMemsetAsync(void* to, int value, std::size_t bytes, void* stream);
}

namespace {

std::uint32_t ids[2];

void must(int error, const char* call) {
    if (error == 0)
        return;
    std::fprintf(stderr, "control_app: %s: %s; %s\n", call, std::strerror(-error),
                 xp_last_detail());
    std::exit(1);
}

void* new_stream(const char* name) {
    void* stream = nullptr;
    must(xp_stream_create(&stream), "xp_stream_create");
    must(xp_stream_set_name(stream, name), "xp_stream_set_name");
    return stream;
}

void* new_pooled_stream() {
    void* stream = nullptr;
    must(hipStreamCreate(&stream), "hipStreamCreate");
    must(hipMemsetAsync(nullptr, 0, 4, stream), "hipMemsetAsync");
    return stream;
}

// The fake has two queues for three streams: the first and the last have one together.
void* new_shared_stream(const char* name, const char* other) {
    void* streams[] = {new_pooled_stream(), new_pooled_stream(), new_pooled_stream()};
    must(xp_stream_set_name(streams[0], name), "xp_stream_set_name");
    must(xp_stream_set_name(streams[2], other), "xp_stream_set_name");
    return streams[0];
}

// As a HIP does that the hook is blind for.
void use_stream_past_the_hook() {
    fake_hip()->seam = fake::Seam::direct;
    (void)new_pooled_stream();
}

int runs(std::uint32_t id) {
    const fake::Queue& queue = fake_driver()->queues[id];
    return !queue.held && queue.percentage == 100 ? 1 : 0;
}

} // namespace

int main() {
    fake_driver()->patched = true;
    const bool shared = std::getenv("FAKE_SHARED") != nullptr;
    void* streams[] = {shared ? new_shared_stream("low", "beside") : new_stream("low"),
                       new_stream("high")};
    for (int i = 0; i < 2; ++i) {
        xp_stream_info info{};
        info.sz = sizeof info;
        must(xp_stream_query(streams[i], &info), "xp_stream_query");
        ids[i] = info.kfd_queue_id;
    }
    xp_xqueue_t xqueue{};
    must(xp_xqueue_create(streams[1], nullptr, &xqueue), "xp_xqueue_create");
    must(xp_xqueue_set_name(xqueue, "front"), "xp_xqueue_set_name");
    void* unnamed = new_stream(nullptr);
    if (std::getenv("FAKE_BLIND") != nullptr)
        use_stream_past_the_hook();
    std::printf("ready %p\n", unnamed);
    std::fflush(stdout);
    char line[64];
    while (std::fgets(line, sizeof line, stdin) != nullptr) {
        std::printf("low %d high %d\n", runs(ids[0]), runs(ids[1]));
        std::fflush(stdout);
    }
    return 0;
}
