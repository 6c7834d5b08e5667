// SPDX-License-Identifier: MIT
// Reads /sys/class/kfd/kfd/topology/nodes.
#include "kfd/topology.hpp"

#include "kfd/attribute.hpp"

#include <algorithm>
#include <cerrno>
#include <limits>

namespace xpreempt::kfd {

namespace {

constexpr std::size_t max_properties = 16384;

std::string properties_of(const std::filesystem::path& directory) {
    const Result<std::string> text =
        read_text(directory / "properties", Op::read_sysfs, max_properties);
    return text ? *text : std::string{};
}

// A number that doesn't fit is none.
std::uint32_t small(std::string_view text, std::string_view name) {
    const std::uint64_t value = property_of(text, name).value_or(0);
    return value <= std::numeric_limits<std::uint32_t>::max() ? static_cast<std::uint32_t>(value)
                                                              : 0;
}

// heap_type 1 and 2 are the GPU's own memory, public and private (kfd_crat.h).
void read_memory(const std::filesystem::path& node, Gpu& gpu) {
    for (const std::string& bank : entries_of(node / "mem_banks")) {
        const std::string text = properties_of(node / "mem_banks" / bank);
        const std::uint32_t heap = small(text, "heap_type");
        if (heap != 1 && heap != 2)
            continue;
        gpu.memory_bits = std::max(gpu.memory_bits, small(text, "width"));
        gpu.memory_mhz = std::max(gpu.memory_mhz, small(text, "mem_clk_max"));
    }
}

bool is_cpu(const std::filesystem::path& node) {
    const auto gpu_id = read_unsigned<std::uint32_t>(node / "gpu_id", Op::read_sysfs);
    return gpu_id && *gpu_id == 0;
}

void read_host_link(const std::filesystem::path& nodes, const std::filesystem::path& node,
                    Gpu& gpu) {
    for (const std::string& link : entries_of(node / "io_links")) {
        const std::string text = properties_of(node / "io_links" / link);
        const auto to = property_of(text, "node_to");
        if (to && is_cpu(nodes / std::to_string(*to)))
            gpu.host_link_mbs =
                std::max(gpu.host_link_mbs, property_of(text, "max_bandwidth").value_or(0));
    }
}

} // namespace

Result<Gpu> gpu_of(const Roots& roots, std::uint32_t gpu_id) {
    const std::filesystem::path nodes = roots.kfd_class() / "topology/nodes";
    for (const std::string& name : entries_of(nodes)) {
        const std::filesystem::path node = nodes / name;
        const auto found = read_unsigned<std::uint32_t>(node / "gpu_id", Op::read_sysfs);
        if (gpu_id == 0 || !found || *found != gpu_id)
            continue;
        const std::string text = properties_of(node);
        Gpu gpu;
        gpu.gpu_id = gpu_id;
        gpu.simds = small(text, "simd_count");
        gpu.simds_per_cu = small(text, "simd_per_cu");
        gpu.shader_arrays = small(text, "array_count");
        gpu.arrays_per_engine = small(text, "simd_arrays_per_engine");
        gpu.xccs = std::max(small(text, "num_xcc"), 1U);
        gpu.cp_queues = small(text, "num_cp_queues");
        gpu.gfx_version = small(text, "gfx_target_version");
        gpu.engine_mhz = small(text, "max_engine_clk_fcompute");
        gpu.cwsr_bytes_per_xcc = small(text, "cwsr_size");
        gpu.ctl_stack_bytes_per_xcc = small(text, "ctl_stack_size");
        read_memory(node, gpu);
        read_host_link(nodes, node, gpu);
        return gpu;
    }
    return fail(ENOENT, Op::read_sysfs, gpu_id);
}

} // namespace xpreempt::kfd
