# SPDX-License-Identifier: MIT
"""SHA-256 of files, remembered as long as nothing of a file's inode has changed."""

import json
import os
import shutil
import subprocess
import tempfile
import time
from hashlib import file_digest, sha256
from pathlib import Path

from .errors import Refusal


class Digests:
    # git's rule for its index: a file that was written within the granularity of its times may be written
    # again without a new time.
    YOUNG_NS = 2_000_000_000
    # Entries of files that are gone are never looked up; beyond that many all are dropped.
    MOST = 50_000

    def __init__(self, memory: Path | None = None):
        self.memory = memory
        self.known: dict[str, str] = {}
        self.changed = False
        if memory and trusted(memory):
            try:
                self.known = json.loads(memory.read_text())
            except (OSError, ValueError):
                self.known = {}

    def of(self, path: Path) -> str:
        """Returns the digest of the bytes."""
        return self.remembered(path, "bytes", self.of_bytes)

    def of_program(self, path: Path) -> str:
        """Returns the digest of an ELF file without debug data, symbols and build id, which name the directory of
        the build. Any other file counts with all its bytes.
        """
        return self.remembered(path, "program", self.of_stripped)

    def of_text(self, path: Path, words: dict[str, str]) -> str:
        """Returns the digest of a file in which each key of words is replaced by its value; never remembered."""
        data = path.read_bytes()
        for old, new in words.items():
            data = data.replace(old.encode(), new.encode())
        return sha256(data).hexdigest()

    def remembered(self, path: Path, how: str, compute) -> str:
        before = os.stat(path)
        key = self.key(before, how)
        age_ns = time.time_ns() - max(before.st_mtime_ns, before.st_ctime_ns)
        if age_ns < self.YOUNG_NS:
            return compute(path)
        if key not in self.known:
            digest = compute(path)
            if self.key(os.stat(path), how) != key:
                return digest
            self.known[key] = digest
            self.changed = True
        return self.known[key]

    @staticmethod
    def key(status: os.stat_result, how: str) -> str:
        times = f"{status.st_mtime_ns} {status.st_ctime_ns}"
        return f"{how} {status.st_dev} {status.st_ino} {status.st_size} {times}"

    @staticmethod
    def of_bytes(path: Path) -> str:
        with path.open("rb") as file:
            return file_digest(file, "sha256").hexdigest()

    def of_stripped(self, path: Path) -> str:
        with path.open("rb") as file:
            if file.read(4) != b"\x7fELF":
                return self.of_bytes(path)
        with tempfile.TemporaryDirectory() as directory:
            bare = Path(directory) / "bare"
            command = ["strip", "--strip-all", "-R", ".note.gnu.build-id", "-o", bare, path]
            ran = subprocess.run(command, capture_output=True, text=True, check=False)
            if ran.returncode:
                raise Refusal(f"{path}: cannot be stripped: {ran.stderr.strip()}")
            return self.of_bytes(bare)

    def save(self) -> None:
        if not self.memory or not self.changed:
            return
        if len(self.known) > self.MOST:
            self.known = {}
        write(self.memory, json.dumps(self.known))
        self.changed = False


def trusted(path: Path) -> bool:
    """Returns true if only we can have written it."""
    try:
        status = os.lstat(path)
    except OSError:
        return False
    return status.st_uid == os.geteuid() and not status.st_mode & 0o022


def write(path: Path, text: str) -> None:
    """The whole file or nothing, for readers beside us; only its owner may write it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
    os.chmod(name, 0o644)
    shutil.move(name, path)
