// SPDX-License-Identifier: MIT
// No time of a save on an Instinct has been published: those here follow from sizes and bandwidths.
#include "constants.hpp"

#include <array>
#include <fmt/format.h>

namespace sim {

namespace {

constexpr std::array all{
    Constant{"nodes", &GpuModel::nodes, 1, 64, "GPUs, as KFD counts them", "scenario"},
    Constant{"capacity", &GpuModel::capacity, 0.1, 16,
             "work that concurrent jobs get done, over that of one alone",
             "XSched artifact, MI50: 13.35 + 13.33 of 25.04 inferences/s"},
    Constant{"hws", &GpuModel::hws, 0, 1,
             "the firmware schedules: a stop saves every mapped queue of its node",
             "amdkfd, default on MI300X; sched_policy=2 is false"},
    Constant{"slots", &GpuModel::slots, 1, 1024, "queues that are mapped at once",
             "MI308X dump: 24 HQDs an XCC"},
    Constant{"vmids", &GpuModel::vmids, 1, 64, "processes that are mapped at once",
             "amdkfd: VMIDs 8 to 15"},
    Constant{"processes", &GpuModel::processes, 0, 64, "the same limit, if it is lower; 0: vmids",
             "amdgpu.hws_max_conc_proc"},
    Constant{"quantum", &GpuModel::quantum, 1e-4, 10,
             "length of a turn when not all queues are mapped",
             "kfd_priv.h: CPSCH quantum of 10 ms"},
    Constant{"ioctl", &GpuModel::ioctl, 0, 1, "time from the call until the packets are sent",
             "estimate; the daemon's reaction includes its own part"},
    Constant{"remap", &GpuModel::remap, 0, 1,
             "time of a node's remap without save and restore: packets, fence",
             "estimate: 10 to 30 us for a whole stop at low occupancy"},
    Constant{"dequeue", &GpuModel::dequeue, 0, 1,
             "time to dequeue a job without HWS, without its save",
             "estimate; stock amdkfd sleeps 500 us more between two polls"},
    Constant{"state_mb", &GpuModel::state_mb, 0, 1e6, "state of all waves of a full GPU, MB",
             "kfd_queue.c for MI300X: 8 XCC of 38 CU; MI308X has 48.8"},
    Constant{"save_gb_s", &GpuModel::save_gb_s, 1e-3, 1e6, "rate of a save and of a restore, GB/s",
             "80 % of the 5300 GB/s of MI300X's HBM; CWSR area in VRAM"},
    Constant{"trap_p50", &GpuModel::trap_p50, 0, 1,
             "time from a doorbell to the call with the trap, median",
             "goal of the daemon; measured on pages: 1.3 us + 4.3 us to wake up"},
    Constant{"trap_p99", &GpuModel::trap_p99, 0, 1, "that time, 99th percentile", "as trap_p50"},
    Constant{"poll_p50", &GpuModel::poll_p50, 0, 1,
             "time from a doorbell to the call without the trap, median", "goal of the daemon"},
    Constant{"poll_p99", &GpuModel::poll_p99, 0, 1, "that time, 99th percentile", "twice poll_p50"},
    Constant{"hurried_poll", &GpuModel::hurried_poll, 1e-6, 10,
             "time between polls for the end of work while other jobs wait",
             "xpreemptd, daemon.cpp"},
    Constant{"calm_poll", &GpuModel::calm_poll, 1e-6, 10, "time between all other polls",
             "xpreemptd, daemon.cpp"},
    Constant{"measure_switches", &GpuModel::measure_switches, 0, 1,
             "policies learn what a stop and a resume cost, and keep turns longer than that",
             "xpreemptd, switching.cpp"},
};

} // namespace

std::span<const Constant> constants() {
    return all;
}

std::string value_of(const Constant& constant, const GpuModel& model) {
    struct Text {
        const GpuModel& model;
        std::string operator()(double GpuModel::* field) const {
            return fmt::format("{:g}", model.*field);
        }
        std::string operator()(std::uint32_t GpuModel::* field) const {
            return fmt::format("{}", model.*field);
        }
        std::string operator()(Time GpuModel::* field) const {
            return fmt::format("{} us", model.*field / us);
        }
        std::string operator()(bool GpuModel::* field) const {
            return model.*field ? "true" : "false";
        }
    };
    return std::visit(Text{model}, constant.field);
}

} // namespace sim
