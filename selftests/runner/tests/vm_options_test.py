# SPDX-License-Identifier: MIT
"""Wrong input to the scripts of selftests/vm: a message names it, with the right status. Boots nothing."""

import os
import subprocess
import tempfile
import unittest
from pathlib import Path

from runner.paths import VM


class Input(unittest.TestCase):
    def setUp(self):
        self.work = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def refused(self, status: int, text: str, *words: object, script: str = "run", **environment: str):
        with self.subTest(words=words, **environment):
            ran = subprocess.run(
                [VM / script, *map(str, words)],
                capture_output=True,
                stdin=subprocess.DEVNULL,
                text=True,
                check=False,
                env={**os.environ, **environment},
            )
            self.assertEqual(ran.returncode, status, ran.stderr)
            self.assertIn(text, ran.stderr)
            self.assertEqual(ran.stdout, "")

    def test_commands(self):
        self.refused(64, "no command")
        self.refused(64, "no command", "--no-gpu", "--")
        self.refused(64, "'true'", "true")

    def test_options(self):
        self.refused(64, "'--device'", "--device", "--", "true")
        self.refused(64, "'--no_gpu'", "--no_gpu", "--", "true")
        self.refused(64, "'--command'", "--command", "--", "true")
        self.refused(64, "'--with_'", "--with_", "x", "--", "true")
        self.refused(64, "--timeout needs a value", "--timeout")
        self.refused(64, "--timeout soon", "--timeout", "soon", "--", "true")
        self.refused(64, "--timeout 0", "--timeout", "0", "--", "true")
        self.refused(64, "--expect-exit 256", "--expect-exit", "256", "--", "true")
        self.refused(64, "--cpus 5", "--cpus", "5", "--", "true")
        self.refused(64, "--xccs 3", "--xccs", "3", "--", "true")
        self.refused(64, "--gpu mi50", "--gpu", "mi50", "--", "true")
        self.refused(64, "a mi250 has one", "--gpu", "mi250", "--xccs", "4", "--", "true")
        self.refused(64, "--gpus 9", "--gpus", "9", "--", "true")
        self.refused(64, "--mec new", "--mec", "new", "--", "true")
        self.refused(64, "--mec 0", "--mec", "0", "--", "true")
        self.refused(64, "--vram 3", "--vram", "3", "--", "true")
        self.refused(64, "--memory 1", "--memory", "1", "--", "true")
        self.refused(64, "--schedule soon", "--schedule", "soon", "--", "true")

    def test_parameters(self):
        self.refused(64, "--param sched_policy", "--param", "sched_policy", "--", "true")
        self.refused(64, "--param a=b;reboot", "--param", "a=b;reboot", "--", "true")

    def test_regular_expressions(self):
        self.refused(64, "--allow-dmesg (", "--allow-dmesg", "(", "--", "true")
        self.refused(64, "--allow-dmesg", "--allow-dmesg", "", "--", "true")

    def test_combinations(self):
        self.refused(64, "--icount", "--icount", "--cpus", "2", "--", "true")
        self.refused(64, "not atomic", "--icount", "--rocm", "--", "true")
        self.refused(64, "--no-gpu", "--no-gpu", "--gpus", "2", "--", "true")
        self.refused(64, "--no-gpu", "--no-gpu", "--fault", "lost-fence", "--", "true")

    def test_files(self):
        none, module = self.work / "none", self.work / "amdgpu.ko"
        module.write_text("not a module")
        self.refused(64, f"{none}.ko", "--module", f"{none}.ko", "--", "true")
        self.refused(64, str(module), "--module", module, "--", "true")
        self.refused(64, str(none), "--add", none, "--", "true")
        self.refused(125, f"{none}/guest", "--no-build", "--", "true", BUILD_DIR=str(none))
        self.refused(125, f"{module}/logs", "--no-build", "--out", f"{module}/logs", "--", "true")

    def test_installed_systems(self):
        system = self.work / "system"
        self.refused(64, f"{system}: has no readable vmlinuz", "--system", system, "--", "true")
        system.mkdir()
        for name in ("vmlinuz", "initrd", "root.ext4"):
            (system / name).touch()
        self.refused(64, "drop --module", "--system", system, "--module", "stock", "--", "true")
        self.refused(64, "--keep-changes is of --system", "--keep-changes", "--", "true")
        self.refused(64, "drop --param", "--system", system, "--param", "a=b", "--", "true")
        self.refused(64, "drop --module, --kernel", "--system", system, "--kernel", self.work, "--", "true")

    def test_kernels(self):
        kernel = self.work / "kernel"
        self.refused(64, f"{kernel}: has no readable vmlinuz", "--kernel", kernel, "--", "true")
        modules = kernel / "lib/modules/6.6.6"
        modules.mkdir(parents=True)
        (kernel / "vmlinuz").touch()
        self.refused(64, f"depmod -b {kernel} 6.6.6", "--kernel", kernel, "--", "true")
        (modules / "modules.dep").touch()
        self.refused(64, "no amdgpu.ko", "--kernel", kernel, "--", "true")

    def test_programs_beside_it(self):
        self.refused(1, "QEMU=no-such-qemu", "--version", script="qemu", QEMU="no-such-qemu")
        self.refused(1, "vfio-user-pci", "--version", script="qemu", QEMU="true")
        self.refused(64, "nor a stage: 'kernel'", "kernel", script="build")
        self.refused(64, "no command", script="in-rocm")
        self.refused(64, "takes no argument", "trixie", script="rocm-root")
        self.refused(64, "ROCM_SUITE=trixie", script="rocm-root", ROCM_SUITE="trixie")
