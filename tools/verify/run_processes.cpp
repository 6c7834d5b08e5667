// SPDX-License-Identifier: MIT
// Stages processes, xnack, freeze: a child process, seen from outside.
#include "bench.hpp"

#include "child.hpp"
#include "operator.hpp"
#include "program.hpp"

#include <array>
#include <cerrno>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <optional>
#include <unistd.h>

namespace verify {

namespace {

// Returns nullptr after it has said why.
std::unique_ptr<Child> start_child(Bench& bench, bool xnack, Checks& checks) {
    auto child = Child::start(bench.gpu().id(), xnack ? Child::busy_with_xnack : Child::busy);
    if (!child && xnack && child.error() == "unsupported") {
        checks.skip(
            "XNACK cannot be turned on: the kernel lacks HSA_AMD_SVM, amdgpu.noretry is 1, or the "
            "GPU has no XNACK");
        return nullptr;
    }
    checks.check(child.has_value(), "a child process runs a kernel", child ? "" : child.error());
    return child ? std::move(*child) : nullptr;
}

bool stop_child(const Operator& by, Child& child, Checks& checks) {
    const std::array<std::uint32_t, 1> ids{child.queue_id()};
    Entries stops = stops_of(ids);
    const auto stopped = send(by.fd(), child.pid(), 0, stops);
    // EPERM of the whole call says that this user lacks the right; of an entry it would be a fault.
    if (!stopped && stops[0].result == 0 && stopped.error().find("EPERM") != std::string::npos) {
        checks.skip("not allowed to stop queues of another process: run as root (CAP_SYS_PTRACE)");
        return false;
    }
    return checks.check(stopped.has_value(), "its queue is stopped from outside",
                        stopped ? "" : stopped.error());
}

} // namespace

void run_processes(Bench& bench, Checks& checks) {
    const auto child = start_child(bench, false, checks);
    if (!child)
        return;
    Operator first;
    if (!stop_child(first, *child, checks))
        return;
    checks.check(child->stands_still(), "it makes no progress");
    Operator second;
    stop_child(second, *child, checks);
    first.close();
    checks.check(child->stands_still(), "it makes no progress while one of two operators is left");
    second.close();
    checks.check(child->moves(), "it runs again when the last operator has ended");
    checks.check(child->ends_right(), "its kernel ends with the right results");
}

void run_xnack(Bench& bench, Checks& checks) {
    const auto child = start_child(bench, true, checks);
    if (!child)
        return;
    for (unsigned round = 0; round < 3; ++round) {
        Operator by;
        if (!stop_child(by, *child, checks))
            return;
        checks.check(child->stands_still(), "it makes no progress");
        by.close();
        checks.check(child->moves(), "it runs again");
    }
    checks.check(child->ends_right(), "its kernel ends with the right results");
}

namespace {

// A cgroup of version 2 with one process, removed at the end.
class OwnCgroup {
public:
    explicit OwnCgroup(pid_t pid)
        : path_(fmt::format("/sys/fs/cgroup/kfd-preempt-verify-{}", ::getpid())) {
        std::error_code error;
        if (!std::filesystem::exists("/sys/fs/cgroup/cgroup.controllers", error))
            return;
        made_ = std::filesystem::create_directory(path_, error);
        std::ofstream file(path_ / "cgroup.procs");
        file << pid << std::flush;
        holds_process_ = made_ && file.good();
    }
    ~OwnCgroup() {
        std::error_code error;
        if (made_)
            std::filesystem::remove(path_, error);
    }
    OwnCgroup(const OwnCgroup&) = delete;
    OwnCgroup& operator=(const OwnCgroup&) = delete;
    [[nodiscard]] bool usable() const { return holds_process_; }
    [[nodiscard]] std::string name() const { return path_.string(); }

private:
    std::filesystem::path path_;
    bool made_ = false, holds_process_ = false;
};

bool run_command(const char* verb, const OwnCgroup& cgroup) {
    return succeeds({command_name(), verb, "--cgroup", cgroup.name()});
}

} // namespace

void run_freeze(Bench& bench, Checks& checks) {
    std::optional<OwnCgroup> cgroup;
    const auto child = start_child(bench, false, checks);
    if (!child)
        return;
    cgroup.emplace(child->pid());
    if (!cgroup->usable())
        return checks.skip("cannot create a cgroup in /sys/fs/cgroup: run as root, with cgroup "
                           "version 2");
    if (checks.check(run_command("freeze", *cgroup), "kfd-preempt freeze"))
        checks.check(child->stands_still(), "it makes no progress");
    checks.check(run_command("thaw", *cgroup), "kfd-preempt thaw");
    checks.check(child->moves(), "it runs again");
    checks.check(child->ends_right(), "its kernel ends with the right results");
}

} // namespace verify
