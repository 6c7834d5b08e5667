# SPDX-License-Identifier: MIT
"""The identity of a boot or of a suite: a hash of everything that it is given."""

import os
import platform
import re
import shutil
import subprocess
from functools import cache as once
from hashlib import sha256
from pathlib import Path
from typing import Iterable

from .digests import Digests
from .paths import REPO

# Another number makes every result unknown: for a change of how results are kept.
FORMAT = 1
# Options of QEMU that a kept boot may have. Any other, for example -netdev or -virtfs, could show the guest
# something that is not in its identity.
OPTIONS = {
    *("-machine", "-accel", "-icount", "-cpu", "-smp", "-m", "-object", "-nodefaults", "-display", "-vga"),
    *("-no-reboot", "-device", "-drive", "-chardev", "-mon", "-kernel", "-initrd", "-append"),
}
DEVICES = {"vfio-user-pci", "virtio-blk-pci", "isa-serial"}
# Files of the run's own directory that QEMU and the vgpus are given. The initramfs is known by its layers; the
# others are ends of pipes and sockets.
OWN = re.compile(r"\$WORK/(initrd|output|events|monitor|vgpu(-[2-8])?\.sock)$|\$OUT/(dmesg\.log|vgpu(-[2-8])?\.(trace|json))$")
# These files judge kept output, too: a change of them shall not make the guest run again.
JUDGES = ("kernel_log.py",)
DPKG_STATUS = Path("/var/lib/dpkg/status")
PATH = re.compile(r"(?<![\w.$/])/[^\s,\"'{}=:;]+")
WORDS = re.compile(r"[\s,\"'{}=:;]+")


class NotKept(Exception):
    """An input that the identity cannot name; the result of such a run is neither kept nor taken."""


class Identity:
    """Collects one line for each input; the lines are kept as well, to compare two identities by."""

    def __init__(self, digests: Digests):
        self.digests = digests
        self.lines: list[str] = []
        self.add("format", FORMAT)

    def add(self, *words: object) -> None:
        self.lines.append(" ".join(str(word) for word in words).replace("\n", "\\n"))

    def text(self) -> str:
        return "\n".join(self.lines) + "\n"

    def __str__(self) -> str:
        return sha256(self.text().encode()).hexdigest()[:32]

    def file(self, what: str, path: Path) -> None:
        self.add(what, self.digests.of(path))

    def directory(self, what: str, path: Path, most: int = 10_000) -> None:
        """All files below it, by their content; a link by where it points."""
        count = 0
        for parent, directories, names in os.walk(path):
            directories.sort()
            for name in sorted([*names, *(each for each in directories if os.path.islink(f"{parent}/{each}"))]):
                count += 1
                if count > most:
                    raise NotKept(f"{path} has more than {most} files")
                self.entry(what, Path(parent) / name, path)

    def entry(self, what: str, path: Path, top: Path) -> None:
        name = path.relative_to(top)
        if path.is_symlink():
            self.add(what, name, "->", os.readlink(path))
        elif path.is_file():
            self.add(what, name, "x" if os.access(path, os.X_OK) else "-", self.digests.of(path))
        else:
            raise NotKept(f"{path} is no file")

    def host(self) -> None:
        """The machine that QEMU's translation, compilers and programs of the tests depend on."""
        for line in cpu():
            self.add("cpu", line)
        self.add("kernel", platform.release())
        if not DPKG_STATUS.exists():
            raise NotKept(f"the versions of the installed packages are unknown: there is no {DPKG_STATUS}")
        self.add("packages", self.digests.remembered(DPKG_STATUS, "packages", packages))

    def runner(self, directory: Path) -> None:
        for path in sorted(set(directory.glob("*.py")) - {directory / name for name in JUDGES}):
            self.file(f"runner {path.name}", path)

    def words(self, what: str, words: Iterable[str], own: dict[str, str]) -> None:
        """A command line, with each path replaced by the digest of its file or directory."""
        for word in words:
            for path, name in own.items():
                word = word.replace(path, name)
            self.add(what, PATH.sub(lambda found: self.path(found[0]), word))
            for value in {word, *(each.partition("=")[2] for each in word.split(","))}:
                if value.startswith("/") and os.path.lexists(value) and not PATH.fullmatch(value):
                    raise NotKept(f"{word}: the path {value} has a character that separates words")
            for each in WORDS.split(word):
                if each.startswith(("$WORK", "$OUT")) and not OWN.match(each):
                    raise NotKept(f"{word}: {each} is not a file of each run")
                if not each.startswith("/") and Path(each).is_file():
                    raise NotKept(f"{word}: {each} is a file, and not named by its whole path")

    def path(self, name: str) -> str:
        path = Path(name)
        if path.is_file():
            return self.digests.of(path)
        if path.is_dir():
            nested = Identity(self.digests)
            nested.directory("file", path)
            return str(nested)
        if path.exists():
            raise NotKept(f"{name} is neither a file nor a directory")
        return name


@once
def cpu() -> list[str]:
    lines = Path("/proc/cpuinfo").read_text().split("\n\n")[0].splitlines()
    return [line for line in lines if line.startswith(("model name", "flags"))]


def packages(status: Path) -> str:
    """All installed Debian packages with their versions."""
    form = "${Package} ${Architecture} ${Version} ${db:Status-Status}\n"
    command = ["dpkg-query", f"--admindir={status.parent}", "-W", "-f", form]
    ran = subprocess.run(command, capture_output=True, check=True)
    return sha256(ran.stdout).hexdigest()


def of_boot(machine, digests: Digests) -> Identity:
    """The identity of the processes that the machine will start; prepare() must have made its layers."""
    own = {str(machine.work): "$WORK", str(machine.out): "$OUT"}
    options = machine.options
    if options.system:
        raise NotKept("an installed system is not kept")
    identity = Identity(digests)
    identity.host()
    identity.runner(REPO / "selftests/runner/vm")
    identity.add("timeout", options.timeout)
    identity.add("seed", os.environ.get("SEED", ""))
    for name, value in sorted(machine.environment().items()):
        identity.add("environment", f"{name}={value}")
    for name in machine.gpu_names():
        program, *words = machine.gpu_command(name)
        identity.add("vgpu", digests.of_program(Path(program)))
        identity.words("vgpu", words, own)
    qemu(identity, machine.qemu_program())
    check_options(machine.qemu_options())
    identity.words("qemu", guest_words(identity, machine.qemu_options()), own)
    for layer in machine.layers:
        identity.file("layer", layer)
    return identity


def guest_words(identity: Identity, words: list[str]) -> list[str]:
    """The words of QEMU without those of the guest's kernel, whose paths are the guest's."""
    at = words.index("-append")
    identity.add("append", words[at + 1])
    return words[:at] + words[at + 2 :]


def check_options(words: list[str]) -> None:
    """Refuses options that could show the guest anything beside its files, or write to one of them."""
    before = ""
    for word in words:
        if word.startswith("-") and before != "-append":
            if word not in OPTIONS:
                raise NotKept(f"QEMU's option {word}")
        elif before == "-device":
            driver = re.match(r'\{"driver":"([^"]*)"|([^,{]*)', word)
            if (driver[1] or driver[2]) not in DEVICES:
                raise NotKept(f"QEMU's -device {word}")
        elif before == "-drive" and not {"readonly=on", "snapshot=on"} & set(word.split(",")):
            raise NotKept(f"QEMU can write to -drive {word}")
        elif before == "-object" and not word.startswith("memory-backend-memfd,"):
            raise NotKept(f"QEMU's -object {word}")
        elif before == "-chardev" and not word.startswith(("file,", "socket,id=monitor,")):
            raise NotKept(f"QEMU's -chardev {word}")
        before = word


def qemu(identity: Identity, words: list[str]) -> None:
    """QEMU with its libraries and firmware. What is installed is known by the versions of the packages."""
    program = shutil.which(words[0]) or words[0]
    if program.startswith("/usr/bin/") and words[0] != "env":
        identity.add("qemu", program)
        return
    if words[0] == "env":
        identity.words("qemu", words[1:], {})
        return
    # Chosen by a person: the libraries that are not a package's, and its directories of firmware.
    identity.words("qemu", [program, *words[1:]], {})
    ran = subprocess.run(["ldd", program], capture_output=True, text=True, check=False)
    for library in re.findall(r"(?:=> |^\s*)(/\S+)", ran.stdout, re.MULTILINE):
        identity.add("library", identity.path(library))
    ran = subprocess.run([program, "-L", "help"], capture_output=True, text=True, check=False)
    for directory in ran.stdout.splitlines():
        if Path(directory).is_dir():
            identity.add("firmware", identity.path(directory))
