// SPDX-License-Identifier: MIT
// The commands of the mailbox: "arm SPEC", "disarm NUMBER", "disarm all", "list", "counter NAME",
// "scribble-mqds PASID", "pace RATE".
#include "fault/fault_commands.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <charconv>

namespace vgpu::fault {
namespace {

Result<std::string> arm(FaultInjector& faults, std::string_view text) {
    auto spec = parse_spec(text);
    if (!spec)
        return spec.error();
    if (faults.armed() >= FaultInjector::max_armed)
        return Error{ENOSPC, fmt::format("{} faults are armed already; disarm some",
                                         FaultInjector::max_armed)};
    return fmt::format("{}\n", faults.arm(std::move(*spec)));
}

Result<std::string> disarm(FaultInjector& faults, std::string_view which) {
    if (which == "all") {
        faults.disarm_all();
        return std::string();
    }
    unsigned number = 0;
    const auto [end, error] = std::from_chars(which.data(), which.data() + which.size(), number);
    if (error != std::errc() || end != which.data() + which.size())
        return Error{EINVAL, fmt::format("'{}' is neither a fault's number nor 'all'", which)};
    if (!faults.disarm(number))
        return Error{ENOENT,
                     fmt::format("no fault {} is armed; list shows those that are", number)};
    return std::string();
}

Result<std::string> scribble_mqds(const Surroundings& gpu, std::string_view which) {
    std::uint16_t pasid = 0;
    const auto [end, error] = std::from_chars(which.data(), which.data() + which.size(), pasid);
    if (error != std::errc() || end != which.data() + which.size())
        return Error{EINVAL, fmt::format("'{}' is not a PASID", which)};
    const unsigned scribbled = gpu.scribble_mqds(pasid);
    if (scribbled == 0)
        return Error{ENOENT, fmt::format("no queue of PASID {} is saved; stop one first", pasid)};
    return fmt::format("{}\n", scribbled);
}

Result<std::string> pace(const Surroundings& gpu, std::string_view rate) {
    std::uint64_t per_ms = 0;
    const auto [end, error] = std::from_chars(rate.data(), rate.data() + rate.size(), per_ms);
    if (error != std::errc() || end != rate.data() + rate.size() || per_ms > 1'000'000)
        return Error{EINVAL, fmt::format("'{}' is no number of wave instructions in a "
                                         "millisecond, from 0 (no limit) to 1000000",
                                         rate)};
    if (const auto set = gpu.set_pace(per_ms); !set)
        return set.error();
    return std::string();
}

} // namespace

Result<std::string> run_command(FaultInjector& faults, const Surroundings& gpu,
                                std::string_view command) {
    const std::size_t space = command.find(' ');
    const std::string_view verb = command.substr(0, space);
    const std::string_view rest = space == std::string_view::npos ? "" : command.substr(space + 1);
    if (verb == "arm")
        return arm(faults, rest);
    if (verb == "disarm")
        return disarm(faults, rest);
    if (command == "list")
        return faults.list();
    if (verb == "counter" && !rest.empty())
        return fmt::format("{}\n", gpu.counter(rest));
    if (verb == "scribble-mqds")
        return scribble_mqds(gpu, rest);
    if (verb == "pace")
        return pace(gpu, rest);
    return Error{EINVAL, fmt::format("no command is called '{}'; there are arm SPEC, "
                                     "disarm NUMBER, disarm all, list, counter NAME, "
                                     "scribble-mqds PASID, and pace RATE",
                                     command)};
}

} // namespace vgpu::fault
