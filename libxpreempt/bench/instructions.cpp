// SPDX-License-Identifier: MIT
// Submits commands through the C interface on a HIP runtime that does nothing, for
// count-instructions.
// usage: xpreempt_instructions inline|deferred THRESHOLD BATCH COUNT
#include <xpreempt/xpreempt.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace {

int nothing(void*, void*) {
    return 0;
}

std::uint32_t number(const char* text) {
    return static_cast<std::uint32_t>(std::strtoul(text, nullptr, 10));
}

} // namespace

// The calling thread is counted from here to the return.
extern "C" [[gnu::noinline]] void submit_commands(xp_xqueue_t xqueue, std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i)
        if (xp_xqueue_submit(xqueue, nothing, nullptr, nullptr) != 0)
            std::abort();
}

int main(int argc, char** argv) {
    if (argc != 5) {
        std::fprintf(stderr, "usage: %s inline|deferred THRESHOLD BATCH COUNT\n", argv[0]);
        return 64;
    }
    xp_xqueue_options options{};
    options.sz = sizeof options;
    options.capacity = 1U << 20;
    options.max_level = XP_LEVEL_BLOCK;
    options.threshold = number(argv[2]);
    options.batch = number(argv[3]);
    const bool deferred = argv[1] == std::string_view("deferred");
    options.flags = deferred ? XP_DEFERRED : 0;
    xp_xqueue_t xqueue{};
    int stream = 0; // the runtime looks at no handle
    if (xp_xqueue_create(&stream, &options, &xqueue) != 0) {
        std::fprintf(stderr, "%s\n", xp_last_detail());
        return 1;
    }
    // Its thread would run beside the caller, and be woken as often as the machine likes.
    if (deferred)
        xp_xqueue_suspend(xqueue, 0, nullptr);
    submit_commands(xqueue, number(argv[4]));
    xp_xqueue_destroy(xqueue);
    return 0;
}
