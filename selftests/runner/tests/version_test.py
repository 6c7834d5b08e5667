# SPDX-License-Identifier: MIT
"""ci/version, in a copy of the files that name the version; and the command line of ci/release."""

import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from runner.paths import REPO

NAMING = (
    "CMakeLists.txt libxpreempt/CMakeLists.txt tools/CMakeLists.txt dkms.conf CITATION.cff README.md kernel/README.md "
    "rpm/kfd-preempt.spec rpm/kfd-preempt-rocm-dkms.spec libxpreempt/tests/abi/consumer.c CHANGELOG.md debian/changelog"
).split()


class Version(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.top = Path(place.name)
        for name in ["ci/version", *NAMING]:
            (self.top / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(REPO / name, self.top / name)
        self.version = self.said(0).strip()

    def said(self, status: int, *arguments: str) -> str:
        ran = subprocess.run([self.top / "ci/version", *arguments], capture_output=True, text=True, check=False)
        self.assertEqual(ran.returncode, status, ran.stdout + ran.stderr)
        return ran.stdout

    def test_each_file_with_another_version_is_named(self):
        self.assertEqual(self.said(0, "--check"), "")
        for name in NAMING:
            with self.subTest(name):
                path = self.top / name
                text = path.read_text()
                path.write_text(text.replace(self.version, "7.8.9"))
                self.assertIn(name, self.said(1, "--check"))
                path.write_text(re.sub(re.escape(self.version), "(none)", text))
                if name != "CMakeLists.txt":
                    self.assertIn(f"{name} names no version", self.said(1, "--check"))
                path.write_text(text)

    def test_set_changes_all_but_the_changelogs(self):
        left = self.said(0, "--set", "7.8.9").splitlines()
        self.assertEqual(self.said(0).strip(), "7.8.9")
        named = [line.split(":")[0] for line in left]
        self.assertEqual(named, ["CHANGELOG.md", "debian/changelog", "rpm/kfd-preempt.spec", "rpm/kfd-preempt-rocm-dkms.spec"])
        self.said(64, "--set", "7.8")

    def test_release_needs_a_new_directory(self):
        for status, arguments in (64, []), (64, ["a", "b"]), (64, ["--frob"]), (1, [str(self.top)]):
            ran = subprocess.run([REPO / "ci/release", *arguments], capture_output=True, text=True, check=False)
            self.assertEqual(ran.returncode, status, ran.stderr)
