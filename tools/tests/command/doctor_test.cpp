// SPDX-License-Identifier: MIT
// doctor: one machine for each thing that can be wrong.
#include "doctor_fixture.hpp"
#include "processes/machine.hpp"

namespace {

using test::DoctorTest;
using test::NextBootTest;

TEST_F(DoctorTest, a_working_machine_is_all_ok) {
    expect_working_driver();
    const cli::Report report = doctor(context);
    EXPECT_EQ(report.exit, cli::Exit::ok);
    EXPECT_EQ(report.json["verdict"], "ok");
    EXPECT_NE(report.text.find("preemption works on this machine\n"), std::string::npos);
    expect_check(report, "gpu", "ok", "gpu 5230: stops by SAVE; 1 XCC, ip discovery, 0000:01:00.0");
}

TEST_F(DoctorTest, a_stock_module_with_none_installed) {
    expect_stock_driver();
    const cli::Report report = doctor(context);
    EXPECT_EQ(report.exit, cli::Exit::unsupported);
    expect_check(report, "module", "fail", "no amdgpu with preemption is installed for 6.12.117");
    expect_check(report, "driver", "fail", "no queue preemption");
}

// apt-get has nothing to do there, and no package at all if it came by `make install-source`.
TEST_F(DoctorTest, source_of_the_driver_that_is_installed_is_built) {
    tree.write("usr/bin/apt-get", "");
    tree.write("usr/src/kfd-preempt-rocm-0.1.0+6.12.12/dkms.conf", "");
    expect_stock_driver();
    expect_commands(doctor(context), "module", {"apt-get install kfd-preempt-dkms", "reboot"});
    tree.write("usr/src/kfd-preempt-0.9/dkms.conf", "");
    expect_stock_driver();
    expect_commands(doctor(context), "module",
                    {"dkms install kfd-preempt/0.9 -k 6.12.117+deb12-amd64", "reboot"});
    tree.make_directory("var/lib/dkms/amdgpu");
    expect_stock_driver();
    const cli::Report report = doctor(context);
    for (const char* finding : {"module", "amdgpu-dkms"})
        expect_commands(
            report, finding,
            {"/usr/src/kfd-preempt-0.9/kernel/kernel-hook --initramfs --rocm", "reboot"});
}

TEST_F(DoctorTest, a_module_that_cannot_be_read_is_not_taken_for_ours) {
    expect_stock_driver();
    tree.write("lib/modules/6.12.117+deb12-amd64/updates/dkms/amdgpu.ko", "not a module");
    expect_check(doctor(context), "module", "fail", "cannot be read");
}

TEST_F(DoctorTest, switched_off_at_load) {
    tree.write("sys/module/amdgpu/parameters/kfd_preempt", "0\n");
    tree.write("usr/bin/dracut", "");
    script->expect_query(0, -ENOTTY);
    const cli::Report report = doctor(context);
    EXPECT_EQ(report.exit, cli::Exit::unsupported);
    expect_check(report, "module", "fail", "remove amdgpu.kfd_preempt=0");
    expect_commands(report, "module",
                    {"grep -r kfd_preempt=0 /proc/cmdline /etc/modprobe.d /etc/default/grub",
                     "dracut --force --kver 6.12.117+deb12-amd64", "reboot"});
}

TEST_F(DoctorTest, no_module_and_no_device) {
    const test::FixtureTree empty;
    empty.write("proc/self/status", "CapEff:\t0\n");
    cli::Context nothing = empty.context();
    nothing.kernel_release = "5.10.0-1-amd64";
    const cli::Report report = doctor(nothing);
    EXPECT_EQ(report.exit, cli::Exit::unsupported);
    expect_check(report, "kernel", "fail", "no patch series");
    expect_check(report, "module", "fail", "amdgpu is not loaded");
    expect_check(report, "device", "fail", "is missing");
    expect_check(report, "rights", "warn", "sudo");
}

TEST_F(DoctorTest, a_kernel_with_a_series_is_installed_where_its_package_is_known) {
    const test::FixtureTree bare;
    bare.write("proc/self/status", "CapEff:\t0\n");
    bare.write("usr/bin/apt-get", "");
    cli::Context machine = bare.context();
    machine.kernel_release = "6.1.0-1-amd64";
    bare.write("etc/os-release", "ID=debian\nVERSION_CODENAME=forky\n");
    for (const char* finding : {"kernel", "module"}) // the driver comes after the boot
        expect_commands(doctor(machine), finding, {"ls /boot/vmlinuz-*", "reboot"});
    bare.write("etc/os-release", "ID=debian\nVERSION_CODENAME=trixie\n");
    expect_commands(doctor(machine), "kernel",
                    {"apt-get install linux-image-amd64 linux-headers-amd64", "reboot"});
    bare.write("etc/os-release", "ID=debian\nVERSION_CODENAME=bookworm\n");
    expect_commands(doctor(machine), "kernel",
                    {"apt-get install linux-image-6.12-amd64 linux-headers-6.12-amd64", "reboot"});
}

TEST_F(DoctorTest, a_device_that_may_not_be_opened_exits_4) {
    context.open_device = [] { return cli::fail(EACCES, cli::Op::open_device); };
    const cli::Report report = doctor(context);
    EXPECT_EQ(report.exit, cli::Exit::permission);
    expect_check(report, "device", "fail", "not allowed");
}

TEST_F(DoctorTest, amds_own_package_is_a_failure_until_our_module_runs) {
    tree.make_directory("var/lib/dkms/amdgpu");
    tree.write("usr/sbin/update-initramfs", "");
    expect_working_driver();
    const cli::Report working = doctor(context);
    EXPECT_EQ(working.exit, cli::Exit::ok);
    expect_commands(working, "amdgpu-dkms",
                    {"pkcon remove amdgpu-dkms",
                     "dkms install kfd-preempt/" KFD_PREEMPT_VERSION " -k 6.12.117+deb12-amd64",
                     "update-initramfs -u -k 6.12.117+deb12-amd64", "reboot"});

    expect_stock_driver();
    expect_check(doctor(context), "amdgpu-dkms", "fail", "pkcon remove amdgpu-dkms");

    tree.make_directory("sys/module/amdkcl");
    tree.write("sys/module/amdgpu/parameters/kfd_preempt_abi", "1.3\n");
    expect_working_driver();
    expect_check(doctor(context), "amdgpu-dkms", "ok", "built with queue preemption");
}

// amdgpu-dkms returns EINVAL for an ioctl that it doesn't know.
TEST_F(DoctorTest, rocms_own_driver_is_named_and_is_no_failure_of_query) {
    std::filesystem::remove_all(tree.root() / "sys/module/amdgpu/parameters");
    tree.write("sys/module/amdgpu/version", "6.12.12\n");
    tree.make_directory("sys/module/amdkcl");
    tree.make_directory("var/lib/dkms/amdgpu");
    context.kernel_release = "5.10.134-16.al8.x86_64";
    script->expect_query(0, -EINVAL);
    const cli::Report report = doctor(context);
    EXPECT_EQ(report.exit, cli::Exit::unsupported);
    expect_check(report, "kernel", "ok", "5.10.134-16.al8.x86_64, with ROCm's own driver");
    expect_check(report, "module", "fail", "ROCm's own amdgpu 6.12.12 is loaded");
    expect_check(report, "amdgpu-dkms", "fail", "build it with queue preemption");
    expect_check(report, "driver", "fail", "has no queue preemption");
    expect_check(report, "driver", "fail", "see module above");
    EXPECT_EQ(report.text.find("Invalid argument"), std::string::npos) << report.text;
}

// From 7.1.9 on it returns ENOTTY.
TEST_F(DoctorTest, what_is_known_of_rocms_driver_is_said) {
    std::filesystem::remove_all(tree.root() / "sys/module/amdgpu/parameters");
    tree.make_directory("sys/module/amdkcl");
    tree.write("var/lib/dkms/amdgpu/6.14.14-2212064.el8/source/dkms.conf", "");
    tree.write("var/lib/dkms/amdgpu/7.1.9-2407772.24.04/source/dkms.conf", "");
    tree.write("sys/module/amdgpu/version", "6.14.14\n");
    script->expect_query(0, -EINVAL);
    cli::Report report = doctor(context);
    expect_check(report, "amdgpu-dkms", "fail",
                 "(6.14.14-2212064.el8, driver 30.10.1 of ROCm 7.0: ");
    expect_check(report, "driver", "fail", "has no queue preemption");

    tree.write("sys/module/amdgpu/version", "7.1.9\n");
    script->expect_query(0, -ENOTTY);
    report = doctor(context);
    expect_check(report, "amdgpu-dkms", "fail",
                 "(7.1.9-2407772.24.04, driver 31.60.0 of ROCm 10.1: nobody has tried");
    expect_check(report, "driver", "fail", "has no queue preemption");

    tree.write("sys/module/amdgpu/version", "8.0.1\n");
    script->expect_query(0, -ENOTTY);
    expect_check(doctor(context), "amdgpu-dkms", "fail",
                 "(8.0.1, a driver that this command does not know)");
}

TEST_F(DoctorTest, entries_of_dkms_without_a_source_are_named) {
    tree.write("var/lib/dkms/amdgpu/6.14.14-1/source/dkms.conf", "");
    tree.make_directory("var/lib/dkms/kfd-preempt-rocm/0.1.0+6.12.12-1/build");
    // The kernels of a module are links beside its versions.
    std::filesystem::create_directory_symlink(
        "6.14.14-1/6.8/x86_64", tree.root() / "var/lib/dkms/amdgpu/kernel-6.8-x86_64");
    expect_working_driver();
    const cli::Report report = doctor(context);
    EXPECT_EQ(report.exit, cli::Exit::ok);
    expect_check(report, "dkms", "warn", "builds no module");
    expect_commands(
        report, "dkms",
        {"rm -r " + (tree.root() / "var/lib/dkms/kfd-preempt-rocm/0.1.0+6.12.12-1").string()});
}

TEST_F(DoctorTest, parameters_that_take_queues_away_are_named) {
    tree.write("sys/module/amdgpu/parameters/cwsr_enable", "0\n");
    tree.write("sys/module/amdgpu/parameters/user_queue", "1\n");
    expect_working_driver();
    const cli::Report report = doctor(context);
    EXPECT_EQ(report.exit, cli::Exit::unsupported);
    expect_check(report, "cwsr", "fail", "no queue can be stopped in the middle of a kernel");
    expect_check(report, "user-queues", "warn", "amdgpu.user_queue=1");

    tree.write("sys/module/amdgpu/parameters/cwsr_enable", "1\n");
    tree.write("sys/module/amdgpu/parameters/user_queue", "-1\n");
    expect_working_driver();
    EXPECT_EQ(doctor(context).json["verdict"], "ok");
}

TEST_F(DoctorTest, settings_of_a_process_that_hide_its_queues_are_named) {
    using namespace std::string_literals;
    tree.add_process(7, "demo");
    tree.add_kfd_process(7);
    tree.write("sys/module/amdgpu/parameters/kfd_preempt_abi", "1.4\n");
    tree.write("proc/7/environ", "A=1\0HSA_ENABLE_DRM_DEBUG=1\0DEBUG_CLR_AQL_DEV_QUEUE=1\0"s);
    expect_working_driver();
    const cli::Report report = doctor(context, 7);
    expect_check(report, "user-queues", "warn", "its queues are DRM user queues");
    expect_check(report, "rings", "warn", "its rings are in VRAM");
    expect_commands(report, "user-queues", {"env -u HSA_ENABLE_DRM_DEBUG PROGRAM"});
    expect_commands(report, "rings", {"env -u DEBUG_CLR_AQL_DEV_QUEUE PROGRAM"});

    tree.write("sys/module/amdgpu/parameters/kfd_preempt_abi", "1.5\n");
    tree.write("proc/7/environ", "DEBUG_CLR_AQL_DEV_QUEUE=1\0"s);
    expect_working_driver();
    EXPECT_EQ(doctor(context, 7).json["verdict"], "ok");

    tree.write("proc/7/environ", "HSA_ENABLE_DRM_DEBUG=0\0DEBUG_CLR_AQL_DEV_QUEUE_X=1\0"s);
    expect_working_driver();
    EXPECT_EQ(doctor(context, 7).json["verdict"], "ok");
}

TEST_F(DoctorTest, versions_of_the_firmware_are_shown) {
    tree.write("sys/bus/pci/devices/0000:01:00.0/fw_version/mec_fw_version", "0x000000b1\n");
    tree.write("sys/bus/pci/devices/0000:01:00.0/fw_version/mes_fw_version", "0x00000000\n");
    expect_working_driver();
    const cli::Report report = doctor(context);
    EXPECT_NE(unwrapped(report).find("gpu 5230: mec 177\n"), std::string::npos) << report.text;
    const cli::Json& firmware = report.json["firmware"][0];
    EXPECT_EQ(firmware["mec"], 177);
    EXPECT_TRUE(firmware["mes"].is_null());
}

TEST_F(DoctorTest, einval_of_our_own_driver_stays_a_failure_of_query) {
    script->expect_query(0, -EINVAL);
    const cli::Report report = doctor(context);
    EXPECT_EQ(report.exit, cli::Exit::failed);
    expect_check(report, "driver", "fail", "QUERY of gpu 0 failed: Invalid argument");
}

TEST_F(DoctorTest, fixes_are_in_the_words_of_the_distribution) {
    struct Machine {
        const char* os_release;
        std::vector<const char*> commands;
        const char* install;
        const char* remove;
        const char* driver;
        const char* initramfs;
    };
    const Machine machines[] = {
        {"ID=debian\n",
         {"usr/bin/apt-get", "usr/sbin/update-initramfs"},
         "apt-get install",
         "apt-get remove",
         "kfd-preempt-dkms",
         "update-initramfs -u -k 5.10"},
        {"ID=ubuntu\nID_LIKE=debian\n",
         {"usr/bin/apt-get", "usr/bin/dracut"},
         "apt-get install",
         "apt-get remove",
         "kfd-preempt-dkms",
         "dracut --force --kver 5.10"},
        {"ID=\"alinux\"\nID_LIKE=\"rhel fedora centos anolis\"\n",
         {"usr/bin/dnf", "usr/bin/yum", "usr/bin/dracut"},
         "dnf install",
         "dnf remove",
         "kfd-preempt-rocm-dkms",
         "dracut --force --kver 5.10"},
        {"ID=\"centos\"\nID_LIKE=\"rhel fedora\"\n",
         {"usr/bin/yum", "usr/sbin/dracut"},
         "yum install",
         "yum remove",
         "kfd-preempt-rocm-dkms",
         "dracut --force --kver 5.10"},
        {"ID=\"sles\"\nID_LIKE=\"suse\"\n",
         {"usr/bin/zypper", "usr/bin/dracut"},
         "zypper install",
         "zypper remove",
         "kfd-preempt-rocm-dkms",
         "dracut --force --kver 5.10"},
        // apt-rpm and the like: the family decides, where its command is there.
        {"ID=fedora\n",
         {"usr/bin/apt-get", "usr/bin/dnf"},
         "dnf install",
         "dnf remove",
         "kfd-preempt-rocm-dkms",
         ""},
        {"", {"usr/bin/zypper"}, "zypper install", "zypper remove", "kfd-preempt-rocm-dkms", ""},
        {"ID=nixos\n", {}, "pkcon install", "pkcon remove", "kfd-preempt-dkms", ""},
    };
    for (const Machine& machine : machines) {
        const test::FixtureTree root;
        root.write("etc/os-release", machine.os_release);
        for (const char* command : machine.commands)
            root.write(command, "");
        const cli::Distribution found = cli::distribution(root.roots(), "5.10");
        EXPECT_EQ(found.install, machine.install) << machine.os_release;
        EXPECT_EQ(found.remove, machine.remove) << machine.os_release;
        EXPECT_EQ(found.driver, machine.driver) << machine.os_release;
        EXPECT_EQ(found.initramfs, machine.initramfs) << machine.os_release;
    }
    tree.write("usr/bin/dnf", "");
    tree.make_directory("var/lib/dkms/amdgpu");
    expect_stock_driver();
    expect_check(doctor(context), "amdgpu-dkms", "fail", "dnf remove amdgpu-dkms");
    expect_stock_driver();
    expect_commands(doctor(context), "module", {"dnf install kfd-preempt-rocm-dkms", "reboot"});
    tree.write("etc/os-release", "ID=ubuntu\n");
    tree.write("usr/bin/apt-get", "");
    expect_stock_driver();
    expect_commands(doctor(context), "amdgpu-dkms", {"apt-get install kfd-preempt-dkms", "reboot"});
}

TEST_F(DoctorTest, queues_of_several_xccs_are_not_added_up) {
    tree.write("sys/class/kfd/kfd/topology/nodes/1/properties",
               "simd_count 320\nnum_xcc 4\nnum_cp_queues 120\n");
    expect_working_driver();
    const cli::Report report = doctor(context);
    EXPECT_EQ(report.json["queue_slots"][0]["reported"], 120);
    EXPECT_EQ(report.json["queue_slots"][0]["usable"], 24);
    EXPECT_NE(unwrapped(report).find("reports 120 compute queues for 4 XCC; 24 fit at once"),
              std::string::npos)
        << report.text;
}

TEST_F(DoctorTest, more_queues_than_slots_are_reported_with_their_cost) {
    tree.write("sys/class/kfd/kfd/topology/nodes/1/properties",
               "simd_count 320\nnum_cp_queues 24\n");
    expect_working_driver();
    EXPECT_EQ(unwrapped(doctor(context)).find(" slots"), std::string::npos);
    for (const pid_t pid : {100, 200})
        for (unsigned id = 0; id < 13; ++id)
            tree.add_queue(pid, id);
    expect_working_driver();
    const cli::Report report = doctor(context);
    EXPECT_NE(unwrapped(report).find("26 compute queues of 2 processes share 24 slots"),
              std::string::npos)
        << report.text;
}

TEST_F(DoctorTest, secure_boot_asks_for_the_key_only_while_our_module_is_not_loaded) {
    const std::string variable =
        "sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c";
    tree.write(variable, std::string("\6\0\0\0\1", 5));
    expect_working_driver();
    expect_check(doctor(context), "secure-boot", "ok", "accepted");
    expect_stock_driver();
    expect_check(doctor(context), "secure-boot", "warn", "mokutil");
    tree.write(variable, std::string("\6\0\0\0\0", 5));
    expect_stock_driver();
    expect_check(doctor(context), "secure-boot", "ok", "off");
}

TEST_F(DoctorTest, secure_boot_names_the_certificate_that_dkms_signs_with) {
    tree.write("sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c",
               std::string("\6\0\0\0\1", 5));
    const auto names = [&](const char* certificate) {
        expect_stock_driver();
        const cli::Report report = doctor(context);
        expect_check(report, "secure-boot", "warn", certificate);
        return report.text;
    };
    EXPECT_NE(names("/var/lib/dkms/mok.pub").find("secure-boot  on: DKMS signs with /var/lib/dkms"),
              std::string::npos);
    tree.write("etc/os-release", "ID=debian\nHOME_URL=\"https://ubuntu.example\"\n");
    names("/var/lib/dkms/mok.pub");
    tree.write("etc/os-release", "NAME=Mint\nID=linuxmint\nID_LIKE=\"ubuntu debian\"\n");
    names("/var/lib/shim-signed/mok/MOK.der");
    tree.write("etc/os-release", "ID=other\nID_LIKE=\"debian ubuntu\"\n");
    names("/var/lib/dkms/mok.pub");
    tree.write("etc/os-release", "ID=\"ubuntu\"\nID_LIKE=debian\n");
    names("/var/lib/shim-signed/mok/MOK.der");
    tree.write("etc/dkms/framework.conf", "mok_certificate=/site.der\n");
    names("/var/lib/shim-signed/mok/MOK.der"); // ignored without a key
    tree.write("etc/dkms/framework.conf", "mok_signing_key=/site.key\n");
    names("/var/lib/dkms/mok.pub");
    const auto names_that_of = [&](const char* file) {
        expect_stock_driver();
        expect_commands(
            doctor(context), "secure-boot",
            {std::string(". ") + file, "mokutil --import \"$mok_certificate\"", "reboot"});
    };
    const char* of_all = "/etc/dkms/framework.conf";
    tree.write("etc/dkms/framework.conf", "mok_signing_key=/k\nmok_certificate=$site/site.der\n");
    names_that_of(of_all);
    tree.write("etc/dkms/framework.conf", "#mok_certificate=/never.der\n");
    names("/var/lib/shim-signed/mok/MOK.der");
    tree.write("etc/os-release", "ID=debian\n");
    for (const char* line :
         {"  mok_certificate=/site.der", "sign_file=x; mok_certificate=/site.der",
          "export mok_certificate=/site.der"}) {
        tree.write("etc/dkms/framework.conf", std::string(line) + "\n");
        names_that_of(of_all);
    }
    for (const char* file : {"a.conf", "site.conf"}) // the last one counts
        tree.write(std::string("etc/dkms/framework.conf.d/") + file, "mok_certificate=/x.der\n");
    names_that_of("/etc/dkms/framework.conf.d/site.conf");
    tree.write("etc/dkms/framework.conf", "");
    names_that_of("/etc/dkms/framework.conf.d/site.conf");
}

TEST_F(DoctorTest, a_gpu_that_the_driver_gave_up_says_why_and_how_to_try_again) {
    script->expect_query(0);
    script->expect_query(5230, 0, test::Script::all_caps, 0, KFD_PREEMPT_ABI_MAJOR,
                         KFD_PREEMPT_DEGRADED_FENCE);
    const cli::Report report = doctor(context);
    EXPECT_EQ(report.exit, cli::Exit::unsupported);
    expect_check(report, "gpu", "fail", "unmaps of the runlist were late or failed");
    expect_check(report, "gpu", "fail", "preempt_degraded");
}

TEST_F(DoctorTest, a_gpu_that_has_given_up_fast_alone_is_a_warning) {
    script->expect_query(0);
    script->expect_query(5230, 0, test::Script::all_caps, 1U << KFD_PREEMPT_TYPE_SAVE,
                         KFD_PREEMPT_ABI_MAJOR, KFD_PREEMPT_DEGRADED_GRACE);
    const cli::Report report = doctor(context);
    EXPECT_EQ(report.exit, cli::Exit::ok);
    expect_check(report, "gpu", "warn", "FAST does not reach every XCC");
}

TEST_F(DoctorTest, a_gpu_that_cannot_save_is_a_failure) {
    script->expect_query(0);
    script->expect_query(5230, 0, test::Script::all_caps, 1U << KFD_PREEMPT_TYPE_DRAIN);
    const cli::Report report = doctor(context);
    EXPECT_EQ(report.exit, cli::Exit::unsupported);
    expect_commands(
        report, "gpu",
        {"grep -r cwsr_enable= /proc/cmdline /etc/modprobe.d /etc/default/grub", "reboot"});
}

TEST_F(DoctorTest, no_gpu_and_a_gpu_that_is_refused) {
    script->expect_query(0);
    script->expect_query(5230, -ENODEV);
    const cli::Report refused = doctor(context);
    expect_check(refused, "gpu", "fail", "render node");
    expect_commands(refused, "gpu", {in_container});
    script->expect_query(0);
    script->expect_query(5230, -EIO);
    expect_commands(doctor(context), "gpu", {"dmesg | grep -i amdgpu", "reboot"});
    std::filesystem::remove_all(tree.root() / "sys/class/kfd/kfd/topology/nodes/1");
    script->expect_query(0);
    const cli::Report report = doctor(context);
    EXPECT_EQ(report.exit, cli::Exit::unsupported);
    expect_check(report, "gpu", "fail", "KFD knows no GPU");
    expect_commands(report, "gpu", {in_container});
}

TEST_F(DoctorTest, each_queue_of_a_process_has_its_level_and_the_reason) {
    tree.add_process(7, "demo");
    tree.add_kfd_process(7);
    tree.add_queue(7, 0);
    tree.add_queue(7, 1, 1);
    tree.add_queue(7, 2, 2);
    tree.add_queue(7, 3, 9);
    const auto level = [](const cli::Report& report, std::size_t queue, int wanted,
                          const std::string& part) {
        const cli::Json& item = report.json["queues"][queue];
        EXPECT_EQ(item["level"], wanted) << item;
        EXPECT_NE(item.dump().find(part), std::string::npos) << item;
    };
    expect_working_driver();
    const cli::Report patched = doctor(context, 7);
    EXPECT_EQ(patched.exit, cli::Exit::ok);
    level(patched, 0, 3, "kfd-preempt");
    EXPECT_TRUE(patched.json["queues"][0]["reason"].is_null());
    level(patched, 1, 0, "not preemptible: an SDMA queue");
    level(patched, 2, 0, "the driver's own queue");
    level(patched, 3, 0, "type-9");
    EXPECT_NE(patched.text.find("0      5230  compute  interrupt  kfd-preempt"), std::string::npos)
        << patched.text;

    script->expect_query(0);
    script->expect_query(5230, 0, test::Script::all_caps, 1U << KFD_PREEMPT_TYPE_DRAIN);
    level(doctor(context, 7), 0, 2, "cannot save waves");

    expect_stock_driver();
    const cli::Report stock = doctor(context, 7);
    EXPECT_EQ(stock.exit, cli::Exit::unsupported);
    level(stock, 0, 3, "libxpreempt");
    level(stock, 0, 3, "no other program can stop it");
    tree.write("sys/module/amdgpu/parameters/cwsr_enable", "0\n");
    script->expect_query(0, -ENOTTY);
    level(doctor(context, 7), 0, 2, "amdgpu.cwsr_enable=0");
}

TEST_F(DoctorTest, a_process_without_the_hook_is_none_of_its_checks) {
    tree.add_process(7, "demo");
    tree.add_kfd_process(7);
    tree.add_queue(7, 0);
    tree.write("proc/7/maps", "7f0000000000-7f0000001000 r-xp 00000000 00:00 0 /lib/libc.so.6\n");
    expect_working_driver();
    EXPECT_EQ(doctor(context).text.find("hook"), std::string::npos);
    tree.write("proc/7/maps", "7f0000000000-7f0000001000 r-xp 00000000 00:00 0 "
                              "/usr/lib/libxpreempt-hook.so\n");
    expect_working_driver();
    const cli::Report report = doctor(context);
    expect_check(report, "hook", "ok", "pid 7 (demo): 1 KFD queue; whether the hook sees");
    EXPECT_EQ(report.json["verdict"], "ok");
}

TEST_F(DoctorTest, a_pid_without_queues_is_an_error_beside_the_checks) {
    expect_working_driver();
    const cli::Report report = doctor(context, 8);
    EXPECT_EQ(report.exit, cli::Exit::failed);
    ASSERT_EQ(report.messages.size(), 1U);
    EXPECT_NE(report.messages[0].find("pid 8"), std::string::npos);
    EXPECT_EQ(report.json["verdict"], "ok");
}

TEST_F(DoctorTest, kernel_series_match_whole_version_numbers) {
    context.kernel_series = "6.12 7.2";
    for (const char* release : {"6.120.1-amd64", "16.12.1", "6.1.0-9-amd64"}) {
        expect_stock_driver();
        context.kernel_release = release;
        expect_check(doctor(context), "kernel", "fail", release);
    }
    for (const char* release : {"6.12.117+deb12-amd64", "6.12-rc1", "6.12.9"}) {
        expect_stock_driver();
        context.kernel_release = release;
        expect_check(doctor(context), "kernel", "ok", release);
    }
}

TEST_F(NextBootTest, a_kernel_that_was_upgraded_at_night_loses_preemption) {
    add_kernel("6.12.99+deb12-amd64", ours);
    add_kernel(running, ours);
    add_kernel(newer, "");
    const cli::Report report = doctor_here();
    EXPECT_EQ(report.exit, cli::Exit::ok);
    expect_check(report, "next-boot", "warn", "6.12.118+deb12-amd64");
    expect_commands(report, "next-boot",
                    {"/etc/kernel/postinst.d/dkms-kfd-preempt 6.12.118+deb12-amd64",
                     "update-initramfs -u -k 6.12.118+deb12-amd64"});
}

TEST_F(NextBootTest, kernels_that_have_it_are_all_right) {
    add_kernel(running, ours);
    add_kernel(newer, ours);
    const cli::Report report = doctor_here();
    expect_check(report, "next-boot", "ok", "6.12.118+deb12-amd64");
    EXPECT_EQ(report.json["verdict"], "ok");
}

TEST_F(NextBootTest, an_older_kernel_is_not_what_boots_next) {
    add_kernel(running, ours);
    add_kernel("6.12.9+deb12-amd64", "");
    add_kernel("6.1.0-40-amd64", "");
    expect_check(doctor_here(), "next-boot", "ok", running);
}

TEST_F(NextBootTest, a_driver_that_was_removed_while_it_runs_is_named) {
    add_kernel(running, "");
    expect_check(doctor_here(), "next-boot", "warn", running);
}

// As an installation leaves it for which the disk had no room.
TEST_F(NextBootTest, a_driver_that_cannot_be_read_is_named) {
    add_kernel(running, ours);
    add_kernel(newer, "no module");
    const cli::Report report = doctor_here();
    expect_check(report, "next-boot", "warn", "cannot be read");
    expect_check(report, "next-boot", "warn", newer);
}

TEST_F(NextBootTest, a_container_without_the_kernels_of_the_machine_has_no_such_check) {
    EXPECT_FALSE(has_check(doctor_here()));
    add_kernel(newer, ""); // of its own image
    EXPECT_FALSE(has_check(doctor_here()));
}

TEST_F(NextBootTest, without_preemption_now_the_other_checks_are_enough) {
    add_kernel(running, "");
    expect_stock_driver();
    EXPECT_FALSE(has_check(doctor(context)));
}

} // namespace
