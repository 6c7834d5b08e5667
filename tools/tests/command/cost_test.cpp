// SPDX-License-Identifier: MIT
// doctor: what a stop costs, and the memory that queues keep for it.
#include "doctor_fixture.hpp"

#include <cstdint>

namespace {

using test::DoctorTest;

TEST_F(DoctorTest, a_stop_is_predicted_from_the_topology) {
    expect_working_driver();
    const cli::Report poor = doctor(context);
    EXPECT_TRUE(poor.json["costs"][0]["full_bytes"].is_null());
    EXPECT_NE(unwrapped(poor).find("cannot be predicted"), std::string::npos) << unwrapped(poor);

    const std::string node = "sys/class/kfd/kfd/topology/nodes/1/";
    tree.write(node + "properties", "simd_count 1216\nsimd_per_cu 4\narray_count 32\n"
                                    "simd_arrays_per_engine 1\nnum_xcc 8\n"
                                    "gfx_target_version 90402\nmax_engine_clk_fcompute 2100\n");
    tree.write(node + "mem_banks/0/properties", "heap_type 1\nwidth 8192\nmem_clk_max 1300\n");
    expect_working_driver();
    const cli::Report report = doctor(context);
    const cli::Json& cost = report.json["costs"][0];
    EXPECT_EQ(cost["full_bytes"], 186019840);
    EXPECT_EQ(cost["predicted"], true);
    EXPECT_NEAR(cost["vram"]["full_us_least"].get<double>(), 35.9, 0.1);
    EXPECT_TRUE(cost["system"]["full_us_most"].is_null()); // no link to the host is told
    EXPECT_NE(
        unwrapped(report).find("predicted, not measured: a stop saves at most 186.0 MB (304 CUs on "
                               "8 XCC, all full) and 5.2 MB"),
        std::string::npos)
        << report.text;
    EXPECT_NE(unwrapped(report).find("unknown when it is in system memory"), std::string::npos);
    EXPECT_EQ(cost["queues"], 0);
    EXPECT_EQ(unwrapped(report).find("CWSR areas have"), std::string::npos);

    // 32 queues of 2 processes.
    for (const pid_t pid : {7, 8}) {
        tree.add_process(pid, "demo");
        tree.add_kfd_process(pid);
        for (std::uint32_t queue = 0; queue < 16; ++queue)
            tree.add_queue(pid, queue);
        tree.add_queue(pid, 16, 1); // SDMA
    }
    expect_working_driver();
    const cli::Report full = doctor(context);
    EXPECT_EQ(full.json["costs"][0]["queues"], 32);
    EXPECT_EQ(full.json["costs"][0]["save_area_bytes"], 32 * std::uint64_t{186019840});
    EXPECT_NE(unwrapped(full).find("gpu 5230: 32 compute queues of all processes, whose CWSR areas "
                                   "have 5952.6 MB together, 186.0 MB each"),
              std::string::npos)
        << full.text;
}

} // namespace
