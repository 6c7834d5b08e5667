# SPDX-License-Identifier: MIT
"""selftests/vgpu/ASSUMPTIONS.md names only detectors, stages of verify and faults that exist."""

import re
import unittest

from runner.paths import REPO

PAGE = REPO / "selftests/vgpu/ASSUMPTIONS.md"


def rows() -> list[list[str]]:
    """The cells of each row, without the heads of the tables."""
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if "| source |" not in line]


def quoted(text: str) -> set[str]:
    return set(re.findall(r"`([^`]+)`", text))


class Assumptions(unittest.TestCase):
    def test_every_row_has_a_source_and_says_what_would_show_that_it_is_wrong(self):
        self.assertGreater(len(rows()), 20)
        for row in rows():
            with self.subTest(row[0][:60]):
                self.assertEqual(len(row), 4)
                self.assertRegex(row[1], r"^(AMD|dump|manual|inferred|open|the CPU's)")
                self.assertTrue(row[2] and row[3])

    def test_faults_are_those_of_the_vgpu(self):
        sources = ("fault/fault_spec.cpp", "main.cpp", "tables/firmware_main.cpp")
        known = " ".join((REPO / "selftests/vgpu" / source).read_text() for source in sources)
        named = {fault for row in rows() for fault in quoted(row[3])}
        self.assertGreater(len(named), 8)
        self.assertEqual({fault for fault in named if f'"{fault}' not in known}, set())

    def test_stages_are_those_of_verify(self):
        stages = (REPO / "tools/verify/stage.cpp").read_text()
        named = set(re.findall(r"\bstage `([^`]+)`", PAGE.read_text(), re.IGNORECASE))
        self.assertGreater(len(named), 4)
        self.assertEqual({stage for stage in named if f'{{"{stage}"' not in stages}, set())

    def test_each_automatic_degradation_but_that_of_the_MES_is_named(self):
        table = (REPO / "kernel/README.md").read_text().split("| found | disabled |")[1].split("\n\n")[0]
        found = set(re.findall(r"^\| `([\w-]+)`", table, re.MULTILINE))
        self.assertGreater(len(found), 2)
        named = {word for row in rows() for word in quoted(row[2])}
        self.assertEqual(found - {"mes"} - named, set())


if __name__ == "__main__":
    unittest.main()
