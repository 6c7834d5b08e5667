# SPDX-License-Identifier: MIT
"""kernel-hook on a machine with ROCm's driver when amdgpu-dkms or a kernel changes: our module is built over AMD's, or
AMD's stays and one line reports why.

With the real dkms, in a directory for /; the modules are of one file. selftests/packages/test-rocm-package has the
real packages and triggers.
"""

import os
import re
import shutil

from rocm import OURS, RocmTest, installed_kernel
from runner.paths import REPO

FIRST, SECOND, THIRD = "6.12.12-2164967.24.04", "6.12.12-2194681.24.04", "6.14.14-2204008.24.04"


class Upgrades(RocmTest):
    def setUp(self):
        super().setUp()
        self.release = installed_kernel()
        self.link_headers(self.release)
        self.calls = self.write("calls")
        trees = f'--dkmstree "{self.tree}" --sourcetree "{self.sources}" --installtree "{self.modules}"'
        # The real commands, on the made-up root.
        self.fake_command("dkms", f"""
            echo "$*" >> "{self.calls}"
            [ "$1" = status ] || set -- "$@" --no-depmod
            exec {shutil.which("dkms")} "$@" {trees}""")
        module = f'"{self.modules}/$2/updates/dkms"/amdgpu.ko*'
        self.fake_command("modinfo", f"exec {shutil.which('modinfo')} -F kfd_preempt {module}")
        self.fake_command("update-initramfs", f'echo "update-initramfs $*" >> "{self.calls}"')
        self.fake_command("lsinitramfs", 'cat "$1"')
        self.write(self.root / f"boot/initrd.img-{self.release}", "kernel/drivers/gpu/drm/amd/amdgpu/amdgpu.ko\n")
        self.succeeds("make", "-s", "-C", REPO / "kernel", "install-source", f"DESTDIR={self.root}")
        self.source = self.sources / f"kfd-preempt-{OURS}"

    def install_amds(self, version, *options):
        """As AMD's package does: dpkg has run the prerm of the old one before, rpm runs it afterwards."""
        self.succeeds("dkms", "install", *options, f"amdgpu/{version}", "-k", self.release)

    def remove_amds(self, version):
        self.ran("dkms", "remove", f"amdgpu/{version}", "--all")
        shutil.rmtree(self.sources / f"amdgpu-{version}")

    def hook(self, *words):
        self.calls.write_text("")
        return self.succeeds(self.source / "kernel/kernel-hook", *words)

    def has_ours(self, version, *words, ours=OURS):
        """Runs the hook; then the module is that version of AMD's with queue preemption, alone in DKMS."""
        ran = self.hook(*words)
        self.assertEqual(self.modinfo(self.release, "kfd_preempt"), f"{ours} rocm-{version}", ran)
        self.assertEqual(self.modinfo(self.release, "version"), version)
        self.assertEqual(self.in_dkms(), [f"{ours}+{version}"])
        links = [link.name for link in (self.tree / "kfd-preempt-rocm").iterdir() if link.is_symlink()]
        self.assertEqual(links, [f"kernel-{self.release}-{os.uname().machine}"], "DKMS' link to the installed version")
        return ran

    def is_amds(self, version):
        self.assertEqual(self.modinfo(self.release, "kfd_preempt"), "")
        self.assertEqual(self.modinfo(self.release, "version"), version)

    def keeps_amds(self, version, text):
        """Runs the hook; then the module is AMD's own, and one line says why."""
        ran = self.hook("--rocm")
        self.is_amds(version)
        lines = [line for line in ran.stderr.splitlines() if not line.startswith("kfd-preempt: building amdgpu-dkms")]
        self.assertEqual(len(lines), 1, ran)
        release = re.escape(self.release)
        self.assertRegex(lines[0], rf"^kfd-preempt: not built for {release} \(.*\); the ROCm amdgpu stays$")
        self.assertIn(text, lines[0])

    def in_dkms(self):
        """Versions of ours that DKMS knows; beside them it has a link for each kernel."""
        entries = (self.tree / "kfd-preempt-rocm").glob("*")
        return sorted(path.name for path in entries if path.is_dir() and not path.is_symlink())

    def builds_nothing(self):
        self.assertNotIn("install", self.calls.read_text())

    def test_amdgpu_dkms_gets_queue_preemption_once_and_again_after_an_upgrade(self):
        self.lay_out(FIRST)
        self.install_amds(FIRST)
        self.has_ours(FIRST, "--initramfs", "--rocm")
        self.assertIn(f"update-initramfs -u -k {self.release}", self.calls.read_text().splitlines())
        self.hook("--initramfs", "--rocm")
        self.builds_nothing()
        self.lay_out(SECOND)
        self.remove_amds(FIRST)
        self.install_amds(SECOND)
        self.is_amds(SECOND)
        self.has_ours(SECOND, "--initramfs", "--rocm")
        made = [path.name for path in self.sources.glob("kfd-preempt-rocm-*")]
        self.assertEqual(made, [f"kfd-preempt-rocm-{OURS}+{SECOND}"])

    def test_new_kernel_gets_queue_preemption_and_an_upgrade_by_rpm_does(self):
        self.lay_out(FIRST)
        self.install_amds(FIRST)
        self.has_ours(FIRST, self.release)
        self.lay_out(SECOND)
        self.install_amds(SECOND, "--force")
        self.remove_amds(FIRST)
        self.has_ours(SECOND, "--rocm")

    def test_broken_entry_of_ours_is_removed(self):
        """DKMS removes none without its source, and may build nothing beside it."""
        self.lay_out(FIRST)
        self.install_amds(FIRST)
        self.has_ours(FIRST, "--rocm")
        self.lay_out(SECOND)
        self.remove_amds(FIRST)
        self.install_amds(SECOND)
        (self.tree / f"kfd-preempt-rocm/{OURS}+{FIRST}/source").unlink()
        self.has_ours(SECOND, "--rocm")

    def test_upgrade_to_a_driver_that_does_not_fit_keeps_amds_and_removes_ours_from_dkms(self):
        self.lay_out(FIRST)
        self.install_amds(FIRST)
        self.has_ours(FIRST, "--rocm")
        self.lay_out(THIRD, "6.14.14")
        self.remove_amds(FIRST)
        self.install_amds(THIRD)
        self.keeps_amds(THIRD, f"amdgpu-dkms {THIRD} does not fit")
        self.assertEqual(self.in_dkms(), [])

    def test_driver_that_does_not_compile_with_our_edits_leaves_a_log_and_is_not_built_again(self):
        amds = self.lay_out(FIRST) / "amd"
        with open(amds / "amdkfd/kfd_crat.h", "a", encoding="utf-8") as header:
            header.write("does not compile\n")
        version = '#include "../amdkfd/kfd_preempt_version.h"'
        self.change(amds / "tiny/amdgpu.c", f"^{version}", f'{version}\n#include "../amdkfd/kfd_crat.h"')
        self.install_amds(FIRST)
        self.keeps_amds(FIRST, "the build failed")
        left = self.tree / f"kfd-preempt-rocm/{OURS}+{FIRST}/build"
        self.assertEqual([path.name for path in left.iterdir()], ["make.log"])
        self.keeps_amds(FIRST, "has failed before")
        self.builds_nothing()

    def test_anchor_that_is_gone_keeps_amds(self):
        file = self.lay_out(FIRST) / "amd/amdkfd/kfd_chardev.c"
        self.change(file, "^\tfilep->private_data = process;", "\tfile_own(filep, process);")
        self.install_amds(FIRST)
        self.keeps_amds(FIRST, "its anchor is there 0 times")

    def test_module_that_was_replaced_by_hand_is_installed_again_and_a_newer_one_replaces_it(self):
        self.lay_out(FIRST)
        self.install_amds(FIRST)
        self.has_ours(FIRST, "--rocm")
        self.install_amds(FIRST, "--force")
        self.is_amds(FIRST)
        self.has_ours(FIRST, "--rocm")
        self.change(self.source / "dkms.conf", "^PACKAGE_VERSION=.*", 'PACKAGE_VERSION="0.9.0"')
        self.has_ours(FIRST, "--rocm", ours="0.9.0")
        self.remove_amds(FIRST)
        self.hook("--rocm")
        self.assertEqual(self.in_dkms(), [])
        self.assertEqual(list((self.modules / self.release / "updates/dkms").glob("amdgpu.ko*")), [])
