# SPDX-License-Identifier: MIT
"""Layers of an initramfs: archives in the cache, each named by its content."""

import os
import tempfile
import time
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO, Callable, Iterator

from ..paths import cache

# A remembered result depends on our own code, too.
MODULES = ("catalogue.py", "kernel_image.py", "layers.py", "python.py", "slim.py", "../module/elf.py")
CODE = [sha256((Path(__file__).parent / name).read_bytes()).hexdigest() for name in MODULES]


class Store:
    """A file in it has the digest of its content as its name, so equal content is one file."""

    # Files that no boot has used for so long are removed.
    DAYS = 14

    def __init__(self, directory: Path | None = None):
        self.directory = directory or cache() / "layers"
        self.known = self.directory / "known"

    def put(self, suffix: str, write: Callable[[BinaryIO], None]) -> Path:
        """The file with the bytes that write() makes."""
        self.known.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=self.directory, prefix="new.", delete=False) as file:
            new = Path(file.name)
            try:
                write(file)
                file.flush()
                with new.open("rb") as written:
                    digest = sha256_of(written)
                path = self.directory / f"{digest}{suffix}"
                if path.exists():
                    new.unlink()
                    use(path)
                else:
                    new.chmod(0o644)
                    new.rename(path)
            except BaseException:
                new.unlink(missing_ok=True)
                raise
        return path

    def pack(self, tree: Path) -> Path:
        """The layer with the files below tree."""
        return self.put(".cpio", lambda file: archive(tree, file))

    def pack_file(self, source: Path, destination: str, change: Callable[[Path], None] = lambda path: None) -> Path:
        """The layer with one file, which change() may edit first."""
        with tempfile.TemporaryDirectory(prefix="kfd-preempt-layer.") as directory:
            path = Path(directory) / destination.lstrip("/")
            path.parent.mkdir(parents=True)
            path.write_bytes(source.read_bytes())
            path.chmod(0o755)
            change(path)
            return self.pack(Path(directory))

    def remembered(self, make: Callable[[], list[str]], *words: object) -> list[str]:
        """Returns what make() returned for the same words. A Path among them stands for its file as it is now.

        A file is the same if its inode, size and times are. One that was changed in the last two
        seconds may be changed once more within the resolution of its times, so it is not remembered.
        """
        paths = [word for word in words if isinstance(word, Path)]
        facts = [stat_of(path) for path in paths]
        key = sha256(repr((CODE, words, facts)).encode()).hexdigest()[:32]
        entry = self.known / key
        try:
            lines = entry.read_text().splitlines()
            # The files that it names may have been removed.
            if all((self.directory / line).exists() for line in lines if line.endswith((".cpio", ".vmlinux"))):
                use(entry)
                return lines
        except OSError:
            pass
        lines = make()
        young = any(time.time_ns() - fact[-1] < 2_000_000_000 for fact in facts)
        if not young and facts == [stat_of(path) for path in paths]:
            self.known.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile("w", dir=self.known, prefix="new.", delete=False) as file:
                file.write("".join(f"{line}\n" for line in lines))
            os.rename(file.name, entry)
        return lines

    def prune(self) -> None:
        oldest = time.time() - self.DAYS * 86400
        for directory in (self.directory, self.known):
            for path in directory.iterdir() if directory.is_dir() else ():
                try:
                    if path.is_file() and path.stat().st_mtime < oldest:
                        path.unlink()
                except OSError:
                    pass  # another run removes it, too


def use(path: Path) -> None:
    """Keeps a file from being pruned. Once a day, because a new time means that its digest is computed again."""
    try:
        if time.time() - path.stat().st_mtime > 86400:
            os.utime(path)
    except OSError:
        pass  # it belongs to another user


def stat_of(path: Path) -> tuple[int, ...]:
    stat = path.stat()
    return stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns


def sha256_of(file: BinaryIO) -> str:
    digest = sha256()
    while data := file.read(1 << 20):
        digest.update(data)
    return digest.hexdigest()


def archive(tree: Path, file: BinaryIO) -> None:
    """An archive as cpio's newc, not compressed: unpacking under TCG costs more than copying.

    Its bytes depend only on the names, the contents, the links and who may execute a file: not on times,
    owners, inodes, the umask, or the order in which a directory is read.
    """
    record(file, ".", 1, 0o040755, b"")
    for number, path in enumerate(entries(tree), 2):
        name = path.relative_to(tree).as_posix()
        if path.is_symlink():
            record(file, name, number, 0o120777, os.readlink(path).encode())
        elif path.is_dir():
            record(file, name, number, 0o040755, b"")
        else:
            mode = 0o100755 if path.stat().st_mode & 0o100 else 0o100644
            record(file, name, number, mode, path.read_bytes())
    record(file, "TRAILER!!!", 0, 0, b"")
    file.write(b"\0" * (-file.tell() % 512))


def entries(tree: Path) -> Iterator[Path]:
    """All below tree, a directory before its contents."""
    for path in sorted(tree.iterdir(), key=lambda each: os.fsencode(each.name)):
        yield path
        if path.is_dir() and not path.is_symlink():
            yield from entries(path)


def record(file: BinaryIO, name: str, number: int, mode: int, data: bytes) -> None:
    encoded = os.fsencode(name) + b"\0"
    links = 2 if mode & 0o170000 == 0o040000 else 1
    #         inode, mode, uid, gid, links, time, size, four numbers of devices, length of the name, checksum
    fields = (number, mode, 0, 0, links, 0, len(data), 0, 0, 0, 0, len(encoded), 0)
    file.write(b"070701" + b"".join(b"%08X" % field for field in fields) + encoded)
    file.write(b"\0" * (-file.tell() % 4) + data)
    file.write(b"\0" * (-file.tell() % 4))
