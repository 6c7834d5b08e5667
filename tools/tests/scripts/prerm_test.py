# SPDX-License-Identifier: MIT
"""The removal of the packages of the driver where entries of DKMS are broken, with a stub in the place of dkms."""

import shutil

from runner.paths import REPO
from runner.testing.commands import CommandTest, cases

OURS, ROCM = ("kfd-preempt", "1.0"), ("kfd-preempt-rocm", "1.0+6.12")


class Removal(CommandTest):
    def setUp(self):
        super().setUp()
        text = self.text()
        for place, ours in ("/usr/src/", "src/"), ("/var/lib/dkms", "dkms"), ("/etc/dkms/", "etc/"), ("/boot/", "boot/"), ("/lib/modules/", "modules/"):
            text = text.replace(place, f"{self.work}/{ours}")
        self.prerm = self.write("prerm", text)
        self.source = self.work / "src"
        self.use_tree("dkms")
        # remove -m MODULE -v VERSION --all: fails for an entry whose link does not lead to its source, as dkms does.
        self.fake_command("dkms", f"""
            [ "$1" = remove ] || exit 0
            entry={self.work}/$(cat {self.work}/tree)/$3/$5
            [ -d "$entry/source" ] || exit 4
            for link in "$entry"/../kernel-*; do
                case $(readlink "$link") in "$5"/*) rm "$link" ;; esac
            done
            rm -r "$entry" """)
        # The driver of AMD, which dkms installs in the place of ours, has another text than ours.
        self.fake_command("modinfo", 'sed -n "s/^kfd_preempt: //p" "$3"')
        self.fake_command("depmod", f'echo "depmod $*" >> {self.work}/renewed')
        # An initramfs is a list of its files here.
        self.fake_command("lsinitramfs", 'cat "$1"')
        self.fake_command("lsinitrd", 'cat "$1"')
        self.fake_command("update-initramfs", f'echo "$*" >> {self.work}/renewed')
        self.fake_command("dracut", f'echo "$*" >> {self.work}/renewed')

    def use_tree(self, name):
        self.write("tree", name)
        self.tree = self.work / name
        for directory in self.tree, self.source, self.work / "dkms", self.work / "etc/framework.conf.d":
            directory.mkdir(parents=True, exist_ok=True)

    def add(self, module, version):
        (self.source / f"{module}-{version}").mkdir()
        (self.tree / module / version).mkdir(parents=True)
        (self.tree / module / version / "source").symlink_to(self.source / f"{module}-{version}")

    def install_for(self, module, version, kernel, initramfs, content="kernel/drivers/gpu/drm/amd/amdgpu/amdgpu.ko\n"):
        """What DKMS has of a kernel that it installed a module for, the module, and the initramfs of that kernel."""
        self.write(f"modules/{kernel}/updates/dkms/amdgpu.ko", "kfd_preempt: 1.0\n")
        (self.tree / module / f"kernel-{kernel}-x86_64").symlink_to(f"{version}/{kernel}/x86_64")
        self.write(f"boot/{initramfs}", content)


class Prerm(Removal):
    """That of the Debian package."""

    def text(self):
        text = (REPO / "debian/kfd-preempt-dkms.prerm").read_text()
        return text.replace("#MODULE_VERSION#", "1.0").replace("#DEBHELPER#\n", "")

    def removes_all(self, verb="remove"):
        self.succeeds("sh", self.prerm, verb)
        self.assertEqual([*self.tree.iterdir(), *(self.work / "dkms").iterdir(), *self.source.glob("*rocm*")], [])

    def test_whole_entries_are_removed(self):
        self.add(*OURS)
        self.add(*ROCM)
        self.removes_all()

    @cases(
        *((f"{verb}: our entry without its source", verb, OURS, "src/kfd-preempt-1.0") for verb in ("remove", "upgrade")),
        *((f"{verb}: an entry for ROCm without its source", verb, ROCM, "src/kfd-preempt-rocm-1.0+6.12")
          for verb in ("remove", "upgrade")),
        *((f"{verb}: an entry for ROCm without its link", verb, ROCM, "dkms/kfd-preempt-rocm/1.0+6.12/source")
          for verb in ("remove", "upgrade")),
    )
    def broken(self, verb, entry, missing):
        self.add(*entry)
        path = self.work / missing
        (path.unlink if path.is_symlink() else path.rmdir)()
        self.removes_all(verb)

    @cases(
        ("a tree elsewhere", "framework.conf", "dkms_tree=\"$work/elsewhere\" # of the site", True),
        ("a tree elsewhere, the entries without their sources", "framework.conf.d/site.conf", "dkms_tree=$work/elsewhere", False),
    )
    def settled(self, file, text, has_sources):
        self.use_tree("elsewhere")
        self.write(f"etc/{file}", self.filled(text) + "\n")
        self.add(*OURS)
        self.add(*ROCM)
        if not has_sources:
            shutil.rmtree(self.source)
        self.removes_all()

    def test_a_configuration_that_is_no_shell_script(self):
        self.write("etc/framework.conf", "if (\n")
        self.add(*OURS)
        self.removes_all()

    def renewed(self, verb):
        self.write("renewed", "")
        self.removes_all(verb)
        return (self.work / "renewed").read_text().splitlines()

    def test_the_initramfs_of_each_kernel_loses_our_driver(self):
        """The trigger of initramfs-tools makes that of the newest kernel again, and no other."""
        self.add(*OURS)
        self.add(*ROCM)
        self.install_for(*OURS, "6.12.9+deb13-amd64", "initrd.img-6.12.9+deb13-amd64")
        self.install_for(*OURS, "6.12.10+deb13-amd64", "initrd.img-6.12.10+deb13-amd64", "usr/bin/sh\n")
        self.install_for(*ROCM, "6.8.0-9-generic", "initramfs-6.8.0-9-generic.img")
        self.assertEqual(self.renewed("remove"), ["-u -k 6.12.9+deb13-amd64", "--force --kver 6.8.0-9-generic"])

    def test_a_driver_whose_entry_is_broken_is_loaded_no_more(self):
        kernel = "6.12.9+deb13-amd64"
        for driver, stays in (("kfd_preempt: 1.0\n", False), ("of somebody else\n", True)):
            with self.subTest(driver):
                self.add(*OURS)
                self.install_for(*OURS, kernel, f"initrd.img-{kernel}")
                installed = self.write(f"modules/{kernel}/updates/dkms/amdgpu.ko", driver)
                (self.source / "kfd-preempt-1.0").rmdir()
                renewed = [f"-u -k {kernel}"]
                self.assertEqual(self.renewed("remove"), renewed if stays else [f"depmod {kernel}", *renewed])
                self.assertEqual(installed.exists(), stays)

    def test_the_driver_of_amd_comes_back_where_the_entry_of_ours_is_broken(self):
        kernel = "6.8.0-9-generic"
        self.add(*ROCM)
        self.install_for(*ROCM, kernel, f"initrd.img-{kernel}")
        installed = self.work / f"modules/{kernel}/updates/dkms/amdgpu.ko"
        self.fake_command("dkms", f"""
            [ "$1" != remove ] || exit 4
            [ "$*" = "install --force -m amdgpu -v 6.12 -k {kernel}" ] && echo AMD > {installed}""")
        self.assertEqual(self.renewed("remove"), [f"-u -k {kernel}"])
        self.assertEqual(installed.read_text(), "AMD\n")

    def test_an_upgrade_makes_no_initramfs_before_the_new_driver_is_there(self):
        self.add(*OURS)
        self.install_for(*OURS, "6.12.9+deb13-amd64", "initrd.img-6.12.9+deb13-amd64")
        self.assertEqual(self.renewed("upgrade"), [])

    def test_an_initramfs_that_cannot_be_made_keeps_no_package(self):
        self.add(*OURS)
        self.install_for(*OURS, "6.12.9+deb13-amd64", "initrd.img-6.12.9+deb13-amd64")
        self.fake_command("update-initramfs", "exit 1")
        ran = self.succeeds("sh", self.prerm, "remove")
        self.assertIn("update-initramfs -u -k 6.12.9+deb13-amd64", ran.stderr)

    def test_an_entry_of_another_version_is_left_alone(self):
        self.add("kfd-preempt", "0.9")
        self.succeeds("sh", self.prerm, "remove")
        self.assertTrue((self.tree / "kfd-preempt/0.9").is_dir())


class Preun(Removal):
    """That of the rpm package, which has the driver of ROCm only; rpm/rocm_dkms_test.py runs it in rpm."""

    def text(self):
        text = (REPO / "rpm/kfd-preempt-rocm-dkms.spec").read_text()
        return text.partition("%preun\n")[2].partition("%changelog\n")[0]

    @cases(
        ("rpm: the driver of AMD comes back where the entry of ours is broken", "AMD\n", "initramfs-{}.img"),
        ("rpm: a driver whose entry is broken is loaded no more", None, "initramfs-{}.img"),
        ("rpm: the initramfs of SLES loses our driver", "AMD\n", "initrd-{}"),
    )
    def broken(self, amd, initramfs):
        kernel = "6.1-1.el9"
        self.add(*ROCM)
        self.install_for(*ROCM, kernel, initramfs.format(kernel))
        installed = self.work / f"modules/{kernel}/updates/dkms/amdgpu.ko"
        self.fake_command("dkms", f"""
            [ "$*" = "install --force -m amdgpu -v 6.12 -k {kernel}" ] || exit 4
            {f"echo {amd.strip()} > {installed}" if amd else "exit 1"}""")
        self.succeeds("sh", self.prerm, "0")
        self.assertEqual(installed.read_text() if installed.exists() else None, amd)
        self.assertIn(f"--force --kver {kernel}", (self.work / "renewed").read_text())
        self.assertEqual([*self.tree.iterdir(), *self.source.iterdir()], [])

    def test_rpm_what_both_packages_do_is_the_same_text(self):
        def shared(path):
            text = (REPO / path).read_text().partition(" (prerm_test compares them): ")[2]
            return text.partition("# The end of what both have.\n")[0]
        self.assertTrue(shared("debian/kfd-preempt-dkms.prerm"))
        self.assertEqual(shared("debian/kfd-preempt-dkms.prerm"), shared("rpm/kfd-preempt-rocm-dkms.spec"))
