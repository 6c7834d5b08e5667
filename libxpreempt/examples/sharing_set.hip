// SPDX-License-Identifier: MIT
// Four streams on one queue: who stops when one of them is stopped. Run with GPU_MAX_HW_QUEUES=1.
#include <xpreempt/xpreempt.h>

#include <hip/hip_runtime.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <vector>

namespace {

int failures = 0;

void check(bool good, const char* what) {
    std::printf("%s - %s\n", good ? "ok" : "not ok", what);
    failures += good ? 0 : 1;
}

void must(int error, const char* call) {
    if (error == 0)
        return;
    std::printf("Bail out! %s: %d %s\n", call, error, xp_last_detail());
    std::exit(1);
}

__global__ void add_one(int* word) { atomicAdd(word, 1); }

xp_stream_info query(hipStream_t stream) {
    xp_stream_info info{};
    info.sz = sizeof info;
    must(xp_stream_query(stream, &info), "xp_stream_query");
    return info;
}

} // namespace

int main() {
    int* word = nullptr;
    must(hipMalloc(&word, sizeof *word), "hipMalloc");
    must(hipMemset(word, 0, sizeof *word), "hipMemset");
    std::vector<hipStream_t> streams(4);
    for (hipStream_t& stream : streams) {
        must(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking), "hipStreamCreateWithFlags");
        add_one<<<dim3(1), dim3(1), 0, stream>>>(word);
    }
    must(hipDeviceSynchronize(), "hipDeviceSynchronize");

    std::set<unsigned> queues;
    for (hipStream_t stream : streams)
        queues.insert(query(stream).kfd_queue_id);
    check(queues.size() == 1, "all four streams are on one KFD queue");

    std::vector<void*> sharing(16);
    std::size_t count = 0;
    must(xp_stream_sharing(streams[0], sharing.data(), sharing.size(), &count), "xp_stream_sharing");
    sharing.resize(count);
    for (hipStream_t stream : streams)
        check(std::find(sharing.begin(), sharing.end(), stream) != sharing.end(),
              "a stream is in the sharing set");
    std::printf("# KFD queue %u: %zu streams; %s\n", *queues.begin(), count,
                query(streams[0]).reason);
    check(query(streams[0]).level == XP_LEVEL_BLOCK, "a shared stream can only be blocked");

    constexpr unsigned stop = XP_HOLD_LEAST(XP_LEVEL_INTERRUPT);
    check(xp_stream_hold(streams[0], stop, nullptr) == -EOPNOTSUPP, "it is not stopped by mistake");
    must(xp_stream_hold(streams[0], stop | XP_HOLD_SHARED, nullptr), "xp_stream_hold");
    add_one<<<dim3(1), dim3(1), 0, streams[3]>>>(word);
    check(hipStreamQuery(streams[3]) == hipErrorNotReady, "a neighbour stands still with it");
    must(xp_stream_release(streams[0]), "xp_stream_release");
    must(hipStreamSynchronize(streams[3]), "hipStreamSynchronize");

    // A stream of its own queue is none of theirs, also now.
    void* own = nullptr;
    must(xp_stream_create(&own), "xp_stream_create");
    const xp_stream_info own_info = query(static_cast<hipStream_t>(own));
    check(own_info.kfd_queue_id != *queues.begin() && own_info.num_sharing == 1,
          "xp_stream_create() gives a queue of its own");
    check(own_info.level == XP_LEVEL_INTERRUPT, "such a stream can be interrupted");
    must(xp_stream_destroy(own), "xp_stream_destroy");

    int sum = 0;
    must(hipMemcpy(&sum, word, sizeof sum, hipMemcpyDeviceToHost), "hipMemcpy");
    check(sum == 5, "every kernel ran once");
    std::printf("%s\n", failures == 0 ? "passed" : "failed");
    return failures == 0 ? 0 : 1;
}
