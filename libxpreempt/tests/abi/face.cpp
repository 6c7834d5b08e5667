// SPDX-License-Identifier: MIT
// A consumer of the C++ face, without HIP and without the hook.
#include <xpreempt/xpreempt.hpp>

#include <cstdio>

int main() {
    int stream = 0;
    const auto probe = xpreempt::probe();
    const auto info = xpreempt::query_stream(&stream);
    const auto xqueue = xpreempt::StreamXQueue::create(&stream);
    const bool good = probe && probe->hook_loaded == 0 && !info &&
                      info.error() == std::errc::function_not_supported && !xqueue &&
                      xqueue.error() == std::errc::no_such_file_or_directory;
    std::printf("%s - the C++ face degrades without HIP\n", good ? "ok" : "not ok");
    return good ? 0 : 1;
}
