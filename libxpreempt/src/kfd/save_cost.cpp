// SPDX-License-Identifier: MIT
// Sizes as kfd_queue_ctx_save_restore_size() of amdkfd has them, times as bounds of bandwidth.
#include "kfd/save_cost.hpp"

#include <algorithm>

namespace xpreempt::kfd {

namespace {

constexpr std::uint64_t page = 4096;
constexpr std::uint64_t sgpr_bytes_per_cu = 0x4000;
constexpr std::uint64_t lds_bytes_per_cu = 0x10000;
constexpr std::uint64_t hwreg_bytes_per_cu = 0x1000;
constexpr std::uint64_t debug_bytes_per_wave = 32;
constexpr std::uint64_t header_bytes = 40; // of the CWSR area, as user space sees it

constexpr std::uint64_t align(std::uint64_t value, std::uint64_t unit) {
    return (value + unit - 1) / unit * unit;
}

bool is_any(std::uint32_t version, std::initializer_list<std::uint32_t> versions) {
    return std::ranges::find(versions, version) != versions.end();
}

// AccVGPRs are part of the unified file, and of this number.
std::uint64_t vgpr_bytes_per_cu(std::uint32_t version) {
    if (version / 100 == 904 || is_any(version, {90008, 90010}))
        return 0x80000;
    if (is_any(version, {110000, 110001, 110501, 120000, 120001}))
        return 0x60000;
    return 0x40000;
}

std::uint64_t waves_per_xcc(const Gpu& gpu, std::uint64_t cus) {
    if (gpu.gfx_version >= 100100)
        return cus * 32;
    const std::uint64_t engines = gpu.shader_arrays / std::max(gpu.arrays_per_engine, 1U);
    return std::min(cus * 40, engines * 512);
}

std::uint64_t control_bytes_per_xcc(const Gpu& gpu, std::uint64_t waves) {
    if (gpu.ctl_stack_bytes_per_xcc != 0)
        return gpu.ctl_stack_bytes_per_xcc;
    const std::uint64_t per_wave = gpu.gfx_version >= 100100 ? 12 : 8;
    const std::uint64_t bytes = align(header_bytes + waves * per_wave + 8, page);
    // A limit of the gfx10 hardware.
    return gpu.gfx_version / 10000 == 10 ? std::min<std::uint64_t>(bytes, 0x7000) : bytes;
}

// Transfers per memory clock that the driver reports; 0: unknown. Known for HBM only: HBM2
// transfers on both edges; for HBM3 the driver reports half the clock that the data is strobed
// with.
std::uint64_t transfers_per_clock(std::uint32_t version) {
    if (version / 100 == 904 || version / 100 == 905)
        return 4;
    return version / 10000 == 9 ? 2 : 0;
}

// The driver writes 100 MHz when power management is off: it has no number then.
std::uint64_t clock_mhz(std::uint32_t reported) {
    return reported == 100 ? 0 : reported;
}

constexpr double doorbell_us = 1.0;          // a write over PCIe that the GPU acts on
constexpr double efficiency = 0.8;           // of streaming writes, against the peak
constexpr double store_bytes_per_clock = 64; // of one CU
// One wave stores the 64 KiB of its workgroup's LDS in a loop of about 100 clocks a turn.
constexpr double lds_clocks_least = 128 * 100;
constexpr double lds_clocks_most = 256 * 100;

// bytes over mbs (1e6 bytes/s), in microseconds; 0 where one of them isn't known.
double transfer_us(double bytes, double mbs) {
    return mbs > 0 ? bytes / mbs : 0;
}

} // namespace

std::uint32_t compute_units(const Gpu& gpu) {
    return gpu.simds_per_cu == 0 ? 0 : gpu.simds / gpu.simds_per_cu;
}

std::uint64_t memory_mbs(const Gpu& gpu, Memory memory) {
    switch (memory) {
    case Memory::vram:
        return gpu.memory_bits / 8 * clock_mhz(gpu.memory_mhz) *
               transfers_per_clock(gpu.gfx_version);
    case Memory::system: return gpu.host_link_mbs;
    case Memory::unknown: return 0;
    }
    return 0;
}

SaveCost predict_save(const Gpu& gpu, Memory memory) {
    SaveCost cost;
    const std::uint64_t xccs = std::max(gpu.xccs, 1U);
    const std::uint64_t cus = compute_units(gpu) / xccs; // of one XCC
    if (cus == 0 || gpu.gfx_version < 80001)             // without CWSR
        return cost;
    const std::uint64_t waves = waves_per_xcc(gpu, cus);
    const std::uint64_t cu_bytes = vgpr_bytes_per_cu(gpu.gfx_version) + sgpr_bytes_per_cu +
                                   lds_bytes_per_cu + hwreg_bytes_per_cu;
    const std::uint64_t control = control_bytes_per_xcc(gpu, waves);
    const std::uint64_t cwsr = gpu.cwsr_bytes_per_xcc != 0 ? gpu.cwsr_bytes_per_xcc
                                                           : control + align(cus * cu_bytes, page);
    const std::uint64_t debug = align(waves * debug_bytes_per_wave, 64);
    cost.full_bytes = xccs * (cwsr + debug);
    cost.control_bytes = xccs * control;
    cost.debug_bytes = xccs * debug;
    constexpr std::uint64_t light_wave_bytes = 256 * 64 + 4 * 112 + 128;
    cost.light_bytes = xccs * cus * light_wave_bytes;

    const bool unknown = memory == Memory::unknown;
    const auto least_mbs = static_cast<double>(memory_mbs(gpu, unknown ? Memory::vram : memory));
    const auto most_mbs =
        static_cast<double>(memory_mbs(gpu, unknown ? Memory::system : memory)) * efficiency;
    const auto mhz = static_cast<double>(clock_mhz(gpu.engine_mhz));
    if (mhz == 0)
        return cost;
    const auto stored = static_cast<double>(cost.full_bytes - cost.debug_bytes);
    const double cu_us = static_cast<double>(cu_bytes) / store_bytes_per_clock / mhz;
    if (least_mbs > 0)
        cost.full_us_least =
            doorbell_us + std::max({transfer_us(stored, least_mbs), cu_us, lds_clocks_least / mhz});
    if (most_mbs > 0) {
        cost.full_us_most =
            doorbell_us + std::max({transfer_us(stored, most_mbs), cu_us, lds_clocks_most / mhz});
        cost.light_us_most =
            doorbell_us + std::max(transfer_us(static_cast<double>(cost.light_bytes), most_mbs),
                                   light_wave_bytes / store_bytes_per_clock / mhz);
    }
    return cost;
}

StopTime predict_stop(const Gpu& gpu, Memory memory, std::uint64_t bytes) {
    const auto mbs = static_cast<double>(memory_mbs(gpu, memory));
    if (mbs == 0)
        return {};
    const auto stored = static_cast<double>(bytes);
    return {doorbell_us + transfer_us(stored, mbs),
            doorbell_us + transfer_us(stored, mbs * efficiency)};
}

} // namespace xpreempt::kfd
