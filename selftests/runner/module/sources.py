# SPDX-License-Identifier: MIT
"""The driver's source as the edits leave it, and which of its files they change."""

import filecmp
import os
import re
import shutil
import subprocess
from difflib import unified_diff
from hashlib import sha256
from pathlib import Path

from ..paths import REPO

AMD = Path("drivers/gpu/drm/amd")
KERNEL = REPO / "kernel"
SOURCE_SUFFIXES = (".c", ".h", ".inc")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', re.MULTILINE)


def lay_out(pristine: Path, tree: Path, series: str, headers: Path, mutant: Path | None) -> None:
    """Writes the patched AMD directory to the new directory `tree`, as kernel/prepare does for users."""
    for part in sorted((pristine / AMD).iterdir()):
        # Links, because the headers of registers are half a gigabyte; apply-edits replaces a file that it changes.
        # Not in amdkfd, where lay-out writes files.
        copy = shutil.copy2 if part.name == "amdkfd" else os.link
        if part.is_dir():
            shutil.copytree(part, tree / AMD / part.name, copy_function=copy)
        else:
            copy(part, tree / AMD / part.name)
    # amdgpu_trace.h names itself from two levels below the top.
    (tree / "include/x").mkdir(parents=True)
    subprocess.run([KERNEL / "lay-out", tree, series], check=True)
    if mutant:
        with mutant.open() as patch:
            subprocess.run(["patch", "-d", tree, "-p1", "-F0", "-s", "--no-backup-if-mismatch"], stdin=patch, check=True)
    stamp(tree / AMD / "amdkfd", series, headers)


def edits(series: str) -> list[Path]:
    """The files of edits that the series has."""
    lines = (KERNEL / "amdkfd-patches" / series / "base").read_text().splitlines()
    names = [name for line in lines if line.startswith("edits ") for name in line.split()[1:]]
    return [KERNEL / "amdkfd-patches/edits" / f"{name}.edits" for name in names]


def stamp(amdkfd: Path, series: str, headers: Path) -> None:
    """The two files that kernel/prepare itself generates; the suite `module` compares the objects made of them."""
    (amdkfd / "kfd_preempt_version.h").write_text(
        "/* SPDX-License-Identifier: GPL-2.0-only OR MIT */\n"
        f'#define KFD_PREEMPT_VERSION "{package_version()} {series}"\n'
    )
    probed = subprocess.run([KERNEL / "probe-kernel", headers], stdout=subprocess.PIPE, check=True)
    (amdkfd / "kfd_preempt_kernel.h").write_bytes(probed.stdout)


def package_version() -> str:
    found = re.search(r'^PACKAGE_VERSION="(.*)"', (REPO / "dkms.conf").read_text(), re.MULTILINE)
    assert found
    return found[1]


def update(new: Path, tree: Path) -> None:
    """Makes `tree` equal to `new` but for what was built in it; unchanged files keep their time, so make
    compiles only what depends on the others."""
    if not tree.exists():
        new.rename(tree)
        return
    wanted = {path.relative_to(new) for path in new.rglob("*") if path.is_file()}
    for path in wanted:
        if not (tree / path).exists() or not same(new / path, tree / path):
            (tree / path).unlink(missing_ok=True)
            (tree / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(new / path, tree / path)  # with the time of now
    for path in tree.rglob("*"):
        if path.suffix in SOURCE_SUFFIXES and path.relative_to(tree) not in wanted:
            path.unlink()
    shutil.rmtree(new)


def same(one: Path, other: Path) -> bool:
    return os.path.samefile(one, other) or filecmp.cmp(one, other, shallow=False)


def changed(pristine: Path, tree: Path) -> list[Path]:
    """The source files below AMD that are not as in `pristine`."""
    paths = {
        path.relative_to(root / AMD)
        for root in (pristine, tree)
        for path in (root / AMD).rglob("*")
        if path.is_file() and (path.suffix in SOURCE_SUFFIXES or path.name == "Makefile")
    }
    return sorted(path for path in paths if differs(pristine / AMD / path, tree / AMD / path))


def reached(tree: Path, changed: list[Path]) -> list[Path]:
    """The source files that a change reaches: changed themselves, or with a changed header of amdkfd in what they
    include. Headers elsewhere are for the caller, because amdgpu.h has all of them."""
    files = {
        path.relative_to(tree / AMD): path.read_text(errors="replace")
        for part in (tree / AMD).iterdir()
        if part.is_dir() and part.name != "include"
        for path in part.rglob("*")
        if path.suffix in SOURCE_SUFFIXES
    }
    includes = {path: {Path(name).name for name in INCLUDE.findall(text)} for path, text in files.items()}
    found = {path for path in changed if path.suffix == ".c"}
    new = {path.name for path in changed if path.parts[0] == "amdkfd" and path.suffix != ".c"}
    headers: set[str] = set()
    while new:
        headers |= new
        including = {path for path, names in includes.items() if names & new}
        found |= {path for path in including if path.suffix == ".c"}
        new = {path.name for path in including if path.suffix != ".c"} - headers
    return sorted(found)


def differs(one: Path, other: Path) -> bool:
    return not (one.exists() and other.exists() and same(one, other))


def lines_changed(pristine: Path, tree: Path, paths: list[Path]) -> str:
    """A hash of the lines that differ, wherever they are: a point release that changes others keeps it."""
    text = ""
    for path in paths:
        before, after = ((root / AMD / path).read_text().splitlines() if (root / AMD / path).exists() else [] for root in (pristine, tree))
        lines = list(unified_diff(before, after, n=0, lineterm=""))[2:]
        text += f"{path}\n" + "".join(f"{line}\n" for line in lines if not line.startswith("@"))
    return sha256(text.encode()).hexdigest()[:16]
