// SPDX-License-Identifier: MIT
// A consumer of the C++ face, without HIP and without the hook.
#include <xpreempt/xpreempt.hpp>

#include <cstdio>

namespace {

int failures = 0;

void check(bool good, const char* what) {
    std::printf("%s - %s\n", good ? "ok" : "not ok", what);
    failures += good ? 0 : 1;
}

template <typename Value>
void check_error(const xpreempt::Expected<Value>& expected, std::errc wanted, const char* what) {
    check(!expected && expected.error() == wanted && !expected.error().detail().empty(), what);
}

} // namespace

int main() {
    int memory = 0;
    const xpreempt::StreamRef stream(&memory);
    const auto probe = xpreempt::probe();
    check(probe && probe->hook_loaded == 0 && probe->hip_loaded == 0, "no hook and no HIP is found");
    check_error(stream.query(), std::errc::function_not_supported, "no stream is mapped");
    check_error(xpreempt::Held::hold(stream), std::errc::function_not_supported, "or held");
    check_error(xpreempt::Stream::create(), std::errc::no_such_file_or_directory, "or created");
    check_error(xpreempt::XQueue::create(stream, {.threshold = 8, .batch = 4}),
                std::errc::no_such_file_or_directory, "no xqueue is created");
    const auto scheduler = xpreempt::Scheduler::start();
    check(scheduler && xpreempt::Scheduler::query()->policy == XP_POLICY_HIGHEST_PRIORITY_FIRST,
          "a scheduler runs");
    return failures == 0 ? 0 : 1;
}
