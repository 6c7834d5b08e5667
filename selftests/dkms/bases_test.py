# SPDX-License-Identifier: MIT
"""All series together: the table of bases, one source, the claims of the READMEs."""

import re
from fnmatch import fnmatchcase
from itertools import combinations
from pathlib import Path

from runner.paths import REPO
from runner.testing.commands import CommandTest

PATCHES = REPO / "kernel/amdkfd-patches"
BASES = [line.split() for line in (PATCHES / "bases").read_text().splitlines() if not line.startswith("#")]
SERIES = sorted(path.name for path in PATCHES.glob("linux-*"))
EDITS = sorted(PATCHES.glob("edits/*.edits"))
TREES = [*PATCHES.glob("linux-*/base"), *PATCHES.glob("rocm/trees/*")]


def edits_of(tree: Path) -> list[str]:
    """The edits that a base, or a description of ROCm's tree, names."""
    return " ".join(re.findall(r"^edits (.*)", tree.read_text(), re.MULTILINE)).split()


class Bases(CommandTest):
    def test_each_series_is_in_bases(self):
        self.assertEqual(SERIES, sorted(name for name, *_ in BASES))

    def test_each_file_of_edits_is_of_a_tree_and_each_name_of_one_is_a_file(self):
        used = {name for tree in TREES for name in edits_of(tree)}
        self.assertEqual(sorted(used), sorted(path.stem for path in EDITS))

    def test_trees_have_the_edits_in_one_order(self):
        """Some see what others made of a file, so one that is moved in one tree may not fit another."""
        for one, other in combinations(TREES, 2):
            common = set(edits_of(one)) & set(edits_of(other))
            self.assertEqual(*([name for name in edits_of(tree) if name in common] for tree in (one, other)), (one, other))

    def test_tree_of_rocm_that_is_the_same_as_a_series_has_its_edits_but_for_the_suites(self):
        same = [(tree, re.search(r"^same (.*)", tree.read_text(), re.MULTILINE)) for tree in TREES]
        compared = [(tree, PATCHES / found[1] / "base") for tree, found in same if found]
        self.assertTrue(compared)
        for tree, base in compared:
            self.assertEqual(edits_of(tree), [name for name in edits_of(base) if name != "kunit"], tree)

    def test_no_edit_is_of_the_files_of_kernel_amdkfd(self):
        """They would differ from one kernel to the next."""
        ours = re.compile(r"^@ \S*/kfd_preempt", re.MULTILINE)
        self.assertTrue(EDITS)
        self.assertEqual([str(path) for path in EDITS if ours.search(path.read_text())], [])

    def test_each_file_of_edits_begins_with_the_message_of_its_commit(self):
        for path in EDITS:
            self.assertRegex(path.read_text(), r"\A# SPDX.*\n# drm/amd(gpu|kfd): [a-zA-Z].{,64}\n#\n# \S", path)

    def test_kernel_of_each_base_is_one_of_bases_and_dkms_builds_for_it(self):
        exclusive = re.search(r'^BUILD_EXCLUSIVE_KERNEL="(.*)"', (REPO / "dkms.conf").read_text(), re.MULTILINE)[1]
        for name, pattern, *_ in BASES:
            release = re.search(r"^kernel (.*)", (PATCHES / name / "base").read_text(), re.MULTILINE)[1]
            self.assertTrue(fnmatchcase(release, pattern), f"base has {release}, bases have {pattern}")
            self.assertRegex(release, exclusive)

    def test_debian_package_has_a_trigger_for_each_source_package(self):
        """A linux-source package that comes after its headers makes it build."""
        # The trigger on /usr/src itself is for amdgpu-dkms.
        text = (REPO / "debian/kfd-preempt-dkms.triggers").read_text()
        triggers = re.findall(r"^interest.*\.tar.*", text, re.MULTILINE)
        wanted = [f"interest-noawait /usr/src/{package}.tar.xz" for _, _, package, *_ in BASES]
        self.assertEqual(sorted(triggers), sorted(wanted))

    def test_readme_of_the_kernel_has_the_table_of_support_table(self):
        table = self.succeeds(REPO / "kernel/support-table").stdout
        readme = (REPO / "kernel/README.md").read_text()
        self.assertEqual(readme.partition("<!-- kernel/support-table -->\n")[2].partition("<!-- end -->")[0], table)
