// SPDX-License-Identifier: MIT
// Predictions against figures that were worked out by hand from the hardware's sizes.
#include "kfd/save_cost.hpp"

#include "kfd/save_area.hpp"
#include "unit/beside.hpp"
#include "unit/kfd_tree.hpp"

#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <iomanip>
#include <iterator>
#include <sstream>
#include <string>
#include <sys/mman.h>

namespace {

namespace kfd = xpreempt::kfd;
using kfd::Memory;

// 8 XCCs of 38 CUs, HBM3 at 5.2 Gbit/s on 8192 wires, PCIe 5.
kfd::Gpu mi300x() {
    kfd::Gpu gpu;
    gpu.gpu_id = 1;
    gpu.simds = 1216;
    gpu.simds_per_cu = 4;
    gpu.shader_arrays = 32;
    gpu.arrays_per_engine = 1;
    gpu.xccs = 8;
    gpu.gfx_version = 90402;
    gpu.engine_mhz = 2100;
    gpu.memory_bits = 8192;
    gpu.memory_mhz = 1300;
    gpu.host_link_mbs = 55000;
    return gpu;
}

// 4 XCCs of 20 CUs.
kfd::Gpu mi308x() {
    kfd::Gpu gpu = mi300x();
    gpu.simds = 320;
    gpu.shader_arrays = 16;
    gpu.xccs = 4;
    return gpu;
}

TEST(SaveCost, sizes_of_a_full_mi300x) {
    const kfd::SaveCost cost = kfd::predict_save(mi300x(), Memory::vram);
    EXPECT_EQ(304U, kfd::compute_units(mi300x()));
    EXPECT_EQ(186'019'840U, cost.full_bytes); // 186.0 MB
    EXPECT_EQ(8U * 12'288, cost.control_bytes);
    EXPECT_EQ(8U * 48'640, cost.debug_bytes);
    EXPECT_EQ(8U * 38 * 610'304, cost.full_bytes - cost.control_bytes - cost.debug_bytes);
}

TEST(SaveCost, sizes_of_a_full_mi308x) {
    const kfd::SaveCost cost = kfd::predict_save(mi308x(), Memory::vram);
    EXPECT_EQ(48'824'320U, cost.full_bytes - cost.control_bytes - cost.debug_bytes); // 48.8 MB
    EXPECT_EQ(4U * 8'192, cost.control_bytes);
    EXPECT_EQ(4U * 25'600, cost.debug_bytes);
}

TEST(SaveCost, a_stop_takes_a_microsecond_and_the_time_of_its_bytes) {
    kfd::Gpu gpu = mi308x();
    gpu.host_link_mbs = 64000;
    const kfd::StopTime time = kfd::predict_stop(gpu, Memory::system, 6'400'000);
    EXPECT_DOUBLE_EQ(time.us_least, 101);
    EXPECT_DOUBLE_EQ(time.us_most, 126);
    gpu.host_link_mbs = 0;
    EXPECT_EQ(kfd::predict_stop(gpu, Memory::system, 6'400'000).us_most, 0);
}

TEST(SaveCost, what_the_kernel_tells_of_the_area_wins) {
    kfd::Gpu gpu = mi300x();
    gpu.cwsr_bytes_per_xcc = 30'000'128;
    gpu.ctl_stack_bytes_per_xcc = 16'384;
    const kfd::SaveCost cost = kfd::predict_save(gpu, Memory::vram);
    EXPECT_EQ(8U * (30'000'128 + 48'640), cost.full_bytes);
    EXPECT_EQ(8U * 16'384, cost.control_bytes);
}

TEST(SaveCost, times_are_bounds_of_the_memory_it_is_in) {
    const kfd::SaveCost vram = kfd::predict_save(mi300x(), Memory::vram);
    EXPECT_NEAR(1 + 34.9, vram.full_us_least, 0.1); // 35 us at 5.3 TB/s
    EXPECT_NEAR(1 + 43.6, vram.full_us_most, 0.1);  // 44 us at 80 % of it
    EXPECT_NEAR(1 + 1.2, vram.light_us_most, 0.1);  // 5 MB
    EXPECT_EQ(304U * 16'960, vram.light_bytes);

    const kfd::SaveCost system = kfd::predict_save(mi300x(), Memory::system);
    EXPECT_NEAR(3376, system.full_us_least, 2); // 3.4 ms over PCIe 5
    EXPECT_GT(system.full_us_most, system.full_us_least);

    const kfd::SaveCost unknown = kfd::predict_save(mi300x(), Memory::unknown);
    EXPECT_EQ(vram.full_us_least, unknown.full_us_least);
    EXPECT_EQ(system.full_us_most, unknown.full_us_most);

    const kfd::SaveCost small = kfd::predict_save(mi308x(), Memory::vram);
    EXPECT_NEAR(1 + 9.2, small.full_us_least, 0.1);
    EXPECT_NEAR(1 + 12.2, small.full_us_most, 0.1); // the LDS loop of one wave, not the memory
}

std::string range_of(const kfd::SaveCost& cost, double unit, int digits, const char* name) {
    std::ostringstream text;
    text << std::fixed << std::setprecision(digits) << cost.full_us_least / unit << " to "
         << cost.full_us_most / unit << ' ' << name;
    return text.str();
}

std::string one_digit(double number) {
    std::ostringstream text;
    text << std::fixed << std::setprecision(1) << number;
    return text.str();
}

// A row of the table of bench/README.md.
std::string row_of(const std::string& name, const kfd::Gpu& gpu) {
    const kfd::SaveCost vram = kfd::predict_save(gpu, Memory::vram);
    const kfd::SaveCost system = kfd::predict_save(gpu, Memory::system);
    return "| " + name + ", " + std::to_string(kfd::compute_units(gpu)) + " CUs | " +
           one_digit(static_cast<double>(vram.full_bytes) / 1e6) + " MB | " +
           range_of(vram, 1, 1, "µs") + " | " + range_of(system, 1000, 2, "ms") + " | " +
           one_digit(static_cast<double>(vram.light_bytes) / 1e6) + " MB | " +
           one_digit(vram.light_us_most) + " µs | " + one_digit(system.light_us_most) + " µs |\n";
}

TEST(SaveCost, the_table_of_the_page_has_what_the_formula_computes) {
    std::ifstream file(test::beside_program(BENCH_PAGE));
    const std::string page(std::istreambuf_iterator<char>(file), {});
    for (const std::string& row : {row_of("MI308X", mi308x()), row_of("MI300X", mi300x())})
        EXPECT_NE(page.find(row), std::string::npos) << row;
}

TEST(SaveCost, what_the_driver_does_not_tell_is_unknown_and_not_guessed) {
    kfd::Gpu gpu = mi300x();
    gpu.memory_mhz = 100; // what amdgpu writes without power management
    EXPECT_EQ(0U, kfd::memory_mbs(gpu, Memory::vram));
    EXPECT_EQ(0, kfd::predict_save(gpu, Memory::vram).full_us_most);
    EXPECT_NE(0U, kfd::predict_save(gpu, Memory::vram).full_bytes);

    gpu = mi300x();
    gpu.host_link_mbs = 0;
    EXPECT_NE(0, kfd::predict_save(gpu, Memory::unknown).full_us_least);
    EXPECT_EQ(0, kfd::predict_save(gpu, Memory::unknown).full_us_most);

    gpu = mi300x();
    gpu.gfx_version = 110000; // GDDR: what a clock moves isn't known here
    EXPECT_EQ(0U, kfd::memory_mbs(gpu, Memory::vram));

    EXPECT_EQ(0U, kfd::predict_save(kfd::Gpu{}, Memory::vram).full_bytes);
    gpu.gfx_version = 70000; // no CWSR
    EXPECT_EQ(0U, kfd::predict_save(gpu, Memory::vram).full_bytes);
}

TEST(Topology, a_gpu_is_read_with_its_memory_and_its_link_to_the_host) {
    const test::KfdTree tree;
    const std::string nodes = "sys/class/kfd/kfd/topology/nodes/";
    tree.add_node(0, 0);
    tree.add_node(1, 5230);
    tree.write(nodes + "1/properties",
               "simd_count 1216\narray_count 32\nsimd_arrays_per_engine 1\nsimd_per_cu 4\n"
               "gfx_target_version 90402\ncwsr_size 23203840\nctl_stack_size 12288\n"
               "max_engine_clk_fcompute 2100\nnum_xcc 8\nnum_cp_queues 4294967296\n");
    tree.write(nodes + "1/mem_banks/0/properties",
               "heap_type 0\nwidth 1\nmem_clk_max 9999\n"); // system memory isn't the GPU's own
    tree.write(nodes + "1/mem_banks/1/properties", "heap_type 1\nwidth 8192\nmem_clk_max 1300\n");
    tree.write(nodes + "1/io_links/0/properties", "node_to 0\nmax_bandwidth 55000\n");
    tree.write(nodes + "1/io_links/1/properties", "node_to 1\nmax_bandwidth 999999\n");
    const auto gpu = kfd::gpu_of(tree.roots(), 5230);
    ASSERT_TRUE(gpu);
    EXPECT_EQ(kfd::predict_save(mi300x(), Memory::unknown).full_bytes,
              kfd::predict_save(*gpu, Memory::unknown).full_bytes);
    EXPECT_EQ(8192U, gpu->memory_bits);
    EXPECT_EQ(1300U, gpu->memory_mhz);
    EXPECT_EQ(55000U, gpu->host_link_mbs);
    EXPECT_EQ(0U, gpu->cp_queues); // too large
    EXPECT_EQ(ENOENT, kfd::gpu_of(tree.roots(), 0).error().errno_value);
    EXPECT_EQ(ENOENT, kfd::gpu_of(tree.roots(), 7).error().errno_value);
}

TEST(SaveArea, a_mapping_is_found_by_an_address_within) {
    const char* maps = "55d000000000-55d000001000 r--p 00000000 fe:00 12   /usr/bin/app\n"
                       "7f0000000000-7f0000004000 rw-p 00000000 00:00 0 \n"
                       "7f0000004000-7f0000008000 rw-s 10000 00:06 5   /dev/dri/renderD128\n"
                       "nonsense\n"
                       "7f0000008000-7f0000009000 rw-p 00000000 00:00 0   [stack]\n";
    EXPECT_EQ("/usr/bin/app", kfd::mapping_of(maps, 0x55d000000fff).path);
    EXPECT_EQ("", kfd::mapping_of(maps, 0x7f0000000000).path);
    EXPECT_EQ(0x7f0000004000U, kfd::mapping_of(maps, 0x7f0000003fff).end);
    EXPECT_EQ("/dev/dri/renderD128", kfd::mapping_of(maps, 0x7f0000004000).path);
    EXPECT_EQ(0x7f0000009000U, kfd::mapping_of(maps, 0x7f0000008000).end);
    EXPECT_EQ(0U, kfd::mapping_of(maps, 0x7f0000009000).end);
    EXPECT_EQ(0U, kfd::mapping_of("", 0).end);
}

// The real files of this process.
TEST(SaveArea, anonymous_memory_is_in_system_memory_once_it_was_used) {
    constexpr std::size_t bytes = 64 * 4096;
    void* area = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(MAP_FAILED, area);
    const auto address = reinterpret_cast<std::uintptr_t>(area);
    EXPECT_EQ(Memory::unknown, kfd::save_area_of({}, address, bytes).memory);
    std::memset(area, 1, bytes);
    EXPECT_EQ(Memory::system, kfd::save_area_of({}, address, bytes).memory);
    ::munmap(area, bytes);
    EXPECT_EQ(Memory::unknown, kfd::save_area_of({}, address, bytes).memory);
    EXPECT_EQ(Memory::unknown, kfd::save_area_of({}, 0, 0).memory);
}

// How the kernel shows pages that were migrated to device memory: as swap entries, with no page in
// any swap file.
TEST(SaveArea, pages_that_are_neither_present_nor_in_a_swap_file_are_on_the_gpu) {
    const test::KfdTree tree;
    const std::uint64_t moved = std::uint64_t{1} << 62;
    const std::uint64_t here = std::uint64_t{1} << 63;
    const auto pages = [&](std::uint64_t first, std::uint64_t second) {
        const std::uint64_t entries[4] = {0, 0, first, second};
        tree.write("proc/self/pagemap",
                   std::string(reinterpret_cast<const char*>(entries), sizeof entries));
        return kfd::save_area_of(tree.roots(), 2 * 4096, 2 * 4096).memory;
    };
    tree.write("proc/self/maps", "2000-4000 rw-p 00000000 00:00 0\n");
    tree.write("proc/self/status", "VmSwap:\t       0 kB\n");
    EXPECT_EQ(Memory::vram, pages(moved, moved));
    EXPECT_EQ(Memory::unknown, pages(moved, here));
    EXPECT_EQ(Memory::system, pages(here, here));
    tree.write("proc/self/status", "VmSwap:\t       8 kB\n");
    EXPECT_EQ(Memory::unknown, pages(moved, moved));
}

} // namespace
