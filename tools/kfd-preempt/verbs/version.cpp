// SPDX-License-Identifier: MIT
// version: of the command, of the ABI it speaks, and of the loaded driver.
#include "kfd/module.hpp"
#include "output/names.hpp"
#include "verbs/verbs.hpp"

#include <fmt/format.h>
#include <kfd_preempt.h>

namespace cli {

Report version(const Context& context) {
    const std::string abi = fmt::format("{}.{}", KFD_PREEMPT_ABI_MAJOR, KFD_PREEMPT_ABI_MINOR);
    const kfd::LoadedModule module = kfd::loaded_module(context.roots);
    Report report;
    report.json["version"] = KFD_PREEMPT_VERSION;
    report.json["abi"] = abi;
    report.json["driver_abi"] =
        module.preempt_abi.empty() ? Json(nullptr) : Json(printable(module.preempt_abi));
    report.json["kernel"] = context.kernel_release;
    const std::string driver =
        !module.loaded ? "amdgpu is not loaded"
        : module.preempt_abi.empty()
            ? "the loaded amdgpu has no queue preemption"
            : "the loaded amdgpu speaks ABI " + printable(module.preempt_abi);
    report.text = fmt::format("kfd-preempt {}, ABI {}\n{}, kernel {}\n", KFD_PREEMPT_VERSION, abi,
                              driver, context.kernel_release);
    return report;
}

} // namespace cli
