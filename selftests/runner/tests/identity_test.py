# SPDX-License-Identifier: MIT
"""The identity of a boot has everything that the guest is given, and nothing else."""

import os
import tempfile
import unittest
from dataclasses import fields, replace
from pathlib import Path
from unittest import mock

from runner import boots, identity
from runner.boots import Boot
from runner.digests import Digests
from runner.identity import NotKept
from runner.paths import REPO
from runner.vm import options
from runner.vm.machine import Machine
from runner.vm.options import Options
from runner.vm.tree import Build

from fake_guest import FakeGuest, module

JUDGED = "the kept output is judged anew"
# Options whose value may differ between a kept run and one that takes its output, with the reason.
SAME_OPTIONS = {
    "allow_dmesg": JUDGED,
    "allow_unmodelled": JUDGED,
    "expect_exit": JUDGED,
    "out": "the directory of the logs",
    "no_build": "the booted files count, not the time of their build",
    "kernel": "the files of the directory count, not its name",
}
REFUSED = {"system", "keep_changes"}
SAME_BOOTS = {"name": "the log is named by it", "allow_dmesg": JUDGED, "check": JUDGED, "must_fail": JUDGED, "slice": "it chooses commands, which are in the identity"}


class Identities(unittest.TestCase):
    def setUp(self):
        self.directory = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.guest = FakeGuest(self.directory)
        self.enterContext(mock.patch.dict(os.environ, self.guest.environment))
        self.status = self.directory / "dpkg"
        self.enterContext(mock.patch.object(identity, "DPKG_STATUS", self.status / "status"))
        self.install("1.0")
        self.other = self.directory / "other"
        self.guest.executable(self.other, "#!/bin/sh\necho 'ok 1 - other'\n")

    def install(self, version: str) -> None:
        self.status.mkdir(exist_ok=True)
        lines = ["Package: a", "Status: install ok installed", "Architecture: all", f"Version: {version}", ""]
        (self.status / "status").write_text("\n".join(lines))

    def machine(self, chosen: Options) -> Machine:
        out = self.directory / "out"
        out.mkdir(exist_ok=True)
        machine = Machine(chosen, Build(chosen), out)
        self.addCleanup(machine.close)
        machine.prepare()
        return machine

    def of(self, **values) -> str:
        given = {"add": [str(self.guest.program)], "command": "one", **values}
        return str(identity.of_boot(self.machine(Options(**given)), Digests()))

    def test_the_same_inputs_have_the_same_identity(self):
        self.assertEqual(self.of(), self.of())

    def test_the_options_of_qemu_are_those_that_it_starts_with(self):
        machine = self.machine(Options(command="one", gpus="8"))
        before = machine.qemu_options()
        self.assertEqual(sum("vfio-user-pci" in word for word in before), 8)
        self.enterContext(mock.patch.object(Machine, "qemu_program", lambda machine: ["qemu"]))
        machine.gpus = dict.fromkeys(machine.gpu_names())
        with (machine.out / "output.log").open("wb") as output, mock.patch("subprocess.Popen") as started:
            machine.start_qemu(output)
        self.addCleanup(setattr, machine, "qemu", None)
        self.assertEqual(started.call_args.args[0][-len(before) :], before)

    def test_every_option(self):
        values = {
            **{"param": ["a=1"], "kernel_param": ["quiet"], "fault": ["lost-fence"], "vgpu": ["--slot-seed=7"]},
            **{"add": [str(self.other)], "module": "stock", "cpus": "2", "gpu": "mi250", "xccs": "4", "gpus": "8"},
            **{"mec": "184", "vram": "2", "memory": "3", "schedule": "7", "timeout": "601", "no_gpu": True},
            **{"rocm": True, "function_tracer": True, "icount": True, "command": "two"},
            **{"named": True, "with_": ["one"]},
        }
        before = self.of()
        for field in fields(Options):
            with self.subTest(field.name):
                if field.name in REFUSED | SAME_OPTIONS.keys():
                    continue
                self.assertNotEqual(self.of(**{field.name: values[field.name]}), before)

    def test_options_that_are_judged_anew(self):
        before = self.of()
        self.assertEqual(self.of(allow_dmesg=["x"], allow_unmodelled=True, expect_exit="3", no_build=True), before)

    def test_an_installed_system_is_refused(self):
        for name in ("vmlinuz", "initrd", "root.ext4"):
            (self.directory / name).touch()
        for more in ({}, {"keep_changes": True}):
            with self.subTest(more), self.assertRaises(NotKept):
                self.of(system=str(self.directory), **more)

    def test_every_field_of_a_boot(self):
        names = ("param", "kernel_param", "fault", "vgpu", "schedule", "add", "vram", "memory", "xccs", "gpus", "mec", "cpus", "with_")
        lists = dict(zip(names, (["a=1"], ["quiet"], ["x"], ["--slot-seed=7"], [7], [str(self.other)], [2], [3], [4], [2], [184], [2], ["other"])))
        compiled = self.guest.build / "rocm-forky/xpreempt"
        compiled.mkdir(parents=True)
        self.guest.executable(compiled / "mapping", "#!/bin/sh\n")
        (self.guest.build / "libxpreempt").mkdir()
        for library in ("libxpreempt.so.0", "libxpreempt-hook.so"):
            (self.guest.build / "libxpreempt" / library).write_text(library)
        values = {
            **lists,
            **{"prelude": ["x=1"], "run": ["two"], "programs": ["mapping"], "module": "stock", "rocm": True},
            **{"function_tracer": True, "icount": True, "gpu": "mi250", "timeout": 1201},
        }
        plain = replace(boots.empty("a"), run=["one"])
        before = self.of_table(plain)
        for field in fields(Boot):
            with self.subTest(field.name):
                if field.name not in SAME_BOOTS:
                    self.assertNotEqual(self.of_table(replace(plain, **{field.name: values[field.name]})), before)
        same = replace(plain, name="b", allow_dmesg=["x"], check=["true"], must_fail=True)
        self.assertEqual(self.of_table(same), before)

    def of_table(self, boot: Boot) -> str:
        words = boots.command(boot, self.directory / "out", self.guest.build, [], "forky")
        return str(identity.of_boot(self.machine(options.parse(words[1:])), Digests()))

    def test_one_byte_of_each_file(self):
        rocm = {"rocm": True}
        guest, directory = self.guest.guest, self.directory
        library = directory / "qemu-lib"
        library.mkdir()
        (library / "libc.so").write_text("library")
        program = ["env", f"QEMU_MODULE_DIR={library}", str(directory / "qemu"), "-L", str(self.guest.firmware)]
        self.enterContext(mock.patch.object(Machine, "qemu_program", lambda machine: program))
        files = [
            *(self.guest.layers / f"{name}.cpio" for name in ("base", "one", "rocm")),
            *(guest / "kernel", guest / "rocm-forky.ext4", directory / "vgpu", directory / "qemu", library / "libc.so"),
            *(self.guest.firmware / "bios.bin", self.guest.program),
        ]
        for path in files:
            with self.subTest(path.name):
                before = self.of(**rocm)
                self.flip(path)
                self.assertNotEqual(self.of(**rocm), before)

    def test_another_module(self):
        before = self.of()
        self.assertNotEqual(self.of(module=str(self.guest.guest / "stock.ko")), before)
        module(self.guest.guest / "patched.ko", "ret")
        self.assertNotEqual(self.of(), before)

    @staticmethod
    def flip(path: Path) -> None:
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 1
        path.write_bytes(data)

    def test_firmware_of_a_chosen_qemu(self):
        before = self.of()
        self.flip(self.guest.firmware / "bios.bin")
        self.assertNotEqual(self.of(), before)

    def test_the_host_and_the_code_that_runs_the_guest(self):
        before = self.of()
        with mock.patch.object(identity, "cpu", lambda: ["flags : tm"]):
            self.assertNotEqual(self.of(), before)
        self.install("1.1")
        self.assertNotEqual(self.of(), before)
        before = self.of()
        with mock.patch("platform.release", lambda: "7.0"):
            self.assertNotEqual(self.of(), before)
        with mock.patch.object(identity, "FORMAT", 0):
            self.assertNotEqual(self.of(), before)
        runner = self.directory / "selftests/runner/vm"
        runner.mkdir(parents=True)
        (runner / "machine.py").write_bytes((REPO / "selftests/runner/vm/machine.py").read_bytes())
        with mock.patch.object(identity, "REPO", self.directory):
            old = self.of()
            self.flip(runner / "machine.py")
            self.assertNotEqual(self.of(), old)

    def test_the_environment(self):
        before = self.of()
        for name in ("SEED", "TSAN_OPTIONS"):
            with self.subTest(name), mock.patch.dict(os.environ, {name: "7"}):
                self.assertNotEqual(self.of(), before)
        with mock.patch.dict(os.environ, {"LD_PRELOAD_OF_QEMU": "7"}):
            self.assertEqual(self.of(), before)
            self.assertNotIn("LD_PRELOAD_OF_QEMU", Machine.environment())

    def test_another_place_of_the_build_is_the_same(self):
        before = self.of()
        other = self.directory / "elsewhere"
        os.rename(self.guest.build, other)
        (other / "guest/patched-module").write_text(f"{other}/guest/patched.ko\n")
        with mock.patch.dict(os.environ, {"BUILD_DIR": str(other)}):
            self.assertEqual(self.of(), before)

    def refused(self, *words: str):
        machine = self.machine(Options(command="one"))
        machine.qemu_options = lambda: [*Machine.qemu_options(machine), *words]
        with self.subTest(words), self.assertRaises(NotKept):
            identity.of_boot(machine, Digests())

    def test_what_a_guest_could_see_beside_its_files(self):
        self.refused("-netdev", "user,id=n")
        self.refused("-nic", "user")
        self.refused("-virtfs", "local,path=/tmp,mount_tag=t,security_model=none")
        self.refused("-fsdev", "local,id=f,path=/tmp")
        self.refused("-usbdevice", "tablet")
        self.refused("-hda", str(self.guest.program))
        self.refused("-device", "virtio-net-pci,netdev=n")
        self.refused("-device", '{"driver":"virtio-9p-pci"}')
        self.refused("-object", "memory-backend-file,id=ram,mem-path=/tmp/ram")
        self.refused("-chardev", "pipe,id=p,path=/tmp/p")
        self.refused("-drive", f"if=none,id=d,file={self.guest.program}")

    def test_a_file_that_is_not_named_by_its_whole_path(self):
        os.chdir(self.directory)
        self.addCleanup(os.chdir, REPO)
        self.refused("-drive", "if=none,readonly=on,file=one")
        self.refused("-drive", "if=none,readonly=on,file=build/guest/kernel")
        (self.directory / "a:b").touch()
        self.refused("-drive", f"if=none,readonly=on,file={self.directory}/a:b")

    def test_a_device_of_the_host(self):
        self.refused("-drive", "if=none,readonly=on,file=/dev/zero")

    def test_a_file_of_an_earlier_run(self):
        self.refused("-drive", f"if=none,readonly=on,file={self.directory}/out/disk")

    def test_a_file_that_is_added_to_a_drive_is_an_input(self):
        machine = self.machine(Options(command="one"))
        more = ["-drive", f"if=none,readonly=on,file={self.other}"]
        machine.qemu_options = lambda: [*Machine.qemu_options(machine), *more]
        before = str(identity.of_boot(machine, Digests()))
        self.flip(self.other)
        self.assertNotEqual(str(identity.of_boot(machine, Digests())), before)
