# SPDX-License-Identifier: MIT
"""Files that several runs use at once."""

import fcntl
from contextlib import contextmanager
from pathlib import Path
from typing import Iterator


@contextmanager
def locked(path: Path) -> Iterator[None]:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def link(path: Path, target: Path) -> None:
    """At no time is there no link."""
    new = path.with_name(f"{path.name}.new")
    new.unlink(missing_ok=True)
    new.symlink_to(target)
    new.rename(path)
