# SPDX-License-Identifier: MIT
"""Builds what a guest boots: programs, driver, and the layers of its initramfs."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Iterator

from ..errors import Refusal
from ..paths import REPO, VM
from ..shared_files import link
from .catalogue import Catalogue, libraries, program
from .hip_programs import HIP, HipPrograms
from .kernel_image import bootable
from .layers import Store
from .options import Options
from .slim import module_layer
from .tree import Build, kernel_release

STAGES = ("download", "driver", "programs", "guest", "rocm")
TOOLS = ("busybox", "depmod", "modprobe", "modinfo", "cmake", "make", "flock", "python3", "zstd")
PASSWD = "root:x:0:0:root:/root:/bin/sh\nuser:x:1000:1000:user:/tmp:/bin/sh\n"
GROUP = "root:x:0:\nrender:x:106:user\nuser:x:1000:\n"
GUEST_TESTS = REPO / "tools/tests/guest"
TOOLS_BUILT = "vgpu vgpu-fault vgpu-firmware kfd-preempt xpreemptd kfd-preempt-sim xpreempt xpreempt-hook xpreempt_xsched xpreempt_xsched_hip"
# A source, and its name in the guest.
Placed = tuple[Path, str]


def run(*words: object, **options) -> None:
    """What it prints is no result of ours."""
    subprocess.run([str(word) for word in words], check=True, stdout=2, **options)


def output(*words: object) -> str:
    return subprocess.check_output([str(word) for word in words], text=True).strip()


def modprobe(release: str, root: Path, *names: str) -> list[Path]:
    """The modules that loading these inserts, in their order; empty where the kernel has one built in."""
    command = ["modprobe", "-S", release, "-d", root, "--show-depends", "-q", "-a", *names]
    listed = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    return [Path(line.split()[1]) for line in listed.splitlines() if line.startswith("insmod ")]


class Builder(Build):
    """What is built for one kernel, and for `ci/demo` alone where it is a demo."""

    def __init__(self, options: Options, demo: bool):
        super().__init__(options)
        self.demo, self.rocm, self.kernel_dir = demo, options.rocm, Path(options.kernel) if options.kernel else None
        self.directory = self.guest.parent
        if self.kernel_dir:
            self.release = kernel_release(self.kernel_dir)
            self.headers = self.kernel_dir / f"lib/modules/{self.release}/build"
        else:
            self.release = output(VM / "kernel-version")
            self.headers = Path(f"/lib/modules/{self.release}/build")
        self.has_headers = not self.kernel_dir or (self.headers / "Makefile").exists()
        self.work = Path()

    @property
    def kernel_tree(self) -> Path:
        """The directory with boot/ and lib/modules/ of the kernel."""
        return self.kernel_dir or Path(output(VM / "kernel-image", self.release))

    def build(self, stages: list[str]) -> None:
        self.guest.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as work:
            self.work = Path(work)
            for stage in stages:
                getattr(self, f"build_{stage}")()

    def build_download(self) -> None:
        run(VM / "qemu", "--version")
        if not self.kernel_dir:
            run(VM / "kernel-image", self.release)
        if self.rocm:
            run(VM / "rocm-root")

    def driver(self) -> Path:
        """The patched amdgpu.ko, built if it is not in the cache; of another kernel that which modprobe would load.

        updates/ goes before kernel/.
        """
        if self.kernel_dir:
            return Path(output("modinfo", "-b", self.kernel_dir, "-k", self.release, "-F", "filename", "amdgpu"))
        return Path(output(VM / "test-module"))

    def build_driver(self) -> None:
        print(self.driver(), file=sys.stderr)

    def build_programs(self) -> None:
        targets = TOOLS_BUILT.split()
        configure = []
        if self.demo:
            targets = "vgpu vgpu-firmware kfd-preempt".split() + (["vgpu-fault", "xpreemptd"] if self.rocm else [])
            configure = ["-DBUILD_TESTING=OFF"]  # the unit tests need more packages
        if not (self.directory / "build.ninja").exists():
            run("cmake", "-S", REPO, "--preset", "test", "-B", self.directory, *configure)
        if (self.directory / "unity_sources").exists():
            # A name that is new in a source may send it to another group.
            names = (self.directory / "unity_sources", self.directory / "unity_groups")
            run(REPO / "cmake/unity_groups.py", REPO / "cmake/unity_alone", *names)
        run("cmake", "--build", self.directory, "--target", *targets)
        programs = self.directory / "kfd_preempt"
        ccache = os.environ.get("CMAKE_C_COMPILER_LAUNCHER", "")
        make = ["make", "--no-print-directory", f"-j{os.cpu_count()}", f"OUTPUT={programs}", f"CCACHE={ccache}", "-C"]
        if self.demo:
            run(*make, REPO / "selftests/kfd_preempt", programs / "preempt_demo", programs / "vram_job")
            return
        run(*make, REPO / "selftests/kfd_preempt")
        if self.has_headers:
            probes = [f"OUTPUT={self.guest}", f"KERNELDIR={self.headers}"]
            run("make", "--no-print-directory", "-C", REPO / "selftests/kfd_preempt/probes", *probes)
        run(*make, GUEST_TESTS)
        run(*make, REPO / "tools/verify", "UNITY=yes")

    def add_modules(self, root: Path, order: Path, *names: str) -> list[str]:
        """The layers of these modules without amdgpu.ko, but with what they need; order gets the names to load."""
        modules = [path for path in modprobe(self.release, root, *names) if not path.name.startswith("amdgpu.ko")]
        if not modules:
            raise Refusal(f"{' '.join(names)} is not among the modules of {self.release} in {root}")
        loaded = [f"{path.name.partition('.ko')[0]}.ko" for path in modules]
        order.parent.mkdir(parents=True, exist_ok=True)
        order.write_text("".join(f"{name}\n" for name in loaded))
        return [module_layer(self.store, path, name).name for path, name in zip(modules, loaded, strict=True)]

    def base_layers(self) -> list[str]:
        tree, root = self.work / "base", self.kernel_tree
        for name in "bin usr/bin proc sys dev tmp root etc run lib/firmware/amdgpu lib64".split():
            (tree / name).mkdir(parents=True)
        for source, name in ((Path(str(shutil.which("busybox"))), "bin/busybox"), (VM / "init", "init")):
            shutil.copyfile(source, tree / name)
            (tree / name).chmod(0o755)
        (tree / "etc/passwd").write_text(PASSWD)
        (tree / "etc/group").write_text(GROUP)
        layers = self.add_modules(root, tree / "modules/order", "amdgpu")
        # Swap space is on a disk in memory; not each kernel of --kernel has one. One with it built in needs none.
        if modprobe(self.release, root, "brd"):
            layers += self.add_modules(root, tree / "modules/order-brd", "brd")
        if not self.demo and self.has_headers:
            probes = [self.guest / "kfd_probes.ko", "-o", tree / "modules/kfd_probes.ko"]
            run("strip", "--strip-debug", "-R", ".note.gnu.build-id", *probes)
        firmware = os.environ.get("VGPU_FIRMWARE") or self.directory / "selftests/vgpu/vgpu-firmware"
        run(firmware, tree / "lib/firmware")
        return [*layers, self.store.pack(tree).name]

    def programs(self) -> Iterator[Placed]:
        """Those of this tree: all of the kselftests, the command and the daemon."""
        tools, queues = self.directory / "tools", self.directory / "kfd_preempt"
        yield from ((VM / f"{name}.sh", name) for name in ("demo", "demo-yield", "two-jobs", "start-xpreemptd"))
        yield tools / "kfd-preempt/kfd-preempt", "kfd-preempt"
        if not self.demo or self.rocm:
            yield self.directory / "selftests/vgpu/vgpu-fault", "vgpu-fault"
            yield tools / "xpreemptd/xpreemptd", "xpreemptd"
        if self.demo:
            yield from ((queues / name, name) for name in ("preempt_demo", "vram_job"))
            return
        yield tools / "kfd-preempt-sim/bin/kfd-preempt-sim", "kfd-preempt-sim"
        for path in sorted(queues.iterdir()):
            if path.is_file() and os.access(path, os.X_OK):
                yield path, path.name
        scripts = [path for pattern in ("*-in-guest", "*.sh", "*.py") for path in sorted(GUEST_TESTS.glob(pattern))]
        for path in (*scripts, REPO / "tools/freezer/follow-freezer", REPO / "selftests/runner/run-tests"):
            yield path, path.name
        # follow-freezer needs it, and busybox has none.
        yield Path(str(shutil.which("flock"))), "flock"
        yield Path("/usr/bin/python3"), "python3"

    def write_catalogue(self, programs: dict[str, tuple[Path, str, str]], path: Path) -> None:
        """programs: by name the source, the directory in the guest and the kind."""
        made = {name: program(self.store, source, f"{place}/{name}", kind) for name, (source, place, kind) in programs.items()}
        Catalogue(made).write(path)
        self.store.prune()

    def build_guest(self) -> None:
        modules = self.kernel_tree / f"lib/modules/{self.release}/kernel/drivers/gpu/drm/amd/amdgpu"
        (stock,) = modules.glob("amdgpu.ko*")
        (self.guest / "patched-module").write_text(f"{self.driver()}\n")
        (self.guest / "stock-module").write_text(f"{stock}\n")
        vmlinuz = self.kernel_dir / "vmlinuz" if self.kernel_dir else self.kernel_tree / f"boot/vmlinuz-{self.release}"
        link(self.guest / "kernel", bootable(vmlinuz, self.store))
        write_lines(self.guest / "base", self.base_layers())
        kinds = {"python3": "python"}
        programs = {name: (path, "/usr/bin", kinds.get(name, "")) for path, name in self.programs()}
        self.write_catalogue(programs, self.guest / "programs.json")
        if self.rocm:
            self.build_rocm()

    def hip_programs(self, hip: HipPrograms) -> dict[str, tuple[Path, str, str]]:
        """The HIP programs and what tests them."""
        place = "/opt/kfd-preempt/hip"
        (self.directory / f"rocm-{self.suite}").mkdir(parents=True, exist_ok=True)
        compiled = hip.programs(hip.names(self.demo))
        programs = {name: (path, place, "" if name.endswith(".so") else "hip") for name, path in compiled.items()}
        if self.demo:
            return programs
        programs["preempt_storm"] = (hip.preempt_storm(), place, "")
        programs["hip_test.py"] = (HIP / "hip_test.py", "/usr/bin", "")
        programs["wheel"] = (HIP / "wheel/wheel", place, "hip")
        if self.suite == "experimental":
            programs["dbgapi_client"] = (hip.helper("dbgapi_client"), place, "")
            programs["debugger_test.py"] = (HIP / "debugger/debugger_test.py", "/usr/bin", "")
        return programs

    def rocm_layers(self, hip: HipPrograms) -> list[str]:
        """Those of every ROCm guest.

        The programs of this machine run there too, with its newer C library; the layer has those of their libraries
        that Debian's ROCm suite has no more.
        """
        tree = self.work / "rocm"
        for name in ("hip", "lib"):
            (tree / "opt/kfd-preempt" / name).mkdir(parents=True)
        if self.suite in ("forky+libraries", "experimental+llama"):
            for name in ("f32", "q8_0"):
                run(HIP / "llama/make-model", name, tree / f"opt/kfd-preempt/hip/{name}.gguf")
        if self.suite == "experimental+llama":
            shutil.copytree(f"{output(HIP / 'llama/build-llama')}/bin", tree / "opt/kfd-preempt/hip", True, dirs_exist_ok=True)
        layers = self.add_modules(self.kernel_tree, tree / "modules/order-rocm", "virtio_blk", "ext4")
        for library in sorted({each for path, _ in self.programs() for each in libraries(self.store, path)}):
            places = [hip.root / "root/usr" / place / Path(library).name for place in ("lib/x86_64-linux-gnu", "lib64")]
            if not any(place.exists() for place in places):
                shutil.copy(library, tree / "opt/kfd-preempt/lib")
        return [*layers, self.store.pack(tree).name]

    def build_rocm(self) -> None:
        hip, name = HipPrograms(self.directory), self.guest / f"rocm-{self.suite}"
        self.write_catalogue(self.hip_programs(hip), Path(f"{name}.json"))
        write_lines(name, self.rocm_layers(hip))
        Path(f"{name}.archs").write_text(f"{hip.archs}\n")
        link(Path(f"{name}.ext4"), hip.root / "image.ext4")


def write_lines(path: Path, lines: list[str]) -> None:
    path.write_text("".join(f"{line}\n" for line in lines))


def parse(words: list[str]) -> tuple[Builder, list[str]]:
    options, stages, demo = Options(), [], False
    left = list(words)
    while left:
        word = left.pop(0)
        if word == "--demo":
            demo = True
        elif word == "--rocm":
            options.rocm = True
        elif word == "--kernel" and left:
            options.kernel = str(Path(left.pop(0)).resolve())
        elif word in STAGES:
            stages.append(word)
        else:
            raise Refusal(f"neither an option nor a stage: '{word}'; the stages are {', '.join(STAGES)}")
    return Builder(options, demo), stages or [stage for stage in STAGES if stage != "rocm"]


def check_tools() -> None:
    for tool in TOOLS:
        if not shutil.which(tool):
            raise Refusal(f"{tool} is missing; run ci/deps")
    busybox = shutil.which("busybox")
    if "statically linked" not in output("file", "-L", busybox):
        raise Refusal(f"{busybox} is not static; apt-get install busybox-static")


def main(words: list[str]) -> int:
    status = 64
    try:
        builder, stages = parse(words)
        status = 1
        check_tools()
        builder.build(stages)
    except Refusal as refusal:
        print(f"build: {refusal}", file=sys.stderr)
        return status
    except subprocess.CalledProcessError as error:
        print(f"build: {' '.join(map(str, error.cmd))} ended with status {error.returncode}", file=sys.stderr)
        return 1
    return 0
