# SPDX-License-Identifier: MIT
"""The rpm package of ROCm's driver, with a made-up amdgpu-dkms and a made-up dkms; no driver is built."""

from busybox_root import VERSION, PackageTest

KERNEL = "5.10.134-18.al8.x86_64"
NAME = "kfd-preempt-rocm-dkms"
# DKMS has installed it for the kernel, as far as its files show.
SPEC = """
Name: amdgpu-dkms
Version: {version}
Release: 1
Summary: made up
License: MIT
BuildArch: noarch
%description
Made up.
%install
mkdir -p %{{buildroot}}/usr/src/amdgpu-{version} %{{buildroot}}/var/lib/dkms/amdgpu/{version}/{kernel}/x86_64
echo 'PACKAGE_NAME="amdgpu"' >%{{buildroot}}/usr/src/amdgpu-{version}/dkms.conf
ln -s {version}/{kernel}/x86_64 %{{buildroot}}/var/lib/dkms/amdgpu/kernel-{kernel}-x86_64
%files
/usr/src/amdgpu-{version}
/var/lib/dkms/amdgpu
"""
OLD, NEW = "6.12.12", "6.12.13"
# dkms removes no entry without its link, and installs AMD's driver for one kernel only.
DKMS = f"""
case "$*" in
remove*) exit 4 ;;
'install --force -m amdgpu -v {NEW} -k {KERNEL}') echo AMD >/lib/modules/{KERNEL}/extra/amdgpu.ko.xz ;;
*) exit 1 ;;
esac
"""


class RocmTest(PackageTest):
    PACKAGE = NAME

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.amdgpu = {}

    def setUp(self):
        super().setUp()
        (self.root / "lib/modules" / KERNEL).mkdir(parents=True)
        self.command_of_root("dkms", "")

    def amdgpu_dkms(self, version):
        """The package of a version."""
        if version not in self.amdgpu:
            topdir = self.built / f"amdgpu-{version}"
            spec = self.write(topdir / "spec", SPEC.format(version=version, kernel=KERNEL))
            self.succeeds("rpmbuild", "-bb", "--quiet", "--define", f"_topdir {topdir}", spec)
            (self.amdgpu[version],) = topdir.glob("RPMS/noarch/*.rpm")
        return self.amdgpu[version]

    def assert_hook_ran(self, ran, version):
        """kernel-hook builds nothing, for it finds no driver of AMD's."""
        self.assertIn(f"kfd-preempt: not built for {KERNEL} (/usr/src/amdgpu-{version} is not the source", ran.output)


class Install(RocmTest):
    def test_rpmlint_finds_nothing(self):
        self.assert_rpmlint_finds_nothing(NAME)

    def test_package_has_the_hooks_and_the_manual_page_of_the_ioctls(self):
        self.rpm("-i", self.package(NAME))
        hooks = [f"usr/src/kfd-preempt-{VERSION}/kernel/kernel-hook", "usr/lib/kernel/install.d/45-kfd-preempt.install"]
        self.assertEqual([hook for hook in hooks if not (self.root / hook).stat().st_mode & 0o111], [])
        self.assertEqual(len([*self.root.glob("usr/share/man/man4/kfd_preempt.4*")]), 1)

    def test_triggers_run_the_hook_when_amdgpu_dkms_comes_and_changes(self):
        self.rpm("-i", self.package(NAME))
        self.assert_hook_ran(self.rpm("-i", self.amdgpu_dkms(OLD)), OLD)
        self.assert_hook_ran(self.rpm("-U", self.amdgpu_dkms(NEW)), NEW)

    def test_package_that_comes_after_amdgpu_dkms_runs_the_hook(self):
        self.rpm("-i", self.amdgpu_dkms(NEW))
        self.assert_hook_ran(self.rpm("-i", self.package(NAME)), NEW)


class Removal(RocmTest):
    """It was built for two kernels, whose initramfs has it, and not for another. The disk is full for the second.

    The site has the entries of DKMS elsewhere, and the link of this one is gone.
    """

    def setUp(self):
        super().setUp()
        self.rpm("-i", self.package(NAME), self.amdgpu_dkms(NEW))
        ours = f"{VERSION}+{NEW}"
        (self.root / f"usr/src/kfd-preempt-rocm-{ours}").mkdir()
        self.write(self.root / "etc/dkms/framework.conf", "dkms_tree=/srv/dkms\n")
        entries = self.root / "srv/dkms/kfd-preempt-rocm"
        (entries / ours).mkdir(parents=True)
        for release in (KERNEL, "full", "other"):
            self.write(self.root / f"boot/initramfs-{release}.img")
        for release in (KERNEL, "full"):
            (entries / f"kernel-{release}-x86_64").symlink_to(f"{ours}/{release}/x86_64")
            self.write(self.driver(release), "ours\n")
        self.command_of_root("dkms", DKMS)
        self.command_of_root("lsinitrd", "echo usr/lib/modules/x/amdgpu.ko.xz")
        self.command_of_root("dracut", '[ "$3" != full ] || { echo no space >&2; exit 1; }')
        self.write(self.root / "calls")
        self.removed = self.rpm("-e", NAME).output

    def driver(self, release):
        return self.root / f"lib/modules/{release}/extra/amdgpu.ko.xz"

    def test_DKMS_is_asked_once_to_remove_it_and_has_no_link_to_it(self):
        removals = [call for call in self.calls() if call.startswith("dkms remove")]
        self.assertEqual(removals, [f"dkms remove -m kfd-preempt-rocm -v {VERSION}+{NEW} --all"])
        made = [call for call in self.calls() if call.startswith("dracut")]
        self.assertLess(self.calls().index(removals[0]), self.calls().index(made[0]), "before an initramfs is made")
        self.assertEqual([path for path in (self.root / "srv/dkms").rglob("*") if path.is_symlink()], [])

    def test_driver_of_AMD_is_back(self):
        self.assertEqual(self.driver(KERNEL).read_text(), "AMD\n")

    def test_each_initramfs_that_had_it_is_made_again(self):
        made = {call for call in self.calls() if call.startswith("dracut")}
        self.assertEqual(made, {f"dracut --force --kver {release}" for release in (KERNEL, "full")})

    def test_initramfs_that_was_not_made_again_is_named_with_the_command_and_the_reason(self):
        self.assertIn("/boot/initramfs-full.img was not made again", self.removed)
        self.assertIn("run: dracut --force --kver full", self.removed)
        self.assertRegex(self.removed, "(?m)^no space$")
        self.assertNotIn(f"{KERNEL}.img", self.removed)

    def test_no_file_is_left(self):
        self.assert_no_file_left()
