// SPDX-License-Identifier: MIT
// Two named streams, the long kernel in low and the short ones in high: for tests of the control
// socket from outside.   usage: control_streams DIRECTORY   (see long_and_short.hpp)
#include <xpreempt/xpreempt.h>

#include "long_and_short.hpp"

namespace {

void must(int error, const char* call) {
    if (error == 0)
        return;
    std::fprintf(stderr, "control_streams: %s: %s; %s\n", call, std::strerror(-error),
                 xp_last_detail());
    std::exit(1);
}

hipStream_t new_stream(const char* name) {
    void* stream = nullptr;
    must(xp_stream_create(&stream), "xp_stream_create");
    must(xp_stream_set_name(stream, name), "xp_stream_set_name");
    return static_cast<hipStream_t>(stream);
}

} // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        std::fprintf(stderr, "usage: control_streams DIRECTORY\n");
        return 2;
    }
    hipStream_t low = new_stream("low"), high = new_stream("high");
    const int status = long_and_short::run(argv[1], low, high);
    // At the end HIP would free memory of their queues and leave the queues on the GPU.
    must(xp_stream_destroy(low), "xp_stream_destroy");
    must(xp_stream_destroy(high), "xp_stream_destroy");
    return status;
}
