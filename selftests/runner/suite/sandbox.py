# SPDX-License-Identifier: MIT
"""A mount namespace in which the tree, the build directory and the cache have only the inputs of a suite."""

import os
import shutil
import subprocess
from pathlib import Path

from ..inputs import Inputs
from ..paths import REPO, cache

# The mounts, then the command in the tree. $1: the directory of the sandbox; $2 to $4: tree, build directory and
# cache; then pairs of a mount's source and its place, up to --; then the command.
SCRIPT = """
sandbox=$1 tree=$2 build=$3 cache=$4
shift 4
while [ "$1" != -- ]; do
	mount --rbind "$1" "$2"
	shift 2
done
shift
mount --rbind "$sandbox/cache" "$cache"
mount --rbind "$sandbox/tree" "$tree"
# Last, because it hides the sandbox; in the tree it is a part of that.
[ ! -d "$sandbox/build" ] || mount --rbind "$sandbox/build" "$build"
cd "$tree"
exec "$@"
"""


def namespace() -> list[str]:
    return ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"]), "--"]


def as_user() -> list[str]:
    """In a user namespace the command gets its own user back, because tests differ for root."""
    uid, gid = os.geteuid(), os.getegid()
    return [] if uid == 0 else ["unshare", "--user", f"--map-user={uid}", f"--map-group={gid}", "--"]


def is_allowed() -> bool:
    """Some containers know no namespaces."""
    command = [*namespace(), "mount", "--bind", REPO, REPO]
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except OSError:
        return False


class Sandbox:
    def __init__(self, directory: Path, inputs: Inputs, build: Path):
        self.directory, self.inputs, self.build = directory, inputs, build
        # The build directory is in the tree, or beside it.
        inside = build.is_relative_to(REPO)
        self.own_build = directory / "tree" / build.relative_to(REPO) if inside else directory / "build"
        self.mounts: list[str] = []

    def fill(self) -> None:
        self.remove()
        for path in self.inputs.tree_files():
            copy(REPO / path, self.directory / "tree" / path)
        for path in self.inputs.built_files(self.build):
            link(self.build / path, self.own_build / path)
        (self.own_build / "logs").mkdir(parents=True, exist_ok=True)
        own_cache = self.directory / "cache"
        own_cache.mkdir(parents=True, exist_ok=True)
        for name in [*self.inputs.cached, "ccache"]:
            (cache() / name).mkdir(parents=True, exist_ok=True)
            self.mount(cache() / name, own_cache / name)
        if self.inputs.git:
            self.mount(REPO / ".git", self.directory / "tree/.git")

    def mount(self, source: Path, place: Path) -> None:
        if not source.exists():
            return
        place.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            place.mkdir(exist_ok=True)
        else:
            place.touch()
        self.mounts += [str(source), str(place)]

    def command(self, words: list[str]) -> list[str]:
        cache().mkdir(parents=True, exist_ok=True)
        places = [str(each) for each in (self.directory, REPO, self.build, cache())]
        return [*namespace(), "/bin/bash", "-euc", SCRIPT, "sandbox", *places, *self.mounts, "--", *as_user(), *words]

    def remove(self) -> None:
        shutil.rmtree(self.directory, ignore_errors=True)


def copy(source: Path, place: Path) -> None:
    """A copy, because a suite may write to its tree."""
    place.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(source, place, follow_symlinks=False)


def link(source: Path, place: Path) -> None:
    """The built files are hundreds of megabytes, and no suite writes to them."""
    place.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(source, place, follow_symlinks=False)
    except OSError:
        copy(source, place)
