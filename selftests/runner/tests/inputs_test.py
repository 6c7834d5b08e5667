# SPDX-License-Identifier: MIT
"""Which files are the inputs of a suite."""

import tempfile
import unittest
from pathlib import Path

from runner.digests import Digests
from runner.inputs import Inputs, built_digest


class Built(unittest.TestCase):
    def setUp(self):
        self.build = Path(self.enterContext(tempfile.TemporaryDirectory()))
        (self.build / "bin").mkdir()
        (self.build / "source").mkdir()

    def test_a_link_to_a_directory_is_an_input(self):
        (self.build / "bin/scenarios").symlink_to(self.build / "source")
        self.assertEqual(Inputs("true", [], ["bin/**"]).built_files(self.build), [Path("bin/scenarios")])

    def test_a_directory_is_none(self):
        (self.build / "bin/empty").mkdir()
        self.assertEqual(Inputs("true", [], ["bin/**"]).built_files(self.build), [])

    def test_a_link_has_the_same_digest_in_another_clone(self):
        digests = set()
        for name in ("one", "two"):
            link = self.build / name / "scenarios"
            link.parent.mkdir()
            link.symlink_to(link.parent / "tree/scenarios")
            digests.add(built_digest(link, {str(link.parent / "tree"): "$REPO"}, Digests()))
        self.assertEqual(digests, {"-> $REPO/scenarios"})


if __name__ == "__main__":
    unittest.main()
