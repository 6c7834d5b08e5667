# SPDX-License-Identifier: MIT
"""What kernel/prepare-rocm makes of ROCm's driver and what it refuses, and what DKMS makes of it.

The module that DKMS builds here is of one file; `rocm-driver DIR` builds the real one.
"""

import filecmp
import shutil

from rocm import OURS, RocmTest, installed_kernel
from runner.paths import REPO
from runner.testing.commands import cases

RELEASE = "6.12.0-rocm-test"
DEB, RPM = "6.12.12-2164967.24.04", "6.12.12-2194681.el8"
OPEN = r"^\tfilep->private_data = process;"


class PrepareRocm(RocmTest):
    def setUp(self):
        super().setUp()
        self.makefile = self.write(self.modules / RELEASE / "build/Makefile")

    def prepare(self, *words, release=("--kernel", RELEASE)):
        return self.ran(REPO / "kernel/prepare-rocm", *release, *words)

    def prepares(self, version, *words):
        """Fails unless prepare-rocm makes a source of that version of AMD's package."""
        ran = self.prepare(*words)
        self.assertEqual(ran.status, 0, ran)
        (made,) = self.sources.glob("kfd-preempt-rocm-*")
        self.assertEqual(made.name, f"kfd-preempt-rocm-{OURS}+{version}")
        self.assertTrue((made / "amd/amdkfd/kfd_preempt.c").exists())
        self.assertIn("kfd_preempt_ioctl", (made / "amd/amdkfd/kfd_chardev.c").read_text())
        return made, ran

    def refuses(self, *texts, **options):
        """Fails unless prepare-rocm fails, prints each of the texts and writes nothing."""
        ran = self.prepare(**options)
        self.assertEqual(ran.status, 1, ran)
        for text in texts:
            self.assertIn(text, ran.output)
        self.assertEqual(list(self.sources.glob("kfd-preempt-rocm-*")), [])

    def test_source_laid_out_as_the_deb_does(self):
        amds = self.lay_out(DEB)
        before = shutil.copytree(amds, self.work / "amds")
        made, ran = self.prepares(DEB)
        self.assertIn("with the edits of 6.12; install", ran.output)
        self.assertIn("Made by kernel/probe-tree", (made / "amd/amdkfd/kfd_preempt_tree.h").read_text())
        self.assertEqual(list(made.glob("amd/amdkfd/*_test.c")), [], "KUnit suites")
        self.succeeds("diff", "-r", before, amds)

    def test_no_amdgpu_dkms(self):
        self.refuses("the source of amdgpu-dkms is missing")

    def test_several_versions_and_none_installed_are_refused_by_name(self):
        self.lay_out(DEB)
        self.lay_out(RPM)
        self.refuses(f"{DEB} {RPM}", "name the directory")

    def test_source_that_is_named_laid_out_as_the_rpm_does(self):
        self.lay_out(DEB)
        self.prepares(RPM, self.lay_out(RPM))

    def install_in_dkms(self, version):
        (self.tree / "amdgpu").mkdir()
        (self.tree / f"amdgpu/kernel-{RELEASE}-x86_64").symlink_to(f"{version}/{RELEASE}/x86_64")

    def test_version_that_dkms_has_installed_for_the_kernel_is_taken(self):
        self.lay_out(DEB)
        self.lay_out(RPM)
        self.install_in_dkms(DEB)
        self.prepares(DEB)

    def test_installed_version_without_its_source(self):
        self.lay_out(DEB)
        self.install_in_dkms("6.12.99-1")
        self.refuses("amdgpu 6.12.99-1", "reinstall")

    def test_untested_driver_that_fits_is_refused_with_the_option(self):
        self.lay_out("6.13.5-1", "6.13.5")
        self.refuses("6.13.5-1 is an untested driver (6.13.5)", "the edits of 6.12 fit", "--untested")

    def test_untested_driver_is_taken_with_the_option(self):
        self.lay_out("6.13.5-1", "6.13.5")
        _, ran = self.prepares("6.13.5-1", "--untested")
        self.assertIn("untested, with the edits of 6.12; install", ran.output)

    def test_known_driver_is_not_taken_for_another(self):
        self.lay_out("6.14.14-1", "6.14.14")
        self.refuses("amdgpu-dkms 6.14.14-1 does not fit", "has no ")

    @cases(
        ("package of another name", "dkms.conf", 'PACKAGE_NAME="amdgpu"', 'PACKAGE_NAME="other"', "not of a package amdgpu"),
        ("anchor that is gone is refused with edit, file and function", "amd/amdkfd/kfd_chardev.c", OPEN,
         "\tfile_own(filep, process);", "hooks.edits:", "amdkfd/kfd_chardev.c, kfd_open(): its anchor is there 0 times",
         "newer kfd-preempt"),
        ("anchor that is double", "amd/amdkfd/kfd_chardev.c", OPEN, r"\g<0>\n\g<0>", "kfd_open(): its anchor is there 2 times"),
        ("function that ours rely on is gone", "amd/amdkfd/kfd_device_queue_manager.c", r"\bexecute_queues_cpsch\b",
         "run_queues_cpsch", "kfd_device_queue_manager.c has no execute_queues_cpsch()"),
    )
    def changed(self, file, pattern, replacement, *texts):
        self.change(self.lay_out(DEB) / file, pattern, replacement)
        self.refuses(*texts)

    def test_unknown_driver_that_does_not_fit_is_refused_with_the_function(self):
        file = self.lay_out("6.13.5-1", "6.13.5") / "amd/amdkfd/kfd_device_queue_manager.c"
        self.change(file, r"\bexecute_queues_cpsch\b", "run_queues_cpsch")
        ran = self.prepare("--untested")
        self.assertEqual(ran.status, 1, ran)
        self.assertIn("6.13.5-1 is a driver that is not known (6.13.5)", ran.output)
        self.assertIn("kfd_device_queue_manager.c has no execute_queues_cpsch()", ran.output)

    def test_directory_that_is_no_amdgpu_dkms(self):
        directory = self.lay_out(DEB)
        (directory / "dkms.conf").unlink()
        ran = self.prepare(directory)
        self.assertEqual(ran.status, 1, ran)
        self.assertIn("has no dkms.conf", ran.output)

    def test_missing_headers(self):
        self.lay_out(DEB)
        self.makefile.unlink()
        self.refuses(f"there are no headers of kernel {RELEASE}", "install")

    def test_source_that_has_our_files(self):
        self.write(self.lay_out(DEB) / "amd/amdkfd/kfd_preempt.c")
        self.refuses("files of kfd-preempt already")

    def test_secure_boot_without_an_enrolled_key(self):
        self.lay_out(DEB)
        self.secure_boot(True, "is not enrolled")
        self.refuses("Secure Boot is on")

    def test_in_an_image_the_only_kernel_is_taken(self):
        """There the running kernel is that of the host."""
        self.lay_out(DEB)
        self.assertRegex(self.prepare(release=()).output, rf"(?m)-k {RELEASE}$")

    def test_one_of_several_kernels_in_an_image_has_to_be_named(self):
        self.lay_out(DEB)
        (self.modules / "6.12.1-other/build").mkdir(parents=True)
        self.refuses("several kernels", RELEASE, "6.12.1-other", "--kernel", release=())


class Dkms(RocmTest):
    def dkms(self, *words):
        trees = ("--dkmstree", self.tree, "--sourcetree", self.sources, "--installtree", self.modules)
        return self.ran("dkms", *words, *trees, "--no-depmod")

    def test_dkms_replaces_amds_module_and_brings_it_back(self):
        release = installed_kernel()
        name = f"kfd-preempt-rocm/{OURS}+{DEB}"
        pre_build = self.work / "pre-build-ran"
        self.environment["PRE_BUILD_RAN"] = str(pre_build)
        self.link_headers(release)
        self.lay_out(DEB)
        installed = self.dkms("install", f"amdgpu/{DEB}", "-k", release)
        self.assertEqual(installed.status, 0, installed)
        (module,) = (self.modules / release / "updates/dkms").glob("amdgpu.ko*")
        amds = shutil.copy(module, self.work)
        self.assertEqual(self.modinfo(release, "kfd_preempt"), "")
        self.succeeds(REPO / "kernel/prepare-rocm", "--kernel", release)
        self.dkms("install", name, "-k", release)
        self.assertEqual(self.modinfo(release, "kfd_preempt"), "", "replaced without --force")
        forced = self.dkms("install", "--force", name, "-k", release)
        self.assertEqual(forced.status, 0, forced)
        self.assertEqual(self.modinfo(release, "kfd_preempt"), f"{OURS} rocm-{DEB}")
        self.assertEqual(pre_build.read_text().split(), [release, release], "AMD's PRE_BUILD runs for both")
        removed = self.dkms("remove", name, "--all")
        self.assertEqual(removed.status, 0, removed)
        self.assertTrue(filecmp.cmp(amds, module, shallow=False), "AMD's module is not back")
        status = self.ran("dkms", "status", "--dkmstree", self.tree, "--installtree", self.modules)
        self.assertRegex(status.stdout, f"amdgpu/{DEB}.*installed")
