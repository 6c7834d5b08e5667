# SPDX-License-Identifier: MIT
"""HIP programs, compiled in the ROCm root. They are in the cache, each named by all that it is compiled of.

hipcc takes up to a minute for one, and ccache knows no program that is compiled and linked at once.
"""

import os
import re
import shutil
import subprocess
from hashlib import sha256
from pathlib import Path

from ..paths import REPO, ROCM_SUITE, VM, cache
from ..shared_files import link, locked

HIP = REPO / "selftests/hip"
# The build directory, as `in-rocm` shows it.
SHOWN = Path("/opt/kfd-preempt/build")
# Programs that a suite cannot compile: HIP 5 knows no limit of scratch and no strings to print, and its compiler
# (clang 15) crashes on the models.
MODELS = {"models", "loaders", "captures", "all_reduce"}
WITHOUT = {
    "bookworm": {"reclaim", "device_printf", "sort_scan", *MODELS},
    "forky+libraries": {"random_numbers", "sparse", "solver", "collective"},
}
SOURCES = {"scratch_O0": "scratch.hip", "libwalk_kernels.so": "wheel/walk_kernels.hip"}


def digest(*parts: bytes) -> str:
    return sha256(b"".join(parts)).hexdigest()


def digests(paths: list[Path]) -> bytes:
    """As sha256sum prints them, in the order of their names in the tree."""
    names = sorted(os.fsencode(path.relative_to(REPO)) for path in paths)
    return b"".join(digest((REPO / os.fsdecode(name)).read_bytes()).encode() + b"  " + name + b"\n" for name in names)


class HipPrograms:
    def __init__(self, build: Path):
        self.build = build
        self.suite = ROCM_SUITE
        self.root = Path(subprocess.check_output([VM / "rocm-root"], text=True).strip())
        archs = (os.environ.get("HIP_ARCHS") or "gfx942").split()
        if self.suite == "bookworm":  # HIP 5 does not know that one
            archs = [arch for arch in archs if arch != "gfx942"]
        self.archs = " ".join(archs) or "gfx90a gfx908"

    @property
    def versions(self) -> bytes:
        return (self.root / "versions").read_bytes()

    def in_rocm(self, *words: object) -> None:
        subprocess.run([VM / "in-rocm", *map(str, words)], check=True, stdout=2)

    def make(self, directory: str, output: str, *targets: str) -> None:
        """Below selftests/hip; output is relative to the build directory."""
        command = ["make", "--no-print-directory", f"-j{os.cpu_count()}", "-C", directory]
        self.in_rocm(*command, f"OUTPUT={SHOWN / output}", f"HIP_ARCHS={self.archs}", *(SHOWN / output / name for name in targets))

    def names(self, demo: bool) -> list[str]:
        """Those that this suite can compile, of these the ones that HIP_PROGRAMS names if it is set."""
        names = [*SOURCES, *(path.stem for path in sorted(HIP.glob("*.hip")))]
        if self.suite == "experimental":
            names.append("registers")
        if self.suite.endswith("+libraries"):
            names += [path.stem for path in sorted(HIP.glob("libraries/*.hip"))]
        if demo:
            names = ["server", "batch"]
        chosen = os.environ.get("HIP_PROGRAMS")
        left_out = WITHOUT.get(self.suite, set())
        return [name for name in names if name not in left_out and (chosen is None or name in chosen.split())]

    def source(self, name: str) -> Path:
        return HIP / SOURCES[name] if name in SOURCES else next(HIP.rglob(f"{name}.hip"))

    def programs(self, names: list[str]) -> dict[str, Path]:
        """The files of these programs, which are compiled where they are not in the cache."""
        shared = digests([*HIP.rglob("*.hpp"), *HIP.rglob("Makefile")])
        common = digest(f"{self.root} {self.archs}\n".encode(), self.versions, shared) + "  -\n"
        files = {}
        for name in names:
            key = digest(common.encode(), self.source(name).read_bytes())[:16]
            files[name] = cache() / f"hip/{self.suite}-{key}-{name}"
        with locked(cache() / "hip.lock"):
            (cache() / "hip").mkdir(exist_ok=True)
            if missing := [name for name in names if not files[name].exists()]:
                self.compile(missing, files)
        return files

    def compile(self, names: list[str], files: dict[str, Path]) -> None:
        """Nothing that an earlier build has left may get into the cache: make does not notice another compiler."""
        output = f"rocm-{self.suite}/hip"
        shutil.rmtree(self.build / output, ignore_errors=True)
        self.make("selftests/hip", output, *names)
        for name in names:
            new = Path(f"{files[name]}.new")
            shutil.copy(self.build / output / name, new)
            new.rename(files[name])

    def preempt_storm(self) -> Path:
        """The program, which needs no compiler for GPUs."""
        if self.suite != "bookworm":
            return self.helper("preempt_storm")
        output = self.build / f"rocm-{self.suite}/storm"  # its C library is older than our compiler's
        environment = {**os.environ, "CPPFLAGS": f"-I{self.build}/kfd_preempt/include"}
        command = ["make", "--no-print-directory", "-C", HIP, f"OUTPUT={output}", output / "preempt_storm"]
        subprocess.run(command, check=True, stdout=2, env=environment)
        return output / "preempt_storm"

    def helper(self, name: str) -> Path:
        self.make("selftests/hip", f"rocm-{self.suite}/hip", name)
        return self.build / f"rocm-{self.suite}/hip" / name

    def make_library_programs(self) -> None:
        """The programs that call the library: BUILD_DIR/rocm-SUITE/xpreempt becomes a link to a directory of the cache."""
        library, output = self.build / "libxpreempt", f"rocm-{self.suite}/xpreempt"
        # A program that is linked with a library gets only its name and symbols.
        libraries = ["libxpreempt.so.0", "compat/libpreempt.so", "compat/libhalhip.so"]
        symbols = subprocess.check_output(["nm", "-D", "--defined-only", *libraries], cwd=library, text=True)
        symbols = re.sub("(?m)^[0-9a-f]* ", "", symbols)
        key = digest(f"{self.archs}\n".encode(), self.versions, digests(library_sources()), symbols.encode())[:16]
        made, shown = cache() / f"hip/{self.suite}-{key}-xpreempt", self.build / output
        shown.parent.mkdir(parents=True, exist_ok=True)
        with locked(cache() / "hip-xpreempt.lock"):
            if not made.is_dir():
                self.compile_library_programs(f"{output}.new", made)
        if shown.is_dir() and not shown.is_symlink():
            shutil.rmtree(shown)
        link(shown, made)

    def compile_library_programs(self, output: str, made: Path) -> None:
        new = Path(f"{made}.new")
        for directory in (self.build / output, new):
            shutil.rmtree(directory, ignore_errors=True)
        (self.build / output).mkdir(parents=True)
        for directory in ("libxpreempt/tests/guest", "libxpreempt/examples"):
            command = ["make", "--no-print-directory", "-j", 2, "-C", directory, f"HIP_ARCHS={self.archs}"]
            self.in_rocm(*command, f"OUTPUT={SHOWN / output}", f"XPREEMPT_LIB={SHOWN}/libxpreempt")
        made.parent.mkdir(exist_ok=True)
        shutil.copytree(self.build / output, new)
        new.rename(made)
        shutil.rmtree(self.build / output)


def library_sources() -> list[Path]:
    folders = [REPO / "libxpreempt" / name for name in ("tests/guest", "examples", "include", "compat/xsched")]
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
    return [path for path in files if path.suffix in (".h", ".hpp", ".hip", ".c", ".cpp") or path.name == "Makefile"]
