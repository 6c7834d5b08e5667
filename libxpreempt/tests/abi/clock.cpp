// SPDX-License-Identifier: MIT
// A wait of the C++ library, linked as libxpreempt is: it ends in time although the system's clock
// is set back meanwhile.
#include <chrono>
#include <condition_variable>
#include <ctime>
#include <mutex>
#include <sys/syscall.h>
#include <unistd.h>

// In front of the C library's. A time by this clock comes an hour late, as after it was set back.
extern "C" int clock_gettime(clockid_t clock, timespec* time) noexcept {
    const auto answer = static_cast<int>(syscall(SYS_clock_gettime, clock, time));
    if (clock == CLOCK_REALTIME)
        time->tv_sec += 3600;
    return answer;
}

int main() {
    alarm(60); // the failure is a wait of an hour
    std::mutex mutex;
    std::condition_variable changed;
    std::unique_lock lock(mutex);
    changed.wait_for(lock, std::chrono::milliseconds(10));
    return 0;
}
