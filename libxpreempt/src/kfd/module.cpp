// SPDX-License-Identifier: MIT
// Reads the attributes of the loaded amdgpu module.
#include "kfd/module.hpp"

#include "kfd/attribute.hpp"

#include <cerrno>
#include <system_error>

namespace xpreempt::kfd {

LoadedModule loaded_module(const Roots& roots) {
    const std::filesystem::path module = roots.amdgpu_module();
    const auto parameter = [&](const char* name) -> std::string {
        const auto text = read_text(module / "parameters" / name, Op::read_sysfs, 64);
        return text ? std::string(trim(*text)) : std::string{};
    };
    LoadedModule state;
    std::error_code error;
    state.loaded = std::filesystem::exists(module, error);
    state.preempt_abi = parameter("kfd_preempt_abi");
    const std::string enabled = parameter("kfd_preempt");
    state.switched_off = enabled == "N" || enabled == "0";
    state.operator_mode = parse_unsigned<unsigned>(parameter("operator_mode"));
    state.sched_policy = parse_unsigned<int>(parameter("sched_policy"));
    state.cwsr_off = parameter("cwsr_enable") == "0";
    state.rocm = std::filesystem::exists(module.parent_path() / "amdkcl", error);
    if (const auto version = read_text(module / "version", Op::read_sysfs, 64); version)
        state.version = std::string(trim(*version));
    return state;
}

Result<kfd_ioctl_preempt_query_args> query_driver(const Device& device,
                                                  const LoadedModule& module) {
    auto query = device.query(0);
    // The parameters exist before /dev/kfd does, so their absence proves that the driver isn't
    // ours.
    const bool runs_preemption = !module.preempt_abi.empty() && !module.switched_off;
    if (!query && query.error().errno_value == EINVAL && !runs_preemption)
        return fail(ENOTTY, Op::query);
    return query;
}

} // namespace xpreempt::kfd
