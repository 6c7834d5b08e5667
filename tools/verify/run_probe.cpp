// SPDX-License-Identifier: MIT
// Stage probe: versions, parameters, shape.
#include "bench.hpp"

#include "kfd/module.hpp"
#include "kfd/save_cost.hpp"

#include <fmt/format.h>
#include <fstream>
#include <sstream>
#include <sys/utsname.h>

namespace verify {

namespace kfd = xpreempt::kfd;

namespace {

std::string text_in(const std::string& path) {
    std::ifstream file(path);
    std::ostringstream text;
    text << file.rdbuf();
    std::string all = text.str();
    while (!all.empty() && (all.back() == '\n' || all.back() == ' '))
        all.pop_back();
    return all;
}

void describe(Gpu& gpu, Checks& checks) {
    kfd_ioctl_preempt_query_args query{};
    checks.check(preempt_query(gpu.fd(), gpu.id(), &query) == 0,
                 fmt::format("GPU {}: QUERY", gpu.id()));
    checks.check((query.type_mask & 1U << KFD_PREEMPT_TYPE_SAVE) != 0,
                 fmt::format("GPU {}: the driver saves waves (CWSR)", gpu.id()),
                 query.degraded != 0 ? "given up earlier, see preempt_degraded"
                                     : "not offered: cwsr_enable=0?");
    checks.note(gpu.device()->hdp_flush != nullptr
                    ? "writes to VRAM are flushed by the HDP register"
                    : "KFD gives no HDP register: writes to VRAM are not flushed");
    const auto shape = Bench::shape_of(gpu.id());
    Json json{{"gpu_id", gpu.id()},
              {"abi", fmt::format("{}.{}", query.abi_major, query.abi_minor)},
              {"caps", fmt::format("{:#x}", query.caps)},
              {"sched_mode", query.sched_mode},
              {"degraded", query.degraded}};
    if (shape) {
        const kfd::SaveCost cost = kfd::predict_save(*shape, kfd::Memory::system);
        json["gfx_target_version"] = shape->gfx_version;
        json["xccs"] = shape->xccs;
        json["compute_units"] = kfd::compute_units(*shape);
        json["full_save_bytes"] = cost.full_bytes;
        checks.note(fmt::format("gfx{}, {} XCCs, {} CUs, at most {:.1f} MiB to save",
                                shape->gfx_version, shape->xccs, kfd::compute_units(*shape),
                                static_cast<double>(cost.full_bytes) / (1 << 20)));
    }
    const std::string device =
        fmt::format("/sys/class/drm/renderD{}/device", gpu.device()->render_minor);
    for (const char* attribute :
         {"current_compute_partition", "current_memory_partition", "vbios_version",
          "fw_version/mec_fw_version", "fw_version/rlc_fw_version", "fw_version/sdma_fw_version"}) {
        const std::string text = text_in(device + "/" + attribute);
        if (text.empty())
            continue;
        json[attribute] = text;
        checks.note(fmt::format("{}: {}", attribute, text));
    }
    checks.data["gpus"].push_back(std::move(json));
}

} // namespace

void run_probe(Bench& bench, Checks& checks) {
    struct utsname name{};
    ::uname(&name);
    const kfd::LoadedModule module = kfd::loaded_module(kfd::Roots{});
    checks.data["kernel"] = name.release;
    checks.data["driver_version"] = module.version;
    checks.data["rocm_driver"] = module.rocm;
    checks.data["sched_policy"] = module.sched_policy.value_or(0);
    checks.note(fmt::format("Linux {}, amdgpu {}", name.release,
                            module.version.empty() ? "of the kernel" : module.version));
    for (const auto& gpu : bench.gpus())
        describe(*gpu, checks);
}

} // namespace verify
