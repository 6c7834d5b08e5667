// SPDX-License-Identifier: MIT
// Error messages for an errno: the thing, what is wrong, what to do.
#include "processes/error_messages.hpp"

#include "kfd/module.hpp"
#include "output/names.hpp"
#include "processes/machine.hpp"
#include "processes/task.hpp"

#include <cerrno>
#include <cstring>
#include <fmt/format.h>

namespace cli {

namespace {

bool stops(Verb verb) {
    return verb == Verb::suspend || verb == Verb::freeze;
}

std::string not_allowed(const Context& context, Verb verb, const Target& target,
                        const std::string& thing) {
    if (stops(verb) && kfd::loaded_module(context.roots).operator_mode == 0)
        return fmt::format("{}: no operator may {} another process' queues on this machine "
                           "(amdgpu.operator_mode=0): load amdgpu with mode 1 to "
                           "allow it to CAP_SYS_PTRACE",
                           thing, verb_name(verb));
    const std::string owner =
        target.task ? fmt::format(" of uid {}", target.task->uid) : std::string{};
    return fmt::format("{}: not allowed to {} queues{}: CAP_SYS_PTRACE in that process' user "
                       "namespace is missing; {}",
                       thing, verb_name(verb), owner,
                       is_root(context.roots) ? "start this container with --cap-add SYS_PTRACE"
                                              : "run kfd-preempt as root (sudo)");
}

// A process is locked in the driver while it allocates memory, or its memory moves.
std::string busy(Verb verb, const std::string& thing) {
    switch (verb) {
    case Verb::status:
        return fmt::format("{}: its state cannot be read now: the process is locked while it "
                           "allocates memory, or while its memory moves; try again",
                           thing);
    case Verb::resume:
    case Verb::thaw:
        return fmt::format("{}: cannot resume yet, nothing changed: the hardware has not "
                           "confirmed its stop (PENDING), the GPU is being reset, or the process "
                           "is locked while its memory is allocated or moved; try again",
                           thing);
    case Verb::suspend:
    case Verb::freeze: break;
    }
    return fmt::format("{}: busy, nothing changed (GPU reset, queue teardown or a move of memory "
                       "in progress, or the process is locked while it allocates); try again",
                       thing);
}

Diagnosis without_preemption(const Context& context) {
    const kfd::LoadedModule module = kfd::loaded_module(context.roots);
    if (module.switched_off)
        return {Exit::unsupported,
                "the loaded amdgpu driver has no queue preemption: it is switched off",
                "remove amdgpu.kfd_preempt=0 from the kernel command line or /etc/modprobe.d, then "
                "reboot"};
    if (module.rocm)
        return {Exit::unsupported,
                "the loaded amdgpu is ROCm's own (amdgpu-dkms) and has no queue preemption",
                "build it with queue preemption, as kernel/README.md says, then reboot"};
    return {Exit::unsupported, "the loaded amdgpu driver has no queue preemption",
            "install and load the patched amdgpu (dkms install kfd-preempt, then reboot)"};
}

} // namespace

const char* verb_name(Verb verb) {
    switch (verb) {
    case Verb::suspend: return "suspend";
    case Verb::resume: return "resume";
    case Verb::status: return "see the status of";
    case Verb::freeze: return "freeze";
    case Verb::thaw: return "thaw";
    }
    return "";
}

std::string driver_sentence(const Context& context, Verb verb, int errno_value,
                            const Target& target, std::optional<std::uint32_t> queue_id) {
    const std::string thing = queue_id ? queue_name(*queue_id, target) : target.name();
    switch (errno_value) {
    case EPERM: return not_allowed(context, verb, target, thing);
    case EBUSY: return busy(verb, thing);
    case EALREADY:
        return fmt::format("{}: already {}", thing, stops(verb) ? "suspended" : "not suspended");
    case ESRCH:
        return fmt::format("{}: it does not use KFD any more: it ended or closed the GPU", thing);
    case ENOENT:
        return fmt::format("{}: there is no such queue (any more): `kfd-preempt list {}` shows "
                           "those there are",
                           thing, target.pid);
    case EIO:
        return fmt::format("{}: the queue is dead, lost in a GPU reset: only its own program can "
                           "destroy it; restart that program",
                           thing);
    case ETIME:
        return fmt::format("{}: stop requested, but the hardware has not confirmed it in time: it "
                           "is PENDING; `kfd-preempt status {}` shows when it is HELD; run {} "
                           "again to wait for it",
                           thing, target.pid, verb_name(verb));
    case EOPNOTSUPP:
        return fmt::format("{}: cannot be stopped mid-kernel with this scheduler and GPU; "
                           "`kfd-preempt doctor` shows what they can do",
                           thing);
    case ENOSPC:
        return fmt::format("{}: no hardware slot is left to resume into: end or suspend another "
                           "queue of that GPU first",
                           thing);
    case ENODEV: return fmt::format("{}: its GPU is gone", thing);
    case ENOMEM:
        return fmt::format("{}: the kernel is out of memory, nothing changed: try again", thing);
    case ENOTTY:
        return fmt::format("{}: the loaded amdgpu driver cannot do this: `kfd-preempt doctor` "
                           "says what is missing",
                           thing);
    case EINVAL:
        return fmt::format(
            "{}: the driver refused the request as malformed: command and driver "
            "do not fit each other; compare their versions with `kfd-preempt version`",
            thing);
    default:
        return fmt::format("{}: cannot {}: {} ({})", thing, verb_name(verb),
                           std::strerror(errno_value), errno_name(errno_value));
    }
}

Exit exit_of(int errno_value) {
    switch (errno_value) {
    case 0: return Exit::ok;
    case ENOTTY: return Exit::unsupported;
    case EPERM:
    case EACCES: return Exit::permission;
    default: return Exit::failed;
    }
}

Failure driver_failure(const Context& context, Verb verb, const Error& error,
                       const Target& target) {
    return {exit_of(error.errno_value), error.errno_value,
            driver_sentence(context, verb, error.errno_value, target, std::nullopt)};
}

Failure no_kfd(const Context& context) {
    return {Exit::unsupported, ENOENT,
            fmt::format("this kernel shows no KFD ({} is missing): amdgpu is not loaded or found "
                        "no GPU; `kfd-preempt doctor` says what to do",
                        context.roots.kfd_class().string())};
}

constexpr const char* read_log = "dmesg | grep -i amdgpu";

Diagnosis diagnose_device(const Context& context, const Error& error) {
    const std::string path = context.roots.device.string();
    const int reason = error.errno_value;
    const std::string reason_text =
        fmt::format("{} ({})", std::strerror(reason), errno_name(reason));
    if (error.op == Op::query && reason == ENOTTY)
        return without_preemption(context);
    if (error.op == Op::query)
        return {Exit::failed,
                fmt::format("{}: QUERY of gpu {} failed: {}", path, error.id, reason_text),
                "look for errors of amdgpu in dmesg",
                {read_log}};
    if (reason == ENOENT || reason == ENXIO || reason == ENODEV)
        return {Exit::unsupported,
                fmt::format("{} is missing", path),
                "load amdgpu; start a container with --device /dev/kfd --device /dev/dri",
                {"modprobe amdgpu"}};
    // The cgroup of a container, or of a unit, allows it no such device.
    if ((reason == EACCES || reason == EPERM) && is_root(context.roots))
        return {Exit::permission,
                fmt::format("{}: root is not allowed to open it", path),
                "start a container with --device /dev/kfd --device /dev/dri, a unit with "
                "DeviceAllow=",
                {container_command}};
    if (reason == EACCES || reason == EPERM) {
        const std::optional<std::string> group = group_with_access(context.roots);
        std::vector<std::string> commands{"sudo kfd-preempt doctor"};
        if (group)
            commands.push_back(fmt::format("sudo usermod -aG {} \"$USER\"", *group));
        return {Exit::permission, fmt::format("{}: not allowed to open it", path),
                fmt::format("run kfd-preempt as root (sudo){}",
                            group ? " or join the group " + *group : std::string{}),
                std::move(commands)};
    }
    return {Exit::failed,
            fmt::format("{}: cannot be opened: {}", path, reason_text),
            "look for errors of amdgpu in dmesg",
            {read_log}};
}

Failure device_failure(const Context& context, const Error& error) {
    const Diagnosis diagnosis = diagnose_device(context, error);
    return {diagnosis.exit, error.errno_value,
            fmt::format("{}: {}{}", diagnosis.text, diagnosis.fix,
                        diagnosis.exit == Exit::unsupported ? "; `kfd-preempt doctor` has details"
                                                            : "")};
}

} // namespace cli
