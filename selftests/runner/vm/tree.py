# SPDX-License-Identifier: MIT
"""What selftests/vm/build has made, and the initramfs of one run."""

import os
import shlex
import shutil
import subprocess
from hashlib import sha256
from pathlib import Path

from ..errors import Refusal
from ..paths import REPO, ROCM_SUITE, VM
from .options import IP_BLOCK_MASKS, PARAMETERS, Options


class Build:
    def __init__(self, options: Options):
        directory = Path(os.environ.get("BUILD_DIR") or REPO / "build/dev").absolute()
        self.guest = directory / "guest"
        self.vgpu = Path(os.environ.get("VGPU") or directory / "selftests/vgpu/vgpu")
        self.suite = ROCM_SUITE
        if options.kernel:
            kernel_release(Path(options.kernel))
            # A guest with another kernel must not replace the one with Debian's.
            key = sha256(f"{Path(options.kernel).resolve()}\n".encode()).hexdigest()[:8]
            self.guest = directory / f"guest-{key}"

    @property
    def rocm_image(self) -> Path:
        return self.guest / f"rocm-{self.suite}.ext4"

    def make(self, options: Options) -> None:
        words = ["--rocm"] if options.rocm else []
        words += ["--kernel", options.kernel] if options.kernel else []
        built = subprocess.run([VM / "build", *words], check=False)
        if built.returncode:
            raise SystemExit(built.returncode)

    def initrd(self, options: Options, work: Path) -> None:
        """The layers of the build, and one of this run; writes work/initrd."""
        tree = work / "tree"
        tree.mkdir()
        (tree / "command").write_text(options.command + "\n")
        parameters = shlex.quote(" ".join([*PARAMETERS, f"ip_block_mask={IP_BLOCK_MASKS[options.gpu]}", *options.param]))
        gpu, rocm = ("no" if options.no_gpu else "yes"), ("yes" if options.rocm else "no")
        (tree / "run-parameters").write_text(f"gpu={gpu}\nrocm={rocm}\nmodule_parameters={parameters}\n")
        if options.mec:
            firmware = os.environ.get("VGPU_FIRMWARE") or self.vgpu.with_name("vgpu-firmware")
            subprocess.run([firmware, "--mec", options.mec, tree / "lib/firmware"], check=True)
        words = [str(self.guest), str(tree), str(work / "overlay.cpio"), options.module]
        words += ["keep" if options.function_tracer else "", *options.add]
        subprocess.run([VM / "overlay", *words], check=True)
        layers = [self.guest / "base.cpio", self.guest / "programs.cpio"]
        layers += [self.guest / f"rocm-{self.suite}.cpio"] if options.rocm else []
        with (work / "initrd").open("wb") as initrd:
            for layer in [*layers, work / "overlay.cpio"]:
                with layer.open("rb") as file:
                    shutil.copyfileobj(file, initrd, 1 << 20)


def kernel_release(directory: Path) -> str:
    """The release of a kernel as --kernel takes it; a Refusal names what is missing."""
    ran = subprocess.run([VM / "kernel-release", directory], capture_output=True, text=True, check=False)
    if ran.returncode:
        raise Refusal(ran.stderr.strip().removeprefix("kernel-release: "))
    return ran.stdout.strip()
