// SPDX-License-Identifier: MIT
// Prints the name of each thread that the library starts, seen in /proc while a program makes it
// start all of them, for tests/abi/documented. Each must block the signals of the process. A thread
// without a name of the library's, or one that never comes, ends in the test runner's time limit.
#include <xpreempt/xpreempt.h>

#include "fake/fake_rocm.hpp"
#include "unit/until.hpp"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <unistd.h>

extern "C" {
int hipMemsetAsync(void* to, int value, std::size_t bytes, void* stream);
int hipStreamCreate(void** stream);
}

namespace {

namespace fs = std::filesystem;
using test::until;

constexpr std::string_view prefix = "xpreempt-";
// Also the name of a new thread until it has one of its own.
constexpr const char* name_of_program = "program";

void must(int error) {
    if (error != 0) {
        std::fprintf(stderr, "%d: %s\n", error, xp_last_detail());
        std::_Exit(1);
    }
}

// Returns as much as can be read of a thread that ends meanwhile.
std::string text_of(const fs::path& file) {
    std::ifstream in(file);
    std::string text;
    std::getline(in, text, '\0');
    return text;
}

// A field of a status file of /proc.
std::uint64_t number_in(const std::string& status, std::string_view field, int base) {
    const std::size_t at = status.find(field);
    return at == std::string::npos ? 0
                                   : std::stoull(status.substr(at + field.size()), nullptr, base);
}

// The names that were seen, by a thread of the program that looks until the process ends.
class Seen {
public:
    void look() {
        std::error_code gone;
        for (const auto& task : fs::directory_iterator("/proc/self/task", gone)) {
            std::string name = text_of(task.path() / "comm");
            const std::string status = text_of(task.path() / "status");
            if (!name.starts_with(prefix) || number_in(status, "Threads:", 10) == 0) // it has ended
                continue;
            name.pop_back(); // the end of the line
            const std::uint64_t blocked = number_in(status, "SigBlk:", 16);
            for (const int signal : {SIGTERM, SIGINT, SIGCHLD, SIGALRM, SIGUSR1})
                if ((blocked >> (signal - 1) & 1) == 0) {
                    std::fprintf(stderr, "%s takes signal %d\n", name.c_str(), signal);
                    std::_Exit(1);
                }
            add(name);
        }
    }
    void wait_for(const char* name) {
        until([&] {
            const std::lock_guard lock(mutex_);
            return names_.contains(name);
        });
    }

private:
    // Written at once: nothing runs after the last one is seen but the end of the process.
    void add(const std::string& name) {
        const std::lock_guard lock(mutex_);
        if (!names_.insert(name).second)
            return;
        std::printf("%s\n", name.c_str());
        std::fflush(stdout);
    }
    std::mutex mutex_;
    std::set<std::string> names_;
};

// Never destroyed: the thread looks while the process ends.
Seen& seen = *new Seen;

// All but the main thread and the one that looks are the library's.
bool all_have_names() {
    const auto tasks = fs::directory_iterator("/proc/self/task");
    return std::ranges::count_if(tasks, [](const auto& task) {
               return !text_of(task.path() / "comm").starts_with(prefix);
           }) == 2;
}

int put_packet(void* stream, void*) {
    return hipMemsetAsync(nullptr, 0, 4, stream);
}

std::atomic<bool> launching{false};

// At its exit the process waits for a launch function, until the thread of the exit was seen.
int launch_until_exit(void*, void*) {
    launching = true;
    seen.wait_for("xpreempt-exit");
    return 0;
}

void use_xqueue(xp_xqueue_t xqueue) {
    seen.wait_for("xpreempt-xqueue");
    std::uint64_t ticket = 0;
    must(xp_xqueue_suspend(xqueue, 0,
                           nullptr)); // of a command that has ended the caller is notified
    must(xp_xqueue_submit(xqueue, put_packet, nullptr, &ticket));
    static std::atomic<bool> notified{false};
    const auto note = [](int, void*) {
        seen.wait_for("xpreempt-watch");
        notified = true;
    };
    must(xp_xqueue_notify(xqueue, ticket, note, nullptr));
    must(xp_xqueue_resume(xqueue));
    until([] { return notified.load(); });
}

void use_scheduler(void* stream) {
    must(xp_sched_start(XP_POLICY_HIGHEST_PRIORITY_FIRST));
    must(xp_stream_set_priority(stream, 1));
    seen.wait_for("xpreempt-sched");
    fake_hip()->running[0] = fake_stream(stream);
    must(hipMemsetAsync(nullptr, 0, 4, stream));
    seen.wait_for("xpreempt-direct");
    fake_hip()->running[0] = nullptr;
    must(xp_sched_stop());
}

// The driver refuses to start the queue, so its start is made later.
void use_order(void* stream) {
    must(xp_stream_hold(stream, 0, nullptr));
    fake_driver()->refused_starts = 1U << 30;
    must(xp_stream_release(stream));
    seen.wait_for("xpreempt-order");
    fake_driver()->refused_starts = 0;
}

} // namespace

int main() {
    fake_driver()->patched = true;
    pthread_setname_np(pthread_self(), name_of_program);
    std::string directory = (fs::temp_directory_path() / "xpreempt-threads-XXXXXX").string();
    if (::mkdtemp(directory.data()) == nullptr)
        return 1;
    ::setenv("XDG_RUNTIME_DIR", directory.c_str(), 1);
    std::thread([] {
        for (;;)
            seen.look();
    }).detach();
    void* streams[2] = {};
    for (void*& stream : streams) {
        must(hipStreamCreate(&stream));
        must(hipMemsetAsync(nullptr, 0, 4, stream));
    }
    xp_xqueue_t xqueue{};
    must(xp_xqueue_create(streams[0], nullptr, &xqueue));
    use_xqueue(xqueue);
    use_scheduler(streams[1]);
    use_order(streams[1]);
    must(xp_control_open(nullptr));
    seen.wait_for("xpreempt-ctl");
    until(all_have_names);
    must(xp_control_close());
    fs::remove_all(directory);
    must(xp_xqueue_suspend(xqueue, 0, nullptr));
    must(xp_xqueue_submit(xqueue, launch_until_exit, nullptr, nullptr)); // by the xqueue's thread
    must(xp_xqueue_resume(xqueue));
    until([] { return launching.load(); });
    return 0;
}
