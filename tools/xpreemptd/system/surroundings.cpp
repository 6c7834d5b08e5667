// SPDX-License-Identifier: MIT
// Finds what a container or a service manager keeps from the daemon.
#include "system/surroundings.hpp"

#include "kfd/attribute.hpp"

#include <charconv>
#include <cstdint>
#include <fmt/format.h>
#include <linux/capability.h>
#include <system_error>

namespace xpreemptd {

namespace {

using xpreempt::Op;

// The first namespace of each kind has a fixed number: include/linux/proc_ns.h.
constexpr std::string_view first_pid_namespace = "pid:[4026531836]";
constexpr std::string_view first_user_namespace = "user:[4026531837]";
constexpr std::string_view first_cgroup_namespace = "cgroup:[4026531835]";
// operator_mode that lets the same user stop queues of a process: see kernel/README.md.
constexpr int mode_of_same_user = 3;

std::string own_namespace(const kfd::Roots& roots, std::string_view kind) {
    std::error_code error;
    return std::filesystem::read_symlink(roots.proc / "self/ns" / kind, error).string();
}

bool may_trace(const kfd::Roots& roots) {
    const auto status = kfd::read_text(roots.proc / "self/status", Op::read_proc, 16384);
    const std::string mask =
        status ? kfd::field_of(*status, "CapEff").value_or(std::string()) : std::string();
    std::uint64_t bits = 0;
    std::from_chars(mask.data(), mask.data() + mask.size(), bits, 16);
    return (bits >> CAP_SYS_PTRACE & 1U) != 0;
}

} // namespace

tl::expected<std::vector<std::string>, std::string> check_surroundings(const kfd::Roots& roots) {
    const std::string pids = own_namespace(roots, "pid");
    if (pids.empty())
        return tl::make_unexpected(
            fmt::format("{} cannot be read: mount /proc", (roots.proc / "self/ns/pid").string()));
    if (pids != first_pid_namespace)
        return tl::make_unexpected(
            std::string("xpreemptd is in a pid namespace of its own, where the pids that KFD shows "
                        "mean other processes: start its container with --pid=host (Kubernetes: "
                        "hostPID: true)"));
    if (own_namespace(roots, "user") != first_user_namespace)
        return tl::make_unexpected(std::string(
            "xpreemptd is in a user namespace of its own, where its capabilities do not "
            "reach the jobs of the machine: run its container as root of the host, "
            "without --userns and --uidmap"));
    std::vector<std::string> warnings;
    if (!may_trace(roots)) {
        const auto mode = kfd::read_unsigned<int>(
            roots.amdgpu_module() / "parameters/operator_mode", Op::read_sysfs);
        if (!mode || *mode < mode_of_same_user)
            return tl::make_unexpected(
                std::string("xpreemptd lacks CAP_SYS_PTRACE, without which it may not stop queues "
                            "of other processes: run it as root, its container with "
                            "--cap-add=SYS_PTRACE (Kubernetes: capabilities.add)"));
        warnings.emplace_back("without CAP_SYS_PTRACE only jobs of the same user can be stopped");
    }
    if (own_namespace(roots, "cgroup") != first_cgroup_namespace)
        warnings.emplace_back("xpreemptd is in a cgroup namespace of its own: it sees paths that "
                              "begin with /.., and rules by cgroup or unit do not match: start its "
                              "container with --cgroupns=host");
    return warnings;
}

} // namespace xpreemptd
