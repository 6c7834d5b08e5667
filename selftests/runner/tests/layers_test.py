# SPDX-License-Identifier: MIT
"""Layers of the guest's image: equal content is one file, whoever made it, where and when."""

import os
import subprocess
import tempfile
import time
import unittest
from pathlib import Path
from unittest import mock

from runner.vm.layers import Store


class Layers(unittest.TestCase):
    def setUp(self):
        self.work = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.store = Store(self.work / "store")

    def tree(self, name: str, umask: int = 0o022, order: tuple[str, ...] = ("usr/bin/b", "usr/bin/a", "etc")) -> Path:
        old = os.umask(umask)
        try:
            tree = self.work / name
            for each in order:
                path = tree / each
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(f"#!/bin/sh\necho {each}\n")
            (tree / "usr/bin/a").chmod(0o755 & ~umask)
            (tree / "sh").symlink_to("usr/bin/a")
        finally:
            os.umask(old)
        return tree

    def test_equal_trees_are_one_file(self):
        first = self.store.pack(self.tree("one"))
        other = self.tree("elsewhere/two", umask=0o077, order=("etc", "usr/bin/a", "usr/bin/b"))
        for path in other.rglob("*"):
            os.utime(path, (1, 1), follow_symlinks=False)
        listed = Path.iterdir
        with mock.patch.object(Path, "iterdir", lambda path: reversed(sorted(listed(path)))):
            self.assertEqual(self.store.pack(other), first)

    def test_each_difference_that_the_guest_can_see_is_another_file(self):
        tree = self.tree("tree")
        made = {self.store.pack(tree)}

        def changed() -> None:
            layer = self.store.pack(tree)
            self.assertNotIn(layer, made)
            made.add(layer)

        (tree / "usr/bin/a").write_text("#!/bin/sh\necho usr/bin/A\n")
        changed()
        (tree / "usr/bin/b").chmod(0o755)
        changed()
        (tree / "usr/bin/b").rename(tree / "usr/bin/c")
        changed()
        (tree / "sh").unlink()
        changed()
        (tree / "sh").symlink_to("usr/bin/c")
        changed()
        (tree / "tmp").mkdir()
        changed()

    def test_cpio_unpacks_it(self):
        tree, there = self.tree("tree"), self.work / "there"
        there.mkdir()
        with self.store.pack(tree).open("rb") as layer:
            subprocess.run(["/bin/busybox", "cpio", "-id"], stdin=layer, cwd=there, check=True, capture_output=True)
        self.assertEqual(subprocess.run(["diff", "-r", "--no-dereference", tree, there], check=False).returncode, 0)
        self.assertEqual((there / "usr/bin/a").stat().st_mode & 0o777, 0o755)
        self.assertEqual((there / "etc").stat().st_mode & 0o777, 0o644)

    def old(self, name: str, text: str) -> Path:
        """A file that has been there for a while."""
        path = self.work / name
        path.write_text(text)
        time.sleep(2.1)
        return path

    def test_a_file_that_is_the_same_is_not_made_again(self):
        source, made = self.old("source", "a"), []

        def make() -> list[str]:
            made.append(1)
            return [self.store.pack_file(source, "usr/bin/x").name]

        first = self.store.remembered(make, "program", source)
        self.assertEqual(self.store.remembered(make, "program", source), first)
        self.assertEqual(len(made), 1)
        self.store.remembered(make, "module", source)
        self.assertEqual(len(made), 2)
        (self.store.directory / first[0]).unlink()
        self.assertEqual(self.store.remembered(make, "program", source), first)
        self.assertEqual(len(made), 3)

    def test_a_file_of_the_same_size_and_time_is_made_again(self):
        source = self.old("source", "a")
        before = source.stat()

        def make() -> list[str]:
            return [self.store.pack_file(source, "usr/bin/x").name]

        first = self.store.remembered(make, source)
        source.write_text("b")
        os.utime(source, ns=(before.st_atime_ns, before.st_mtime_ns))
        self.assertNotEqual(self.store.remembered(make, source), first)

    def test_a_file_that_has_just_changed_is_not_remembered(self):
        source = self.work / "source"
        source.write_text("a")
        self.store.remembered(lambda: ["a"], source)
        self.assertEqual(self.store.remembered(lambda: ["b"], source), ["b"])

    def test_what_no_boot_uses_is_removed(self):
        tree = self.tree("tree")
        layer = self.store.pack(tree)
        self.store.prune()
        self.assertTrue(layer.exists())
        past = time.time() - (Store.DAYS + 1) * 86400
        os.utime(layer, (past, past))
        self.store.pack(tree)
        self.store.prune()
        self.assertTrue(layer.exists())
        os.utime(layer, (past, past))
        self.store.prune()
        self.assertFalse(layer.exists())
