# SPDX-License-Identifier: MIT
"""The command line of selftests/vm/test-module."""

import re
import shutil
import subprocess
import sys
import time
from fnmatch import fnmatchcase
from hashlib import sha256
from pathlib import Path

from ..paths import REPO, VM, cache
from ..shared_files import locked
from . import link, sources
from .link import note
from .sources import KERNEL

USAGE = "usage: test-module [--mutant NAME]"
MUTANTS = REPO / "selftests/kfd_preempt/mutants"
# Hashes of changes of headers outside amdkfd for which the suite `module` has passed.
HEADERS = Path(__file__).resolve().with_name("headers")
# The output of the suite `module` for each content that has passed.
STAMPS = cache() / "whole-module"


def run(*command: object) -> str:
    ran = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, text=True, check=False)
    if ran.returncode:
        raise SystemExit(ran.returncode)
    return ran.stdout.strip().split("\n")[-1]


class TestModule:
    def __init__(self, mutant: str):
        self.mutant = MUTANTS / f"{mutant}.patch" if mutant else None
        if self.mutant and not self.mutant.exists():
            raise SystemExit(f"test-module: there is no mutant '{mutant}': see {MUTANTS}")
        self.kernel = run(VM / "kernel-version")
        self.headers = Path(f"/lib/modules/{self.kernel}/build")
        self.series, package = self.find_series()
        self.check_source(package)
        root = Path(run(VM / "kernel-image", self.kernel))
        found = sorted((root / "lib/modules" / self.kernel / "kernel/drivers/gpu/drm/amd/amdgpu").glob("amdgpu.ko*"))
        if not found:
            raise SystemExit(f"test-module: linux-image-{self.kernel} has no amdgpu.ko; apt-get install --reinstall it")
        self.stock = found[0]
        self.pristine = Path(run(KERNEL / "source-tree", f"/usr/src/{package}.tar.xz"))
        self.result = cache() / "modules" / f"{self.kernel}-test-{mutant or 'normal'}-{self.key()}"

    def find_series(self) -> tuple[str, str]:
        """The series, and the package of the source that it is for."""
        for line in (KERNEL / "amdkfd-patches/bases").read_text().splitlines():
            name, pattern, package = [*line.split(), "", "", ""][:3]
            if not name.startswith("#") and fnmatchcase(self.kernel, pattern):
                return name, package
        raise SystemExit(f"test-module: no series is for kernel {self.kernel}: see {KERNEL / 'amdkfd-patches/bases'}")

    def check_source(self, package: str) -> None:
        """Headers, image and Debian's amdgpu.ko have one version, by the dependencies of their packages."""
        have = run("dpkg-query", "-W", "-f", "${Version}", package)
        if f"Debian {have}\"" not in (self.headers / "include/generated/package.h").read_text():
            raise SystemExit(f"test-module: the headers of {self.kernel} are not of {package} {have}; run ci/deps")

    def toolchain(self) -> str:
        generated = self.headers / "include/generated/package.h"
        config = (self.headers / ".config").read_text()
        compiler = re.search(r'^CONFIG_CC_VERSION_TEXT="(\S+)', config, re.MULTILINE)
        assert compiler
        version = subprocess.run([compiler[1], "--version"], stdout=subprocess.PIPE, check=True).stdout
        return sha256(generated.read_bytes() + config.encode() + version).hexdigest()[:16]

    def key(self) -> str:
        """All that the module is made of."""
        parts = [self.toolchain().encode(), self.stock.read_bytes(), self.pristine.name.encode()]
        files = [REPO / "dkms.conf", REPO / "uapi/kfd_preempt.h"]
        files += [HEADERS.with_name(name) for name in ("headers", "Kbuild", "link.py", "main.py", "sources.py")]
        files += [KERNEL / name for name in ("Makefile", "apply-edits", "base-functions", "lay-out", "probe-kernel")]
        files += [self.mutant] if self.mutant else []
        files += [KERNEL / "amdkfd-patches" / self.series / "base", *sources.edits(self.series)]
        files += [path for path in (KERNEL / "amdkfd").rglob("*") if path.is_file()]
        for path in sorted(files):
            parts += [str(path.relative_to(REPO)).encode(), path.read_bytes()]
        return sha256(b"".join(sha256(part).digest() for part in parts)).hexdigest()[:16]

    def make(self) -> Path:
        """The directory of the module; builds it if the cache has none."""
        if (self.result / "amdgpu.ko").exists():
            return self.result
        # One directory for each compiler and kernel: make does not notice another one.
        work = cache() / "test-module" / self.toolchain()
        with locked(work / "lock"):
            if not (self.result / "amdgpu.ko").exists():
                self.build(work)
        return self.result

    def build(self, work: Path) -> None:
        new = work / "new"
        shutil.rmtree(new, ignore_errors=True)
        sources.lay_out(self.pristine, new, self.series, self.headers, self.mutant)
        changed = sources.changed(self.pristine, new)
        outside = [path for path in changed if path.suffix != ".c" and path.parts[0] != "amdkfd"]
        hashed = sources.lines_changed(self.pristine, new, outside)
        sources.update(new, work / "tree")
        ours = link.compile_ours(work, self.headers, sources.reached(work / "tree", changed))
        if hashed in HEADERS.read_text().split():
            note("linking them into Debian's module")
            self.keep(link.link(work, self.headers, self.stock, ours), ours)
            return
        names = " ".join(map(str, outside))
        note(f"building the whole module: {HEADERS.name} does not have {hashed}, the changes of {names}")
        self.keep(self.by_dkms(), ours, whole=hashed)

    def by_dkms(self) -> Path:
        """The module that users get, in a directory with the hashes of its objects."""
        mutant = ["--mutant", self.mutant.stem] if self.mutant else []
        return Path(run(KERNEL / "build-module", "--kernelver", self.kernel, *mutant))

    def keep(self, module: Path, ours: list[Path], whole: str = "") -> None:
        new = self.result.with_name(f"{self.result.name}.new")
        shutil.rmtree(new, ignore_errors=True)
        for path in ours:
            (new / "objects" / path.parent.name).mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, new / "objects" / path.parent.name / path.name)
        (new / "order").write_text("".join(f"{path.parent.name}/{path.name}\n" for path in ours))
        if whole:
            (new / "whole").write_text(whole)
        shutil.copyfile(module, new / "amdgpu.ko")
        shutil.rmtree(self.result, ignore_errors=True)
        new.rename(self.result)

    def objects(self) -> dict[str, Path]:
        """Ours, in the order of their link."""
        return {name: self.result / "objects" / name for name in (self.result / "order").read_text().split()}

    @property
    def unlisted_headers(self) -> str:
        """The hash of changes of headers for which the whole module had to be built."""
        path = self.result / "whole"
        return path.read_text() if path.exists() else ""

    def summary(self) -> str:
        if self.unlisted_headers:
            return f"module: all of amdgpu.ko as DKMS builds it for {self.kernel}"
        version = self.kernel.partition("+")[0]
        stamps = [path.stat().st_mtime for path in STAMPS.glob("*.tap")]
        when = time.strftime("%Y-%m-%d", time.localtime(max(stamps))) if stamps else "never"
        return (
            f"module: Debian's amdgpu.ko {version} with {len(self.objects())} objects of ours;"
            f" the whole build by DKMS last passed {when}"
        )


def main(words: list[str]) -> int:
    if words[:1] == ["--mutant"] and len(words) == 2:
        mutant = words[1]
    elif not words:
        mutant = ""
    else:
        print(USAGE, file=sys.stderr)
        return 64
    module = TestModule(mutant)
    made = module.make()
    print(module.summary(), file=sys.stderr)
    print(made / "amdgpu.ko")
    return 0
