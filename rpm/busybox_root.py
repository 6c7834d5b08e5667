# SPDX-License-Identifier: MIT
"""A root of busybox in which rpm installs packages that are built once, or taken from the directory RPMS."""

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from runner.paths import REPO
from runner.testing.commands import CommandTest, Ran

VERSION = re.search(r'^PACKAGE_VERSION="(.*)"', (REPO / "dkms.conf").read_text(), re.MULTILINE)[1]


class PackageTest(CommandTest):
    # The name that rpm/build is given.
    PACKAGE = ""
    BUSYBOX = Path("/bin/busybox")

    @classmethod
    def setUpClass(cls):
        cls.built = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        if directory := os.environ.get("RPMS"):
            for package in Path(directory).glob("*.rpm"):
                shutil.copy(package, cls.built)
        else:
            subprocess.run([REPO / "rpm/build", cls.built, cls.PACKAGE], check=True, capture_output=True)

    def setUp(self):
        super().setUp()
        self.root = self.work / "root"
        for directory in ("bin", "sbin", "proc", "sys", "tmp", "dev", "boot", "usr", "var/lib/rpm"):
            (self.root / directory).mkdir(parents=True)
        shutil.copy(self.BUSYBOX, self.root / "bin")
        for applet in self.succeeds(self.BUSYBOX, "--list").stdout.split():
            if applet != "busybox":
                (self.root / "bin" / applet).symlink_to("busybox")
        for file in ("calls", "dev/null"):
            self.write(self.root / file)

    def package(self, name: str) -> Path:
        (path,) = self.built.glob(f"{name}-[0-9]*.rpm")
        return path

    def command_of_root(self, name: str, script: str) -> None:
        """A command that first notes in `calls` how it is called."""
        path = self.root / "bin" / name
        path.unlink(missing_ok=True)
        self.write(path, f'#!/bin/sh\necho "{name} $*" >>/calls\n{script}\n', 0o755)

    def calls(self) -> list[str]:
        return (self.root / "calls").read_text().splitlines()

    def rpm(self, *words: object) -> Ran:
        return self.succeeds("rpm", "--root", self.root, "--nodeps", "--nosignature", *words)

    def assert_no_file_left(self) -> None:
        self.assertEqual([*map(str, self.root.rglob("*preempt*"))], [])

    def assert_rpmlint_finds_nothing(self, *packages: str) -> None:
        paths = [*map(self.package, packages), REPO / f"rpm/{self.PACKAGE}.spec"]
        self.succeeds("rpmlint", "-c", REPO / "rpm/rpmlint.toml", *paths)
