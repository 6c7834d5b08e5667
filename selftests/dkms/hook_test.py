# SPDX-License-Identifier: MIT
"""The hook that builds for new kernels exits 0 whatever happens, and reports in one line why a kernel keeps its stock amdgpu.

The real hook, kernel-hook and prepare, in a made-up root with made-up commands dkms, modinfo and update-initramfs.
selftests/packages/test-upgrade has the real ones.
"""

import shutil
import subprocess
import tarfile
import tempfile

from fixture import AMD, RELEASE, SOURCE_PACKAGE, VERSION, MachineTest
from runner.paths import REPO
from runner.testing.commands import cases

# As far as the hook uses it. FAIL: a step that goes wrong. $WORK/status is what it has done.
DKMS = r"""#!/bin/bash
echo "dkms $*" >> "$WORK/calls"
verb=$1 kernel=${7:-}
case $verb in
status) cat "$WORK/status" ;;
uninstall) : > "$WORK/loads"; echo "kfd-preempt/$VERSION, $kernel, x86_64: built" > "$WORK/status" ;;
install)
	[ "$FAIL" != killed ] || kill -9 $$
	if ! grep -q ": built" "$WORK/status"; then
		[[ $kernel =~ ^(6\.12|7\.2)\. ]] || { echo "Error! BUILD_EXCLUSIVE"; exit 77; }
		build=$KFD_PREEMPT_ROOT/var/lib/dkms/kfd-preempt/$VERSION/build
		mkdir -p "${build%/*}" && cp -r "$KFD_PREEMPT_ROOT/usr/src/kfd-preempt-$VERSION" "$build" && cd "$build"
		kernel/prepare "$kernel" "$KFD_PREEMPT_ROOT/lib/modules/$kernel/build" || { echo "Error! make"; exit 10; }
		[ "$FAIL" != compile ] || { echo "Error! make"; exit 10; }
		rm -r "$build"
	fi
	[ "$FAIL" = copy ] || echo "$VERSION linux-6.12" > "$WORK/loads"
	echo "kfd-preempt/$VERSION, $kernel, x86_64: installed" > "$WORK/status" ;;
esac
"""


class HookTest(MachineTest):
    """A root with one kernel and its headers, our source, a series without edits and the linux-source of it."""

    @classmethod
    def setUpClass(cls):
        cls.installed = cls.enterClassContext(tempfile.TemporaryDirectory())
        cls.ours = subprocess.run([REPO / "ci/version"], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
        subprocess.run(["make", "-s", "-C", REPO / "kernel", "install-source", f"DESTDIR={cls.installed}"], check=True)

    def test_header_of_the_ioctls_is_installed(self):
        self.assertEqual((self.root / "usr/include/kfd_preempt.h").read_text(), (REPO / "uapi/kfd_preempt.h").read_text())

    def setUp(self):
        super().setUp()
        self.root = shutil.copytree(self.installed, self.work / "root", symlinks=True)
        self.source = self.root / f"usr/src/kfd-preempt-{self.ours}"
        self.series = self.source / "kernel/amdkfd-patches/linux-6.12"
        self.modules = self.root / "lib/modules"
        self.build = self.root / f"var/lib/dkms/kfd-preempt/{self.ours}/build"
        self.initramfs = self.root / f"boot/initrd.img-{RELEASE}"
        self.environment |= {"VERSION": self.ours, "KFD_PREEMPT_ROOT": str(self.root), "WORK": str(self.work), "FAIL": ""}
        self.fake_command("dkms", DKMS)
        self.fake_command("modinfo", 'cat "$WORK/loads"')
        self.fake_command("update-initramfs", 'echo "update-initramfs $*" >> "$WORK/calls"')
        self.fake_command("lsinitramfs", 'cat "$1"')
        shutil.rmtree(self.series)
        self.write(self.series / "base", f"version {VERSION}\n")
        self.write(f"linux/{AMD}/amdkfd/kfd.c", "one\n")
        with tarfile.open(self.tarball, "w:xz", preset=0) as archive:
            archive.add(self.work / "linux", "linux")
        self.install({SOURCE_PACKAGE: VERSION})
        self.add_kernel(RELEASE, VERSION)
        self.calls, self.loads, self.status = self.write("calls"), self.write("loads"), self.write("status")
        self.status.write_text(f"kfd-preempt/{self.ours}: added\n")

    def add_kernel(self, release, version):
        self.add_headers(self.modules / release / "build", f"Debian {version}")
        self.write(self.modules / release / "build/.config", "CONFIG_HSA_AMD=y\nCONFIG_DRM_AMDGPU=m\n")

    def hook(self, *words, kind="postinst", **env):
        """Runs the hook; it never fails."""
        return self.succeeds(self.root / f"etc/kernel/{kind}.d/dkms-kfd-preempt", *words, env=env)

    def loads_ours(self):
        return self.loads.read_text() != ""

    def builds(self, **options):
        ran = self.hook(RELEASE, "/boot/vmlinuz", **options)
        self.assertTrue(self.loads_ours(), ran)
        return ran

    def keeps_stock(self, *texts, release=RELEASE, **env):
        """Fails unless the hook prints nothing but one line that has every text, and the stock amdgpu is loaded."""
        ran = self.hook(release, "/boot/vmlinuz", **env)
        self.assertRegex(ran.stderr, rf"\Akfd-preempt: not built for {self.escaped(release)} \(.*\); the stock amdgpu stays\n\Z")
        for text in texts:
            self.assertIn(text, ran.stderr)
        self.assertEqual(ran.stdout, "")
        self.assertFalse(self.loads_ours())

    @staticmethod
    def escaped(release):
        return release.replace("+", r"\+").replace(".", r"\.")

    def stays_quiet(self):
        """Fails unless the hook prints nothing and makes dkms build nothing."""
        self.calls.write_text("")
        ran = self.hook(RELEASE, "/boot/vmlinuz")
        self.assertEqual(ran.output, "", ran)
        self.assertNotIn("dkms install", self.calls.read_text())


class Builds(HookTest):
    def test_run_parts_runs_it_after_dkms_and_before_initramfs_tools(self):
        for name in "dkms", "initramfs-tools", "zz-update-grub":
            self.write(self.root / "etc/kernel/postinst.d" / name, "#!/bin/sh\n", 0o755)
        order = {}
        for kind in "postinst", "header_postinst":
            listed = self.succeeds("run-parts", "--list", self.root / f"etc/kernel/{kind}.d").stdout.split()
            order[kind] = [path.rpartition("/")[2] for path in listed]
        self.assertEqual(order["postinst"], ["dkms", "dkms-kfd-preempt", "initramfs-tools", "zz-update-grub"])
        self.assertEqual(order["header_postinst"], ["dkms-kfd-preempt"])

    def test_dkms_autoinstall_leaves_the_module_alone(self):
        self.assertNotRegex((REPO / "dkms.conf").read_text(), r'(?m)^AUTOINSTALL="[^"]')

    def test_supported_kernel_gets_the_module_and_initramfs_tools_make_the_initramfs(self):
        ran = self.builds()
        self.assertIn(f"building amdgpu for {RELEASE}", ran.stderr)
        self.assertIn(f"installed amdgpu for {RELEASE}", ran.stderr)
        self.assertNotIn("update-initramfs", self.calls.read_text())

    def test_installed_module_is_not_built_again(self):
        self.builds()
        self.stays_quiet()

    def test_built_module_is_only_installed(self):
        self.status.write_text(f"kfd-preempt/{self.ours}, {RELEASE}, x86_64: built\n")
        self.builds(FAIL="compile")

    def test_headers_after_their_image_update_its_initramfs(self):
        self.write(self.initramfs, f"kernel/{AMD}/amdgpu/amdgpu.ko\n")
        self.hook(RELEASE, kind="header_postinst")
        self.assertIn(f"update-initramfs -u -k {RELEASE}", self.calls.read_text().splitlines())

    def test_initramfs_of_dracut_is_made_again_on_rhel_and_on_sles(self):
        self.fake_command("lsinitrd", 'cat "$1"')
        self.fake_command("dracut", 'echo "dracut $*" >> "$WORK/calls"')
        for name in f"initramfs-{RELEASE}.img", f"initrd-{RELEASE}":
            with self.subTest(name):
                self.calls.write_text("")
                self.loads.write_text("")
                self.status.write_text(f"kfd-preempt/{self.ours}: added\n")
                made = self.write(self.root / "boot" / name, f"kernel/{AMD}/amdgpu/amdgpu.ko\n")
                self.hook(RELEASE, kind="header_postinst")
                self.assertEqual(self.calls.read_text().count(f"dracut --force --kver {RELEASE}\n"), 1)
                made.unlink()

    def test_initramfs_without_amdgpu_is_left_alone(self):
        self.write(self.initramfs, "kernel/drivers/gpu/drm/i915/i915.ko\n")
        self.hook(RELEASE, kind="header_postinst")
        self.assertNotIn("update-initramfs", self.calls.read_text())

    def test_source_of_the_build_is_kept_and_that_of_a_removed_kernel_is_not(self):
        kept = self.root / "var/lib/kfd-preempt/source"
        ours = kept / f"{SOURCE_PACKAGE}_{VERSION}.tar.xz"
        self.builds()
        self.assertGreater(ours.stat().st_size, 0)
        self.write(kept / f"{SOURCE_PACKAGE}_6.12.116-1.tar.xz")
        self.hook(RELEASE, "/boot/vmlinuz")
        self.assertEqual(list(kept.iterdir()), [ours])

    def test_kernel_hook_without_arguments_builds_for_all_kernels(self):
        ran = self.succeeds(self.source / "kernel/kernel-hook")
        self.assertTrue(self.loads_ours(), ran)


class KeepsStock(HookTest):
    def test_unsupported_kernel_keeps_the_stock_driver(self):
        release = "6.16.3+deb13-amd64"
        self.add_kernel(release, "6.16.3-1")
        ran = self.hook(release, "/boot/vmlinuz")
        line = f"kfd-preempt: not built for {release} (kernel not supported); the stock amdgpu stays\n"
        self.assertEqual((ran.stdout, ran.stderr), ("", line))
        self.assertFalse(self.loads_ours())

    def test_kernel_without_amdgpu(self):
        release = "6.16.3+deb13-amd64"
        self.add_kernel(release, "6.16.3-1")
        self.write(self.modules / release / "build/.config")
        self.keeps_stock("kernel without amdgpu", release=release)

    def test_linux_6_1_is_named_with_the_kernels_that_support_debian_12(self):
        release = "6.1.0-43-amd64"
        self.add_kernel(release, "6.1.192-2")
        self.keeps_stock("6.1 is not supported", "amdgpu-dkms", "linux-image-6.12-amd64", release=release)

    def test_missing_headers_are_named(self):
        shutil.rmtree(self.modules / RELEASE / "build")
        self.keeps_stock(f"apt-get install linux-headers-{RELEASE}")

    def test_linux_source_that_is_behind_is_named_with_the_right_version(self):
        self.add_kernel(RELEASE, "6.12.118-1")
        self.keeps_stock(f"apt-get install {SOURCE_PACKAGE}=6.12.118-1")

    def test_missing_linux_source_is_named(self):
        self.install({})
        self.keeps_stock(f"apt-get install {SOURCE_PACKAGE}={VERSION}")

    def test_edit_that_does_not_fit_is_named_and_no_unpacked_source_is_left(self):
        self.write(self.series / "base", f"version {VERSION}\nedits one\n")
        self.write(self.series.parent / "edits/one.edits", "@ amdkfd/kfd.c *\n-two\n+2\n")
        self.keeps_stock("one.edits")
        self.assertFalse((self.build / "tree").exists())

    def test_secure_boot_without_an_enrolled_key(self):
        self.secure_boot(True, "is not enrolled")
        self.keeps_stock("mokutil --import")


class Failures(HookTest):
    @cases(*((f"dkms goes wrong ({step}): one reason, and the stock driver stays", step) for step in ("compile", "killed", "copy")))
    def goes_wrong(self, step):
        ran = self.hook(RELEASE, "/boot/vmlinuz", FAIL=step)
        self.assertEqual(ran.stderr.count(f"not built for {RELEASE}"), 1, ran)
        self.assertFalse(self.loads_ours())
        self.assertFalse((self.build / "tree").exists())
        if step == "copy":
            built = f"kfd-preempt/{self.ours}, {RELEASE}, x86_64: built\n"
            self.assertEqual(self.status.read_text(), built, "a module that cannot be read is not taken back")

    def test_damaged_kernel_hook_fails_nothing(self):
        self.write(self.source / "kernel/kernel-hook", "echo cut off; exit 7 ((\n")
        self.hook(RELEASE, "/boot/vmlinuz")

    def test_no_place_for_temporary_files_fails_nothing(self):
        self.hook(RELEASE, "/boot/vmlinuz", TMPDIR=self.work / "none")

    def test_no_argument_fails_nothing(self):
        self.hook()

    def test_hook_of_a_removed_package_is_quiet(self):
        shutil.rmtree(self.source)
        self.stays_quiet()

    def test_module_that_dkms_does_not_know(self):
        self.status.write_text("")
        self.stays_quiet()

    def test_no_autoinstall_of_dkms_is_obeyed(self):
        self.write(self.root / "etc/dkms/no-autoinstall")
        self.stays_quiet()

    def test_machine_without_dkms(self):
        tools = self.work / "tools"
        tools.mkdir()
        for name in "sh", "sed", "dirname":
            (tools / name).symlink_to(shutil.which(name))
        path = self.source / "kernel/kernel-hook"
        lines = path.read_text().splitlines()
        path.write_text("\n".join(f"PATH={tools}" if line.startswith("PATH=") else line for line in lines) + "\n")
        self.stays_quiet()
