# SPDX-License-Identifier: MIT
"""The products of selftests/vm/build, and the initramfs of one run."""

import os
import shlex
import shutil
import subprocess
from hashlib import sha256
from pathlib import Path

from ..errors import Refusal
from ..paths import REPO, ROCM_SUITE, VM
from . import catalogue, slim
from .catalogue import Catalogue
from .layers import Store, archive, use
from .options import HIP_ARCHS, IP_BLOCK_MASKS, PARAMETERS, Options


class Build:
    def __init__(self, options: Options):
        directory = Path(os.environ.get("BUILD_DIR") or REPO / "build/test").absolute()
        self.guest = directory / "guest"
        self.vgpu = Path(os.environ.get("VGPU") or directory / "selftests/vgpu/vgpu")
        self.suite = ROCM_SUITE
        self.store = Store()
        if options.kernel:
            kernel_release(Path(options.kernel))
            # A guest with another kernel must not replace the one with Debian's.
            key = sha256(f"{Path(options.kernel).resolve()}\n".encode()).hexdigest()[:8]
            self.guest = directory / f"guest-{key}"

    @property
    def kernel(self) -> Path:
        return (self.guest / "kernel").resolve()

    @property
    def rocm_image(self) -> Path:
        return self.guest / f"rocm-{self.suite}.ext4"

    def make(self, options: Options) -> None:
        words = ["--rocm"] if options.rocm else []
        words += ["--kernel", options.kernel] if options.kernel else []
        built = subprocess.run([VM / "build", *words], check=False, env={"HIP_ARCHS": HIP_ARCHS[options.gpu], **os.environ})
        if built.returncode:
            raise SystemExit(built.returncode)

    def catalogues(self, options: Options) -> list[Path]:
        names = ["programs", *([f"rocm-{self.suite}"] if options.rocm else [])]
        return [self.guest / f"{name}.json" for name in names]

    def layers(self, options: Options, work: Path) -> list[Path]:
        """The archives of the initramfs. Of two that have the same file, the later one wins.

        The last, which it makes in work, has the command and the parameters of this run.
        """
        layers = [*self.built(options), self.module(options), *self.added(options)]
        for layer in layers:
            use(layer)
        overlay = work / "overlay.cpio"
        with overlay.open("wb") as file:
            archive(self.overlay(options, work / "tree"), file)
        return [*layers, overlay]

    @staticmethod
    def initrd(layers: list[Path], work: Path) -> None:
        """Writes work/initrd."""
        with (work / "initrd").open("wb") as initrd:
            for layer in layers:
                with layer.open("rb") as file:
                    shutil.copyfileobj(file, initrd, 1 << 20)

    def built(self, options: Options) -> list[Path]:
        """The layers of the build that this run needs."""
        programs = Catalogue.read(*self.catalogues(options))
        names = programs.programs.keys()
        if options.named or options.with_:
            names = programs.named(options.command, options.with_)
        layers = [*self.lines("base"), *(self.lines(f"rocm-{self.suite}") if options.rocm else [])]
        layers += programs.layers(names)
        return [self.store.directory / name for name in layers]

    def lines(self, name: str) -> list[str]:
        return (self.guest / name).read_text().split("\n")[:-1]

    def module(self, options: Options) -> Path:
        """The layer of amdgpu.ko: the patched one, "stock", or a path."""
        names = {"": "patched-module", "stock": "stock-module"}
        source = Path(self.lines(names[options.module])[0] if options.module in names else options.module)
        traced = self.traced(options) if options.function_tracer else set()
        return slim.module_layer(self.store, source, "amdgpu.ko", traced)

    def traced(self, options: Options) -> set[str]:
        """Names of the functions that the tests' own module probes."""
        added = [Path(item.split(":")[0]) for item in options.add if item.endswith("/kfd_probes.ko")]
        for probes in (*added, self.guest / "kfd_probes.ko"):
            if probes.exists():
                return slim.names_in(probes)
        raise Refusal("--function-tracer: there is no kfd_probes.ko for this kernel, whose functions could be traced")

    def added(self, options: Options) -> list[Path]:
        layers: list[str] = []
        for item in options.add:
            source, _, destination = item.partition(":")
            program = catalogue.program(self.store, Path(source), destination or f"/usr/bin/{Path(source).name}")
            layers += program.layers
        return [self.store.directory / layer for layer in dict.fromkeys(layers)]

    def overlay(self, options: Options, tree: Path) -> Path:
        tree.mkdir()
        (tree / "command").write_text(options.command + "\n")
        parameters = shlex.quote(" ".join([*PARAMETERS, f"ip_block_mask={IP_BLOCK_MASKS[options.gpu]}", *options.param]))
        gpu, rocm = ("no" if options.no_gpu else "yes"), ("yes" if options.rocm else "no")
        (tree / "run-parameters").write_text(f"gpu={gpu}\nrocm={rocm}\nmodule_parameters={parameters}\n")
        if options.mec:
            firmware = os.environ.get("VGPU_FIRMWARE") or self.vgpu.with_name("vgpu-firmware")
            subprocess.run([firmware, "--mec", options.mec, tree / "lib/firmware"], check=True)
        return tree


def kernel_release(directory: Path) -> str:
    """The release of a kernel as --kernel takes it; a Refusal names what is missing."""
    if not os.access(directory / "vmlinuz", os.R_OK):
        raise Refusal(f"--kernel {directory}: has no readable vmlinuz")
    modules = directory / "lib/modules"
    releases = [path.name for path in modules.iterdir()] if modules.is_dir() else []
    if len(releases) != 1:
        raise Refusal(f"--kernel {directory}: has not one directory in lib/modules, but: {' '.join(releases) or 'none'}")
    (release,) = releases
    if not os.access(modules / release / "modules.dep", os.R_OK):
        made = f"depmod -b {directory} {release} makes it"
        raise Refusal(f"--kernel {directory}: lib/modules/{release} has no modules.dep; {made}")
    modinfo = ["modinfo", "-b", directory, "-k", release, "-F", "filename", "amdgpu"]
    if subprocess.run(modinfo, capture_output=True, check=False).returncode:
        raise Refusal(f"--kernel {directory}: has no amdgpu.ko among its modules")
    return release
