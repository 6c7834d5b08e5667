// SPDX-License-Identifier: MIT
// How far a queue can be stopped on this machine, by whom, and why not further.
#include "streams/queue_level.hpp"

#include "kfd/save_cost.hpp"
#include "output/names.hpp"

#include <cmath>
#include <fmt/format.h>

namespace cli {

namespace {

constexpr const char* command = "kfd-preempt";
constexpr const char* library = "libxpreempt";

// On a driver without preemption only the program's own process can stop its queues.
QueueLevel level_without_preemption(const kfd::LoadedModule& module) {
    if (!module.loaded)
        return {Level::block, library, "amdgpu is not loaded"};
    if (module.cwsr_off)
        return {Level::deactivate, library,
                "CWSR is off (amdgpu.cwsr_enable=0), so waves cannot be saved; and the driver has "
                "no preemption, so no other program can stop it"};
    return {Level::interrupt, library,
            "the driver has no preemption, so no other program can stop it; with it, "
            "libxpreempt uses percentage 0, which disturbs every queue of the GPU"};
}

QueueLevel level_of_compute(const kfd::LoadedModule& module,
                            const std::optional<kfd_ioctl_preempt_query_args>& query) {
    if (!query)
        return level_without_preemption(module);
    const auto can = [&](unsigned type) { return (query->type_mask >> type & 1U) != 0; };
    constexpr std::uint64_t operator_caps = KFD_PREEMPT_CAP_BATCH | KFD_PREEMPT_CAP_OPERATOR;
    const char* by = (query->caps & operator_caps) == operator_caps ? command : library;
    if (can(KFD_PREEMPT_TYPE_SAVE))
        return {Level::interrupt, by, ""};
    if (can(KFD_PREEMPT_TYPE_DRAIN))
        return {Level::deactivate, by,
                "this GPU cannot save waves under this scheduler (no SAVE): launched waves run to "
                "their end"};
    return {Level::block, library, "the driver can stop no queue of this GPU"};
}

std::string time_text(double us) {
    return us == 0 ? "unknown" : duration_text(static_cast<std::uint64_t>(std::llround(us * 1000)));
}

std::string times_text(const kfd::SaveCost& cost) {
    if (cost.full_us_most == 0)
        return "unknown";
    return fmt::format("{} to {}", time_text(cost.full_us_least), time_text(cost.full_us_most));
}

Json us_or_null(double us) {
    return us == 0 ? Json(nullptr) : Json(us);
}

Json json_of_times(const kfd::Gpu& gpu, kfd::Memory memory) {
    const kfd::SaveCost cost = kfd::predict_save(gpu, memory);
    const std::uint64_t mbs = kfd::memory_mbs(gpu, memory);
    return {{"bandwidth_mbs", mbs == 0 ? Json(nullptr) : Json(mbs)},
            {"full_us_least", us_or_null(cost.full_us_least)},
            {"full_us_most", us_or_null(cost.full_us_most)},
            {"light_us_most", us_or_null(cost.light_us_most)}};
}

} // namespace

const char* level_name(Level level) {
    switch (level) {
    case Level::none: return "-";
    case Level::block: return "block";
    case Level::deactivate: return "deactivate";
    case Level::interrupt: return "interrupt";
    }
    return "";
}

QueueLevel level_of(kfd::QueueType type, const kfd::LoadedModule& module,
                    const std::optional<kfd_ioctl_preempt_query_args>& query) {
    switch (type) {
    case kfd::QueueType::compute: return level_of_compute(module, query);
    case kfd::QueueType::sdma:
    case kfd::QueueType::sdma_xgmi:
    case kfd::QueueType::sdma_by_engine:
        return {Level::none, "-",
                "not preemptible: an SDMA queue copies, it has no waves to save, and the copies of "
                "other streams would wait behind it"};
    case kfd::QueueType::hiq:
    case kfd::QueueType::diq:
        return {Level::none, "-", "not preemptible: the driver's own queue for the scheduler"};
    }
    return {Level::none, "-",
            fmt::format("not preemptible: {} is a queue type that this command does not know",
                        name_of(type))};
}

CostReport predicted_cost(const Context& context, std::uint32_t gpu_id) {
    const auto gpu = kfd::gpu_of(context.roots, gpu_id);
    const kfd::SaveCost cost =
        gpu ? kfd::predict_save(*gpu, kfd::Memory::unknown) : kfd::SaveCost{};
    CostReport report;
    report.json["gpu_id"] = gpu_id;
    report.json["predicted"] = true;
    if (cost.full_bytes == 0) {
        report.text = fmt::format("gpu {}: the cost of a stop cannot be predicted: its topology "
                                  "shows no compute units, or it has no CWSR",
                                  gpu_id);
        report.json["full_bytes"] = nullptr;
        return report;
    }
    report.text = fmt::format(
        "gpu {}: predicted, not measured: a stop saves at most {:.1f} MB ({} CUs on {} XCC, all "
        "full) and {:.1f} MB with one small wave on each CU; time of the first: {} when the "
        "program's CWSR area is in VRAM, {} when it is in system memory (only the program "
        "knows)",
        gpu_id, static_cast<double>(cost.full_bytes) / 1e6, kfd::compute_units(*gpu), gpu->xccs,
        static_cast<double>(cost.light_bytes) / 1e6,
        times_text(kfd::predict_save(*gpu, kfd::Memory::vram)),
        times_text(kfd::predict_save(*gpu, kfd::Memory::system)));
    report.json["full_bytes"] = cost.full_bytes;
    report.json["light_bytes"] = cost.light_bytes;
    report.json["compute_units"] = kfd::compute_units(*gpu);
    report.json["xccs"] = gpu->xccs;
    report.json["save_area"] = "unknown";
    report.json["vram"] = json_of_times(*gpu, kfd::Memory::vram);
    report.json["system"] = json_of_times(*gpu, kfd::Memory::system);
    return report;
}

} // namespace cli
