// SPDX-License-Identifier: MIT
// doctor inside a container, and for root without all of root's rights.
#include "doctor_fixture.hpp"

namespace {

using test::DoctorTest;

TEST_F(DoctorTest, a_container_and_operator_mode_0_are_told) {
    tree.set_pid_namespace("pid:[4026532177]");
    tree.write("sys/module/amdgpu/parameters/operator_mode", "0\n");
    tree.write("usr/sbin/update-initramfs", "");
    expect_working_driver();
    const cli::Report report = doctor(context);
    expect_check(report, "pids", "ok", "matched with KFD's by PASID");
    expect_check(report, "rights", "warn", "set operator_mode=1 where");
    expect_commands(report, "rights",
                    {"grep -r operator_mode= /proc/cmdline /etc/modprobe.d /etc/default/grub",
                     "update-initramfs -u -k 6.12.117+deb12-amd64", "reboot"});
    tree.add_kfd_process(7); // of a kernel that shows no PASIDs
    expect_working_driver();
    const cli::Report newer = doctor(context);
    EXPECT_EQ(newer.exit, cli::Exit::failed);
    expect_check(newer, "pids", "fail", "--pid=host");
    expect_commands(newer, "pids", {in_container});
}

// sudo gives root nothing there.
TEST_F(DoctorTest, root_without_the_capability_starts_the_container_with_it) {
    tree.write("proc/self/status", "Uid:\t0\t0\t0\t0\nCapEff:\t00000000a80425fb\n");
    expect_working_driver();
    const cli::Report report = doctor(context);
    expect_check(report, "rights", "warn", "root without CAP_SYS_PTRACE");
    expect_commands(report, "rights", {in_container});
    tree.write("proc/self/status", "Uid:\t1000\t1000\t1000\t1000\nCapEff:\t0\n");
    expect_working_driver();
    expect_commands(doctor(context), "rights", {"sudo kfd-preempt doctor"});
}

TEST_F(DoctorTest, root_that_may_not_open_the_device_starts_the_container_with_it) {
    context.open_device = [] { return cli::fail(EPERM, cli::Op::open_device); };
    tree.write("proc/self/status", "Uid:\t0\t0\t0\t0\nCapEff:\t00000000a80425fb\n");
    const cli::Report report = doctor(context);
    EXPECT_EQ(report.exit, cli::Exit::permission);
    expect_check(report, "device", "fail", "--device /dev/kfd");
    expect_commands(report, "device", {in_container});
}

} // namespace
