// SPDX-License-Identifier: MIT
// A HIP program that knows nothing of libxpreempt. Prints the handle of its stream; the short kernels
// are in the default stream.   usage: unmodified DIRECTORY   (see long_and_short.hpp)
#include "long_and_short.hpp"

int main(int argc, char** argv) {
    if (argc != 2) {
        std::fprintf(stderr, "usage: unmodified DIRECTORY\n");
        return 2;
    }
    hipStream_t stream = nullptr; // the default stream must not wait for it
    long_and_short::must(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking),
                         "hipStreamCreateWithFlags");
    std::printf("stream %p\n", static_cast<void*>(stream));
    std::fflush(stdout);
    return long_and_short::run(argv[1], stream, nullptr);
}
