# SPDX-License-Identifier: MIT
"""The declared inputs of a suite that runs on this machine: which files they are, and their identity."""

import os
import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Iterable

from .digests import Digests
from .identity import Identity, NotKept
from .paths import REPO

# Variables that a suite gets. The values of the first ones are part of its identity; the others say where
# something is, or make it faster.
SEEN = ("PATH", "LANG", "LC_ALL", "SEED", "ROCM_SUITE", "DEBIAN_MIRROR", "KERNEL_VERSION", "LINUX_TARBALL")
ALLOWED = (
    *("BUILD_DIR", "HOME", "XDG_CACHE_HOME", "TMPDIR", "TERM", "USER", "CI"),
    "SUDO_UID",  # as root, git trusts the clone of the user who runs sudo
    *("CCACHE_DIR", "CCACHE_BASEDIR", "CCACHE_NOHASHDIR", "CCACHE_SLOPPINESS"),
    *("CMAKE_C_COMPILER_LAUNCHER", "CMAKE_CXX_COMPILER_LAUNCHER"),
    *("http_proxy", "https_proxy", "no_proxy"),
)

# Files of the build directory that runs of tests leave, the last of them ctest.
NOT_BUILT = ("!sandbox/**", "!logs/**", "!**/Testing/Temporary/**")


@dataclass
class Inputs:
    """Fields of a suite, see suites.toml; a pattern that begins with ! takes files away from the others."""

    command: str
    inputs: list[str]
    built: list[str] = field(default_factory=list)
    cached: list[str] = field(default_factory=list)
    git: bool = False

    @classmethod
    def of(cls, table: dict) -> "Inputs":
        known = ("command", "inputs", "built", "cached", "git")
        return cls(**{name: table[name] for name in known if name in table})

    def tree_files(self) -> list[Path]:
        """Relative to the tree: files that are tracked or would be."""
        command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        try:
            listed = subprocess.run(command, cwd=REPO, capture_output=True, check=True).stdout
        except OSError as error:
            raise NotKept(f"git does not list the files of the tree: {error}") from error
        except subprocess.CalledProcessError as error:
            why = " ".join(os.fsdecode(error.stderr).split())
            raise NotKept(f"git does not list the files of the tree: {why}") from error
        names = sorted(set(os.fsdecode(listed).split("\0")) - {""})
        return existing(REPO, chosen(names, self.inputs))

    def built_files(self, build: Path) -> list[Path]:
        """Relative to the build directory."""
        names = sorted(set(below(build, self.built)))
        return existing(build, chosen(names, [*self.built, *NOT_BUILT]))

    def environment(self) -> dict[str, str]:
        return {name: os.environ[name] for name in (*SEEN, *ALLOWED) if name in os.environ}

    def identity(self, build: Path, digests: Digests) -> Identity:
        identity = Identity(digests)
        identity.host()
        identity.runner(REPO / "selftests/runner/suite")
        identity.add("command", self.command)
        for name in SEEN:
            value = os.environ.get(name, "")
            identity.add("environment", name, identity.path(value) if name == "LINUX_TARBALL" and value else value)
        for path in self.tree_files():
            identity.entry("input", REPO / path, REPO)
        if self.git:
            identity.add("commit", *history())
        words = {str(build): "$BUILD_DIR", str(REPO): "$REPO"}
        for path in self.built_files(build):
            identity.add("built", path, built_digest(build / path, words, digests))
        # Their entries are named by their content, or by that of the files that they are made of.
        identity.add("cached", *self.cached)
        return identity


def built_digest(path: Path, words: dict[str, str], digests: Digests) -> str:
    """A program by its code, a text without the place of the clone."""
    if path.is_symlink():
        target = os.readlink(path)
        for word, name in words.items():
            target = target.replace(word, name)
        return f"-> {target}"
    with path.open("rb") as file:
        is_program = file.read(4) == b"\x7fELF"
    return digests.of_program(path) if is_program else digests.of_text(path, words)


def history() -> list[str]:
    """The commit of the tree; of a shallow clone also those at which its history ends."""
    command = ["git", "rev-parse", "HEAD", "--git-path", "shallow"]
    ran = subprocess.run(command, cwd=REPO, capture_output=True, text=True, check=False)
    if ran.returncode:
        raise NotKept(f"git knows no commit: {ran.stderr.strip()}")
    head, shallow = ran.stdout.splitlines()
    ends = REPO / shallow
    return [head, *sorted(ends.read_text().split())] if ends.exists() else [head]


def existing(top: Path, names: Iterable[str]) -> list[Path]:
    """The files and symbolic links among them; a link may point to a directory."""
    paths = ((Path(name), top / name) for name in names)
    return [name for name, path in paths if path.is_symlink() or path.exists() and not path.is_dir()]


def below(top: Path, patterns: list[str]) -> Iterable[str]:
    """Names of all files in the directories that the patterns begin with."""
    for directory in {re.split(r"[^/]*[*?]", pattern)[0] for pattern in patterns if not pattern.startswith("!")}:
        path = top / directory
        if path.is_dir():
            for parent, directories, names in os.walk(path):
                links = [name for name in directories if Path(parent, name).is_symlink()]
                yield from (Path(parent, name).relative_to(top).as_posix() for name in [*names, *links])
        else:
            yield directory


def chosen(names: Iterable[str], patterns: list[str]) -> list[str]:
    wanted = [expression(each) for each in patterns if not each.startswith("!")]
    unwanted = [expression(each[1:]) for each in patterns if each.startswith("!")]
    return [
        name
        for name in names
        if any(each.fullmatch(name) for each in wanted) and not any(each.fullmatch(name) for each in unwanted)
    ]


def expression(pattern: str) -> re.Pattern[str]:
    """`*` is within a directory; `**` is any number of them, and at the end everything below."""
    parts = re.split(r"(\*\*/|\*\*|\*|\?)", pattern)
    words = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return re.compile("".join(words.get(part, re.escape(part)) for part in parts))
